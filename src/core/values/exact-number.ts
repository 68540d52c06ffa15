/**
 * A number that a JavaScript number cannot represent exactly: an integer beyond 2^53, or a decimal that would be
 * rounded. It is a `String` object of the number in decimal notation. Parsed JSON never contains such an object, so
 * data cannot imitate it; and unlike objects of other classes it keeps its class in other threads and processes.
 * `encodeStoredJson` writes JSON that is parsed again.
 */
export interface ExactNumber {
  readonly [EXACT]: true;
  toString(): string;
}
declare const EXACT: unique symbol;

/** A number with all its digits: a JavaScript number if it is exact. */
export type AnyNumber = number | ExactNumber;

/** A number of these digits, in decimal notation. */
export const exactNumber = (digits: string): ExactNumber => Object(digits) as ExactNumber;

export const isExactNumber = (value: unknown): value is ExactNumber => value instanceof String;

/** A number as JSON writes it. */
const JSON_NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export const isNumberText = (text: string): boolean => JSON_NUMBER.test(text);

const DECIMAL = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/;
/** Every decimal of so many digits is a double that reads back as the same digits. */
const MAX_SAFE_DIGITS = 15;
/** Digits that are written without an exponent. */
const MAX_PLAIN_DIGITS = 60;

/** Parses a decimal number. Undefined for other texts, and for numbers outside the range of a double. */
export function readNumber(text: string): AnyNumber | undefined {
  const parts = DECIMAL.exec(text);
  if (!parts) return undefined;
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) return undefined;
  // Closer to 0 than any double but 0, which has one form.
  if (value === 0) return 0;
  const [, , whole, fraction, exponent] = parts;
  if (exponent === undefined && whole!.length + fraction!.length <= MAX_SAFE_DIGITS) return value;
  const digits = canonicalDigits(text);
  const isHeld = Number.isSafeInteger(value) || !Number.isInteger(value);
  return isHeld && canonicalDigits(String(value)) === digits ? value : exactNumber(digits);
}

/** The double that is nearest to a number. */
export const toDouble = (value: AnyNumber): number => Number(value);

/** A number in decimal notation: numbers that are equal have the same text. */
export const formatDecimal = (value: AnyNumber): string =>
  typeof value === 'number' ? canonicalDigits(String(value)) : String(value);

export function negate(value: AnyNumber): AnyNumber {
  if (typeof value === 'number') return value === 0 ? 0 : -value;
  const digits = String(value);
  return exactNumber(digits.startsWith('-') ? digits.slice(1) : `-${digits}`);
}

/** A number as text with all its digits, in its original notation. Strings are returned unchanged. */
export const writeDigits = (value: AnyNumber | string): string => String(value);

/** A JSON value whose `ExactNumber`s are the nearest doubles, for checks of its form. */
export function roundExactNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return toDouble(value);
  if (Array.isArray(value)) return value.map(roundExactNumbers);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, roundExactNumbers(one)]));
}

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** A number as a 64-bit integer; undefined if it is not one. */
export function toInt64(value: AnyNumber): bigint | undefined {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  const digits = formatDecimal(value);
  if (!/^-?\d{1,19}$/.test(digits)) return undefined;
  const integer = BigInt(digits);
  return integer < INT64_MIN || integer > INT64_MAX ? undefined : integer;
}

/** An integer with all its digits. */
export function exactInteger(value: number | bigint | string): AnyNumber {
  return readNumber(String(value)) ?? exactNumber(String(value));
}

/**
 * A decimal text in the one form of its number, with an exponent where it has more than `maxPlain` digits without one.
 * Texts that are not decimal numbers are returned unchanged.
 */
export function canonicalDigits(text: string, maxPlain = MAX_PLAIN_DIGITS): string {
  const parts = DECIMAL.exec(text);
  if (!parts) return text;
  const [, sign, whole, fraction, exponent = '0'] = parts;
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return '0';
  const scale = Number(exponent) - fraction!.length + (all.length - digits.length);
  return `${sign === '-' ? '-' : ''}${written(digits, scale, maxPlain)}`;
}

/** Digits times ten to the power of the scale. */
function written(digits: string, scale: number, maxPlain: number): string {
  const point = digits.length + scale;
  if (scale >= 0 && point <= maxPlain) return digits + '0'.repeat(scale);
  if (scale < 0 && point > 0) return `${digits.slice(0, point)}.${digits.slice(point)}`;
  if (scale < 0 && -scale <= maxPlain) return `0.${'0'.repeat(-point)}${digits}`;
  const rest = digits.slice(1);
  return `${digits[0]}${rest && `.${rest}`}e${point - 1}`;
}

/** Number of significant digits that distinguish all doubles. */
const DOUBLE_DIGITS = 17;

/**
 * Whether a number from a client is the double of a stored number, written with the shortest digits or with 17.
 * Clients of GeoServices read `esriFieldTypeDouble` this way, and send it back with every edit of the feature.
 */
export function isSameDouble(sent: string, stored: string): boolean {
  if (!isNumberText(sent) || !isNumberText(stored)) return false;
  const double = Number(stored);
  if (!Number.isFinite(double)) return false;
  const digits = canonicalDigits(sent);
  const forms = [String(double), double.toPrecision(DOUBLE_DIGITS)];
  return forms.some((form) => canonicalDigits(form) === digits);
}

/** The double nearest to `a - b`, of all their digits. */
export function difference(a: AnyNumber | bigint, b: AnyNumber | bigint): number {
  if (typeof a === 'bigint' && typeof b === 'bigint') return Number(a - b);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [one, other] = [placedDigits(a), placedDigits(b)];
  if (!one || !other) return Number(a) - Number(b);
  const places = Math.max(one.places, other.places);
  const digits =
    one.digits * 10n ** BigInt(places - one.places) - other.digits * 10n ** BigInt(places - other.places);
  return Number(places === 0 ? digits : `${digits}e-${places}`);
}

/** Most digits that are computed with. */
const MAX_DIGITS = 700;

/**
 * A number as an integer and a number of decimal places; undefined if it is not finite or has far too many digits.
 */
function placedDigits(value: AnyNumber | bigint): { digits: bigint; places: number } | undefined {
  const [, sign, whole, fraction, exponent = '0'] = DECIMAL.exec(String(value)) ?? [];
  if (whole === undefined || `${whole}${fraction}` === '') return undefined;
  const places = fraction!.length - Number(exponent);
  if (Math.abs(places) > MAX_DIGITS || whole.length + fraction!.length > MAX_DIGITS) return undefined;
  const digits = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`);
  return places >= 0 ? { digits, places } : { digits: digits * 10n ** BigInt(-places), places: 0 };
}
/** Whether a decimal has no digits but those of its double, of which some programs print 17 and more. */
export function hasDoubleDigits(text: string): boolean {
  const digits = text
    .replace(/[eE].*/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '').length;
  return (
    digits <= MAX_PRECISION &&
    canonicalDigits(Number(text).toPrecision(Math.max(1, digits))) === canonicalDigits(text)
  );
}
/** Most digits that `toPrecision` writes. */
const MAX_PRECISION = 100;
