import { badParameter } from '../../core/errors/errors.js';
import { isExactNumber } from '../../core/values/exact-number.js';

/** Members of clients' JSON. An object instead of a string or a number may have no string or number form. */

/** A text or a number as text. Throws 400 naming the parameter for an object, which may have no text. */
export function scalarText(name: string, value: unknown): string {
  if (isExactNumber(value)) return String(value);
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw badParameter(name, 'must have strings or numbers');
  return String(value);
}

/** The number in a string or number. NaN for a string that is not a number. Throws the errors of `scalarText`. */
export function scalarNumber(name: string, value: unknown): number {
  const text = scalarText(name, value).trim();
  return text === '' ? Number.NaN : Number(text);
}
