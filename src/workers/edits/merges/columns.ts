import type { MergeRowsTask } from '../../../core/edits/merges.js';
import type { Field, VectorSource } from '../../../core/sources/vector-source.js';

/** Mapping of file columns to fields. */
export interface MergeColumns {
  /** Fields by the names that their columns have in the file. */
  fields: ReadonlyMap<string, Field>;
  /** Column with the ids of new features, where these are not the store's to give. */
  id: string | undefined;
  warnings: string[];
}

/**
 * Matches names of the file to fields. A name matches the field of the same name, or the only field that differs only
 * in case.
 */
export function matchMergeColumns(
  names: readonly string[],
  { target, visible }: Pick<MergeRowsTask, 'target' | 'visible'>,
): MergeColumns {
  const places = target.fields.filter(({ name }) => visible?.includes(name) ?? true);
  const fields = new Map<string, Field>();
  const warnings: string[] = [];
  const id = takesIds(target) ? columnFor(target.idColumn, names) : undefined;
  for (const field of places) {
    const column = columnFor(field.name, names);
    if (column === undefined || column === id) continue;
    fields.set(column, field);
    if (column !== field.name) warnings.push(`The column ${column} is used for the field ${field.name}.`);
  }
  const rest = names.filter((name) => name !== id && !fields.has(name));
  if (rest.length > 0)
    warnings.push(
      `These columns are not fields of the collection and were omitted: ${rest.slice(0, 20).join(', ')}.`,
    );
  return { fields, id, warnings };
}

function columnFor(name: string, columns: readonly string[]): string | undefined {
  if (columns.includes(name)) return name;
  const alike = columns.filter((column) => column.toLowerCase() === name.toLowerCase());
  return alike.length === 1 ? alike[0] : undefined;
}

/** Numbers are given by the store. */
function takesIds({ idType, idGenerated }: VectorSource): boolean {
  return !idGenerated && (idType === 'string' || idType === 'uuid');
}
