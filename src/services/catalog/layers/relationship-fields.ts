import { plainFields } from '../../../core/access/field-masks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { Relationship } from '../../../core/catalog/layer-settings.js';
import type { Scalar } from '../../../core/cql2/ast.js';
import { type FieldType, hasIntegerIds } from '../../../core/sources/vector-source.js';
import {
  type AnyNumber,
  formatDecimal,
  isExactNumber,
  readNumber,
} from '../../../core/values/exact-number.js';

/** Key fields of a relationship. Features of two layers are related if the values of these fields are equal. */

/** The field of the layer that has the relationship, and that of the layer at its other end. */
export function getRelationshipFields({ role, originField, destinationField }: Relationship): {
  own: string;
  other: string;
} {
  return role === 'origin'
    ? { own: originField, other: destinationField }
    : { own: destinationField, other: originField };
}

/** Type of a field that the caller may filter by, the id among them. */
export function findFieldType(field: string, { source }: VectorCollection): FieldType | undefined {
  if (field === source.idColumn) return hasIntegerIds(source) ? 'integer' : 'string';
  return plainFields(source.fields).find(({ name }) => name === field)?.type;
}

/** A value of a feature, whose numbers were read with all digits, as a field of this type has it; undefined for none. */
export function toComparableValue(value: unknown, type: FieldType): Scalar | undefined {
  const number = numberIn(value);
  if (type === 'string')
    return typeof value === 'string' ? value : number === undefined ? undefined : formatDecimal(number);
  if (type === 'integer' || type === 'number') return number;
  return type === 'boolean' && typeof value === 'boolean' ? value : undefined;
}

/** Ids beyond 2^53 come as text. */
function numberIn(value: unknown): AnyNumber | undefined {
  if (typeof value === 'number') return readNumber(String(value));
  if (isExactNumber(value)) return readNumber(String(value));
  return typeof value === 'string' && /^-?\d{16,19}$/.test(value) ? readNumber(value) : undefined;
}
