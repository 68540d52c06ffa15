import { type AnyNumber, formatDecimal } from './exact-number.js';

/** Milliseconds of the farthest instants that a date can name. */
const MAX_TIME = 8.64e15;
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Milliseconds since 1970 as a time of RFC 3339 with all digits; undefined where no date is so far. */
export function writeEpochTime(milliseconds: AnyNumber): string | undefined {
  const [, sign, whole = '', fraction = ''] = DECIMAL.exec(formatDecimal(milliseconds)) ?? [];
  if (whole === '') return undefined;
  const isBefore = sign === '-' && fraction !== '';
  const digits = isBefore ? complement(fraction) : fraction;
  const start = Number(`${sign}${whole}`) - (isBefore ? 1 : 0);
  if (Math.abs(start) > MAX_TIME) return undefined;
  return new Date(start).toISOString().replace('Z', `${digits}Z`);
}

/** The digits of 1 without a fraction. */
const complement = (fraction: string): string =>
  String(10n ** BigInt(fraction.length) - BigInt(fraction)).padStart(fraction.length, '0');

const FRACTION = /:\d\d\.(\d+)/;

/** A time of ISO 8601 in UTC, with all digits of its seconds; undefined for other texts. */
export function toUtcTime(text: string): string | undefined {
  const fraction = FRACTION.exec(text)?.[1];
  const at = Date.parse(fraction === undefined ? text : text.replace(`.${fraction}`, ''));
  if (Number.isNaN(at)) return undefined;
  const time = new Date(at).toISOString();
  return fraction === undefined ? time : time.replace(/\.000Z$/, `.${fraction.padEnd(3, '0')}Z`);
}
