import { createHmac } from 'node:crypto';
import type { Field, FieldType, Mask, VectorSource } from '../sources/vector-source.js';
import { canonicalDigits, isNumberText } from '../values/exact-number.js';
import type { JsonText } from '../values/json-text.js';
import type { Treatment } from './access.js';

/**
 * Masked forms of attributes. Stores compute the same values in SQL if possible. Equal values have equal hashes in
 * all stores.
 */

/** Hexadecimal digits of a hash that are shown: of a million values two have the same one in one of 37 million tables. */
export const HASH_DIGITS = 16;

/** Longest text that a mask may leave. */
export const MAX_TRUNCATED = 1000;

const HASHED: ReadonlySet<FieldType> = new Set([
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'date-time',
]);
const TRUNCATED: ReadonlySet<FieldType> = new Set(['string', 'date', 'date-time']);

/** Whether values of a type can be treated so. */
export function isTreatable(type: FieldType, treatment: Treatment): boolean {
  if (treatment === 'hash') return HASHED.has(type);
  return treatment !== 'truncate' || TRUNCATED.has(type);
}

/** The field as described to callers who receive its masked values. */
export function shownField(field: Field): Field {
  const { name, type, items, title, description, mask } = field;
  if (!mask) return field;
  const words = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
  const shown = { name, ...words, nullable: true, isMasked: true } as const;
  if (mask.treatment === 'null') return { ...shown, type, ...(items ? { items } : {}) };
  const maxLength = mask.treatment === 'hash' ? HASH_DIGITS : truncatedLength(mask.length, type);
  return { ...shown, type: 'string', maxLength };
}

/** Fields whose returned values are the stored values. */
export function plainFields(fields: readonly Field[]): readonly Field[] {
  return fields.some(({ isMasked }) => isMasked) ? fields.filter(({ isMasked }) => !isMasked) : fields;
}

const clear = new WeakMap<VectorSource, VectorSource>();

/** The source without masks. Fields without a mask remain the same objects. */
export function unmasked<S extends VectorSource>(source: S): S {
  if (!source.fields.some(({ mask }) => mask)) return source;
  let shown = clear.get(source);
  if (!shown) {
    const fields = source.fields.map(({ mask, ...field }, i) => (mask ? field : source.fields[i]!));
    clear.set(source, (shown = { ...source, fields }));
  }
  return shown as S;
}

/** Characters of a value that are left: of an instant the year, its month, or its day. */
export function truncatedLength(length: number, type: FieldType): number {
  if (type === 'string') return length;
  return length >= 10 ? 10 : length >= 7 ? 7 : 4;
}

/** The masked form of a value, for values of stores and events. */
export function maskedValue(value: unknown, { type, mask }: Pick<Field, 'type' | 'mask'>): unknown {
  if (!mask) return value;
  if (mask.treatment === 'null' || value === null || value === undefined) return null;
  const text = formatText(value, type);
  if (mask.treatment === 'hash') return computeHash(text, mask);
  return [...text].slice(0, truncatedLength(mask.length, type)).join('');
}

/** The JSON text that a mask leaves of the JSON text of a value. Numbers are masked with all their digits. */
export function maskedJson(json: JsonText, field: Pick<Field, 'type' | 'mask'>): JsonText {
  if (!field.mask) return json;
  return JSON.stringify(maskedValue(isNumberText(json) ? json : JSON.parse(json), field));
}

function computeHash(text: string, { key }: Extract<Mask, { treatment: 'hash' }>): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(text).digest('hex').slice(0, HASH_DIGITS);
}

/** Canonical text of a value, identical for all stores. */
function formatText(value: unknown, type: FieldType): string {
  if (type === 'boolean') return String(Boolean(Number(value)));
  if (type === 'number' || type === 'integer') return numberText(value);
  if (type === 'date-time') return instantText(String(value));
  return type === 'date' ? String(value).slice(0, 10) : String(value);
}

/** All digits without an exponent: equal numbers have equal text, whatever column or notation they are in. */
const numberText = (value: unknown): string => canonicalDigits(String(value), Number.POSITIVE_INFINITY);

/** The instant in UTC with milliseconds. Text that is not an instant is returned unchanged. */
function instantText(text: string): string {
  const isLocal = !/(Z|[+-]\d\d:?\d\d)$/i.test(text);
  const time = Date.parse(isLocal && text.includes(':') ? `${text}Z` : text);
  return Number.isNaN(time) ? text : new Date(time).toISOString();
}
