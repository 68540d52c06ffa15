import { badParameter } from '../../core/errors/errors.js';
import { isExactNumber } from '../../core/values/exact-number.js';

/** Members of JSON that clients send: an object in the place of a text or a number has perhaps neither. */

/** A text or a number as text. Throws 400 naming the parameter for an object, which may have no text. */
export function scalarText(name: string, value: unknown): string {
  if (isExactNumber(value)) return String(value);
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw badParameter(name, 'must have strings or numbers');
  return String(value);
}

/** The number of a text or a number; NaN for a text that is none. Throws as `scalarText`. */
export function scalarNumber(name: string, value: unknown): number {
  const text = scalarText(name, value).trim();
  return text === '' ? Number.NaN : Number(text);
}
