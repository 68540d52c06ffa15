/** Properties of JSON texts whose values GDAL would change, and their replacements. */

import { readDate } from '../../../core/cql2/temporal.js';
import { JSON_MARK } from '../../../core/edits/merges.js';
import {
  noteRoundedNumbers,
  noteShortNumbers,
  noteTextNumbers,
  noteTruncatedTimes,
} from '../../../core/features/value-notes.js';
import { hasDoubleDigits, INT64_MAX, INT64_MIN, readNumber } from '../../../core/values/exact-number.js';
import { compactJson } from '../../../core/values/json-text.js';
import type { ScannedValue } from './scanner.js';

/** Kinds of values that a property has in some feature. */
const INTEGER = 1;
const DECIMAL = 2;
/** An integer that a double may round. */
const BIG = 4;
/** A number beyond all integers of 64 bits, or beyond all doubles. */
const HUGE = 8;
/** A decimal with digits that its double does not have. */
const ROUNDED = 16;
/** An array, which GDAL writes into a GeoPackage as `(2:a,b)`. */
const LIST = 32;
/** A date and a time of day. */
const TIME = 64;
/** A time with more than milliseconds. */
const FINE = 128;
/** Text that no program interprets as a date or a time. */
const TEXT = 256;
const NESTED = 512;
/** An object or array with a number that would be another one. */
const EXACT_NESTED = 1024;
const OTHER = 2048;
/** A number beyond all doubles. */
const INFINITE = 4096;
/** Text, or an object or list, that a shapefile truncates. */
const LONG_TEXT = 8192;
/** A decimal of more than 15 digits. */
const MANY_DIGITS = 16384;
/**
 * Text that GDAL can interpret as a date or a time, and would write differently: `12:30`, years before 0, two-digit
 * years.
 */
const LIKE_TIME = 32768;
/** A time whose offset GDAL does not have. */
const ODD = 65536;
/** A date. */
const DAY = 131072;
/** Any text. */
const STRING = TEXT | LIKE_TIME | TIME | DAY;
/** Bytes of text in a field of a shapefile. */
const MAX_DBF_TEXT = 254;

/**
 * Form in which the values of a property are passed to GDAL.
 * - `text`: as text. `json`: as JSON text.
 * - `quoted-json`: as JSON text, also for values that are text. `marked-json`: as JSON text for all values.
 * - Other forms: as text that becomes a time again, as text that remains text (`marked-text`), as the nearest
 *   doubles, or as times without digits below milliseconds.
 */
export type Form =
  | 'text'
  | 'json'
  | 'quoted-json'
  | 'marked-json'
  | 'time'
  | 'marked-text'
  | 'double'
  | 'milliseconds';

/** Whoever reads the copy takes JSON as text: then all values keep theirs. */
export interface ValueReadOptions {
  keepsValues?: boolean;
}

/** Maximum number of property names that are tracked. */
const MAX_NAMES = 10_000;
/** Maximum bytes of a time, with its quotes. */
const MAX_TIME_LENGTH = 64;

const [QUOTE, MINUS, ZERO, NINE, CAPITAL_T] = [0x22, 0x2d, 0x30, 0x39, 0x54];
const [OPEN_LIST, OPEN_OBJECT, NULL, BACKSLASH] = [0x5b, 0x7b, 0x6e, 0x5c];

/** Facts about the properties of all features together. */
export class PropertyFacts {
  readonly #facts = new Map<string, number>();

