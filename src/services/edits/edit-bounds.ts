import { plainFields } from '../../core/access/field-masks.js';
import { type VectorCollection, whole } from '../../core/catalog/collection.js';
import { and } from '../../core/cql2/index.js';
import type { EditTask } from '../../core/edits/edits.js';
import { ApiError } from '../../core/errors/errors.js';
import { type Access, bothFields } from '../access/access.js';

/** The parts of a collection that an edit can touch. */
export type EditBounds = Pick<EditTask, 'filter' | 'visible' | 'writable' | 'masked'>;

/** For edits that no caller limits. */
export const NO_BOUNDS: EditBounds = { filter: undefined };

/** The bounds for a caller with this view of a collection and this write access. Throws 403. */
export function editBounds(visible: VectorCollection, write: Access): EditBounds {
  if (!write.allowed) throw new ApiError('forbidden', `You may not change features of ${visible.id}.`);
  requireWritable(visible);
  const { rule, source } = visible;
  const names = rule && plainFields(source.fields).map(({ name }) => name);
  const writable = bothFields(names, write.fields);
  return {
    filter: and(rule?.rows, write.filter),
    visible: rule && source.fields.map(({ name }) => name),
    writable: writable && [...writable],
    masked: maskedFields(visible),
  };
}

/** The fields whose masked values are shown, with their masks. */
function maskedFields({ source, rule }: VectorCollection): EditBounds['masked'] {
  const shown = new Set(source.fields.flatMap(({ name, isMasked }) => (isMasked ? [name] : [])));
  return rule?.stored.fields
    .filter(({ name }) => shown.has(name))
    .map(({ name, type, mask }) => ({ name, type, mask }));
}

/** Throws 403 for a collection that cannot be changed. */
export function requireWritable(collection: VectorCollection): void {
  const stored = whole(collection);
  if (stored.source.writable) return;
  throw new ApiError('forbidden', `${collection.id} is read-only: ${whyReadOnly(stored)}.`);
}

function whyReadOnly({ source, file }: VectorCollection): string {
  if (source.readOnly !== undefined) return source.readOnly;
  if (source.database !== undefined) return 'it is a view, or the database user may not change the table';
  if (source.path === undefined) return 'its store is only read';
  if (source.path !== file) return 'what is served is a converted copy of the file; import it to edit it';
  return 'the server may not write the file';
}
