import type { VectorCollection } from '../../core/catalog/collection.js';
import type { EditNote } from '../../core/cluster/notes.js';
import type { CollectionChange } from '../../core/edits/edits.js';
import { rowImage } from '../../core/features/row-image.js';
import { formatTableName, type VectorSource } from '../../core/sources/vector-source.js';

/** Layers of one store that show rows of the same tables: a table that is published twice, and views. */

/** Names of the tables whose rows a source shows: its table, and the tables that a view reads. */
export function listSourceTables(source: VectorSource): string[] {
  return [formatTableName(source), ...(source.reads ?? [])];
}

/** The edits of other layers that an edit is as well. A view, or another form of the rows, may have changed anywhere. */
export function findRelatedNotes(
  edited: VectorCollection,
  change: CollectionChange,
  all: readonly VectorCollection[],
): EditNote[] {
  const tables = new Set(listSourceTables(edited.source));
  const { cursor, writes } = change;
  const unknown: CollectionChange = { cursor, ...(writes ? { writes } : {}) };
  return all.flatMap((other): EditNote[] => {
    if (other.id === edited.id || other.file !== edited.file) return [];
    if (!listSourceTables(other.source).some((name) => tables.has(name))) return [];
    return [{ collection: other.id, change: hasSameRows(edited.source, other.source) ? change : unknown }];
  });
}

const hasSameRows = (one: VectorSource, other: VectorSource): boolean =>
  formatTableName(one) === formatTableName(other) && rowImage(one) === rowImage(other);