  add(name: string, value: ScannedValue): void {
    const before = this.#facts.get(name);
    if (before === undefined && this.#facts.size >= MAX_NAMES) return;
    // If one text is not a time, times do not matter.
    const isKnown = before !== undefined && before & TEXT && value.first === QUOTE;
    const facts =
      (before ?? 0) | (isKnown ? computeLength(value) : encodeFacts(value) | computeLength(value));
    if (facts !== before) this.#facts.set(name, facts);
  }

  /** Adds a number by its text in JSON. */
  addNumber(name: string, text: string): void {
    this.add(name, { first: text.startsWith('-') ? MINUS : ZERO, length: text.length, text: () => text });
  }

  /** Whether features have a property of a name, in letters of any case. */
  includes(name: string): boolean {
    return [...this.#facts.keys()].some((one) => one.toLowerCase() === name);
  }

  /** The properties that need another form. */
  forms({ keepsValues = false }: ValueReadOptions = {}): Map<string, Form> {
    const forms = new Map<string, Form>();
    for (const [name, facts] of this.#facts) {
      const form = keepsValues ? 'marked-json' : findForm(facts);
      if (form) forms.set(name, form);
    }
    return forms;
  }

  /** Whether a property has a number that no double is near to. */
  isBeyondDoubles(name: string): boolean {
    return this.#has(name, INFINITE);
  }

  /** Whether a property has integers beyond 2^53. */
  hasLargeIntegers(name: string): boolean {
    return this.#has(name, BIG | HUGE);
  }

  /** Whether a property has text that is neither a time nor a date. */
  hasOtherText(name: string): boolean {
    return this.#has(name, TEXT | LIKE_TIME);
  }

  canHaveIntegerIds(name: string): boolean {
    return this.#has(name, INTEGER | DECIMAL);
  }

  /** Whether a property has more bytes of text than a field of a shapefile. */
  hasLongText(name: string): boolean {
    return this.#has(name, LONG_TEXT);
  }

  /** Whether a property has values that are neither numbers nor null. */
  hasOtherThanNumbers(name: string): boolean {
    return this.#has(name, STRING | NESTED | OTHER);
  }

  /** Whether a property has values that are neither true, false nor null. */
  hasOtherThanBooleans(name: string): boolean {
    return this.#has(name, INTEGER | DECIMAL | STRING | NESTED);
  }

  hasDecimals(name: string): boolean {
    return this.#has(name, DECIMAL);
  }

  /** Whether a property has dates with a time of day. */
  hasTimesOfDay(name: string): boolean {
    return this.#has(name, TIME);
  }

  /** Whether a property has times that GDAL would change. */
  hasFineTimes(name: string): boolean {
    return this.#has(name, FINE | ODD);
  }

  #has(name: string, fact: number): boolean {
    return ((this.#facts.get(name) ?? 0) & fact) !== 0;
  }

  /** Sentences about values that differ from the file. */
  notes(forms: ReadonlyMap<string, Form>, digits: 15 | 17 = 17): string[] {
    const rounded = digits === 15 ? ROUNDED | MANY_DIGITS : ROUNDED;
    const note = digits === 15 ? noteShortNumbers : noteRoundedNumbers;
    const names = (has: (facts: number, form: Form | undefined) => boolean) =>
      [...this.#facts].flatMap(([name, facts]) => (has(facts, forms.get(name)) ? [name] : []));
    return [
      ...noteTextNumbers(names((facts, form) => form === 'text' && (facts & (HUGE | BIG)) !== 0)),
      ...note(
        names(
          (facts, form) =>
            form !== 'text' && (facts & (form === 'double' ? rounded | BIG | HUGE : rounded)) !== 0,
        ),
      ),
      ...noteTruncatedTimes(names((facts, form) => form === 'milliseconds' && (facts & FINE) !== 0)),
    ];
  }
}

function findForm(facts: number): Form | undefined {
  if (facts & HUGE || (facts & BIG && facts & DECIMAL)) return 'text';
  if (facts & (EXACT_NESTED | LIST)) return 'json';
  // GDAL also reads a column of times as text if it contains other values.
  if (facts & (INTEGER | DECIMAL | TEXT | NESTED | OTHER)) return undefined;
  if (facts & LIKE_TIME || (facts & TIME && facts & DAY)) return 'marked-text';
  return facts & (FINE | ODD) ? 'time' : undefined;
}

/** The quotes of a string do not count. */
const computeLength = ({ length }: ScannedValue) => (length > MAX_DBF_TEXT + 2 ? LONG_TEXT : 0);

function encodeFacts(value: ScannedValue): number {
  const { first } = value;
  if (first === QUOTE) return value.length > MAX_TIME_LENGTH ? TEXT : factsOfText(value.text());
  if (first === MINUS || (first >= ZERO && first <= NINE)) return factsOfNumber(value.text());
  if (first === OPEN_LIST) return NESTED | LIST;
  if (first === OPEN_OBJECT) return NESTED | factsOfNested(value.text());
  return first === NULL ? 0 : OTHER;
}

const isInteger = (text: string) => /^-?\d+$/.test(text);

function factsOfNumber(text: string): number {
  if (isInteger(text)) {
    if (text.length < 16) return INTEGER;
    const value = BigInt(text);
    if (value < INT64_MIN || value > INT64_MAX) return INTEGER | HUGE;
    return Number.isSafeInteger(Number(text)) ? INTEGER : INTEGER | BIG;
  }
  // The shortest decimal of a double, which most are.
  if (String(Number(text)) === text) return DECIMAL | digitFact(text);
  const read = readNumber(text);
  if (typeof read === 'number') return DECIMAL | digitFact(text);
  if (read === undefined) return DECIMAL | HUGE | INFINITE;
  return DECIMAL | digitFact(text) | (hasDoubleDigits(text) ? 0 : ROUNDED);
}

const digitFact = (text: string) =>
  text.length > 16 && Number(Number(text).toPrecision(15)) !== Number(text) ? MANY_DIGITS : 0;
/** Strings, and numbers. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** GDAL rewrites nested values: integers within 64 bits, and decimals with 17 digits. */
function factsOfNested(text: string): number {
  if (!/\d[\d.]{15}|\d[eE]|\.\d*0\b/.test(text)) return 0;
  for (const [token] of text.matchAll(TOKENS))
    if (token[0] !== '"' && changesNested(token)) return EXACT_NESTED;
  return 0;
}

function changesNested(token: string): boolean {
  if (isInteger(token)) return (factsOfNumber(token) & HUGE) !== 0;
  return !(token === String(Number(token)));
}

const DATE = String.raw`(\d{4})[-/](0[1-9]|1[0-2])[-/](0[1-9]|[12]\d|3[01])`;
const CLOCK = String.raw`([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:\.(\d+))?)?`;
const TIME_TEXT = new RegExp(String.raw`^${DATE}(?:[T ]${CLOCK} ?(Z|[+-]\d\d(?::?\d\d)?)?)?$`);

/** Superset of the text that GDAL interprets as a date or a time. */
const LIKE_TIME_TEXT = /^\s*[T+-]?\d[\d\s:.,/+\-TZGMUC]*$/;
const QUARTER = 15;
const MAX_OFFSET_HOURS = 14;

function factsOfText(json: string): number {
  const first = json.charCodeAt(1);
  if (!(first <= NINE || first === CAPITAL_T || first === BACKSLASH)) return TEXT;
  const text = json.includes('\\') ? readString(json) : json.slice(1, -1);
  const parts = TIME_TEXT.exec(text);
  if (!parts || text.length + 2 !== json.length || !isDay(parts))
    return LIKE_TIME_TEXT.test(text) && /[-/:]/.test(text) ? LIKE_TIME : TEXT;
  const [, , , , hour, , , fraction = '', zone = 'Z'] = parts;
  if (hour === undefined) return DAY;
  const [hours, minutes = 0] = zone.slice(1).replace(':', '').match(/../g)?.map(Number) ?? [0];
  const isOdd = minutes % QUARTER !== 0 || hours! + minutes / 60 > MAX_OFFSET_HOURS;
  return TIME | (isOdd ? ODD : 0) | (/[1-9]/.test(fraction.slice(3)) ? FINE : 0);
}

function readString(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    // The reader of the file reports the problem.
    return '';
  }
}

/** Whether there is such a day. */
function isDay([, year, month, day]: readonly string[]): boolean {
  return Number(day) <= 28 || readDate(`${year}-${month}-${day}`) !== undefined;
}

/** Prefixes of times, and of other text, that GDAL must read as text. */
export const TIME_MARK = 'graticule-time ';
export const TEXT_MARK = 'graticule-text ';

/** A text without such a mark. */
export const withoutMark = (text: string): string => text.replace(/^graticule-(?:time|text) /, '');

/** Returns the replacement of a value. Undefined if it remains unchanged. */
export function findReplacement(form: Form | undefined, value: ScannedValue): string | undefined {
  if (form === 'marked-json') return JSON.stringify(JSON_MARK + value.text());
  if (form === undefined || value.first === NULL) return undefined;
  if (form === 'quoted-json') return JSON.stringify(compactJson(value.text()));
  const isText = value.first === QUOTE;
  if (form === 'double') return isText ? undefined : formatDouble(value.text());
  if (form === 'milliseconds') return isText ? parseMilliseconds(value.text()) : undefined;
  if (form === 'marked-text') return isText ? `"${TEXT_MARK}${value.text().slice(1)}` : undefined;
  if (form === 'time') return isText ? JSON.stringify(TIME_MARK + parseTime(value.text())) : undefined;
  return isText ? undefined : JSON.stringify(compactJson(value.text()));
}

/**
 * Returns a number in a form that GDAL reads as a double. Integers without a decimal point would be limited to 64
 * bits.
 */
function formatDouble(text: string): string {
  const double = Number(text);
  return Number.isSafeInteger(double) ? text : double.toExponential();
}

/** Returns a time without digits below milliseconds, in UTC if GDAL does not support the offset. */
function parseMilliseconds(json: string): string {
  if (factsOfText(json) & ODD) {
    const time = parseTime(json);
    const [fraction = ''] = /\.\d+/.exec(time) ?? [];
    const at = new Date(time.replace(fraction, ''));
    if (!Number.isNaN(at.getTime()))
      return JSON.stringify(`${at.toISOString().slice(0, 19)}${fraction.slice(0, 4)}Z`);
  }
  return json.replace(/(\.\d{3})\d+/, '$1');
}

/** A time of RFC 3339 with all its digits. Those without a zone are in UTC. */
function parseTime(json: string): string {
  const text = json.slice(1, -1);
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction, zone = 'Z'] =
    TIME_TEXT.exec(text) ?? [];
  if (year === undefined) return text;
  const offset = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction ? `.${fraction}` : ''}${offset}`;
}
