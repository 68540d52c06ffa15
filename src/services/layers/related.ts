import type { VectorCollection } from '../../core/collection.js';
import type { Scalar } from '../../core/cql2/ast.js';
import { plainFields } from '../../core/field-masks.js';
import type { Relationship } from '../../core/layer-settings.js';
import { type FieldType, hasIntegerIds } from '../../core/vector-source.js';

/** How features of two layers belong together: by equal values of a field of each. */

/** The field of the layer that has the relationship, and that of the layer at its other end. */
export function fieldsOf({ role, originField, destinationField }: Relationship): {
  own: string;
  other: string;
} {
  return role === 'origin'
    ? { own: originField, other: destinationField }
    : { own: destinationField, other: originField };
}

/** Type of a field that the caller may filter by, the id among them. */
export function typeOf(field: string, { source }: VectorCollection): FieldType | undefined {
  if (field === source.idColumn) return hasIntegerIds(source) ? 'integer' : 'string';
  return plainFields(source.fields).find(({ name }) => name === field)?.type;
}

/** A value of a feature as a field of this type has it; undefined when no filter can name it exactly. */
export function comparable(value: unknown, type: FieldType): Scalar | undefined {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return undefined;
  if (type === 'string')
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  if (type === 'integer' || type === 'number') return typeof value === 'number' ? value : undefined;
  return type === 'boolean' && typeof value === 'boolean' ? value : undefined;
}
