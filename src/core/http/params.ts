import Type, { type TSchema } from 'typebox';
import { badParameter } from '../errors/errors.js';
import type { Box } from '../geometry/box.js';
import { LIMITS } from '../kit/limits.js';
import { HTTP_LIMITS } from './limits.js';
import { type Format, formatNames } from './media.js';
import type { Param } from './operation.js';

/** Builders of parameters, and parameters that several APIs share. */

interface Describe {
  description: string;
  in?: 'query' | 'path' | 'header';
  aliases?: readonly string[];
}

function missing(name: string): never {
  throw badParameter(name, 'is required');
}

/** Parameter that is an integer in a range. `fallback` is its default. */
export function defineIntegerParam<D extends number | undefined>(
  name: string,
  range: { min: number; max: number; default: D },
  about: Describe,
): Param<D extends number ? number : number | undefined> {
  const { min, max } = range;
  const schema: TSchema = Type.Integer({
    minimum: min,
    maximum: max,
    ...(range.default === undefined ? {} : { default: range.default }),
  });
  return {
    name,
    in: about.in ?? 'query',
    description: about.description,
    schema,
    required: about.in === 'path',
    parse(raw) {
      if (raw === undefined) return range.default as never;
      const value = /^[+-]?\d{1,16}$/.test(raw) ? Number(raw) : Number.NaN;
      if (!(value >= min && value <= max))
        throw badParameter(name, `must be an integer from ${min} to ${max}`);
      return value as never;
    },
  };
}

/** Path segment that must be an integer of at least 0 (collections and tile coordinates). */
export function pathInteger(name: string, description: string): Param<number> {
  return {
    name,
    in: 'path',
    description,
    required: true,
    schema: Type.Integer({ minimum: 0 }),
    parse(raw) {
      if (raw === undefined || !/^\d{1,10}$/.test(raw))
        throw badParameter(name, 'must be an integer of at least 0');
      return Number(raw);
    },
  };
}

/** Collection of tiles or maps in a path, by its number or by its id. */
export const numberedCollectionParam: Param<number | string> = {
  name: 'collectionId',
  in: 'path',
  description: 'Number of a collection, or its id.',
  required: true,
  schema: Type.Union([Type.Integer({ minimum: 0 }), Type.String({ minLength: 1, maxLength: 256 })]),
  parse(raw) {
    if (raw === undefined || raw.length === 0) missing('collectionId');
    if (raw.length > 256) throw badParameter('collectionId', 'must have at most 256 characters');
    if (/^\d{1,10}$/.test(raw)) return Number(raw);
    if (/^[+-]?[\d.]+$/.test(raw)) throw badParameter('collectionId', 'must be an integer of at least 0');
    return raw;
  },
};

export function pathString(name: string, description: string, maxLength = 256): Param<string> {
  return {
    name,
    in: 'path',
    description,
    required: true,
    schema: Type.String({ minLength: 1, maxLength }),
    parse(raw) {
      if (raw === undefined || raw.length === 0) missing(name);
      if (raw.length > maxLength) throw badParameter(name, `must have at most ${maxLength} characters`);
      return raw;
    },
  };
}

/** Any text, optional. */
export function defineTextParam(
  name: string,
  about: Describe,
  options: { maxLength?: number; schema?: TSchema } = {},
): Param<string | undefined> {
  const maxLength = options.maxLength ?? 4096;
  return {
    name,
    in: about.in ?? 'query',
    description: about.description,
    aliases: about.aliases,
    schema: options.schema ?? Type.String({ maxLength }),
    parse(raw) {
      if (raw !== undefined && raw.length > maxLength)
        throw badParameter(name, `must have at most ${maxLength} characters`);
      return raw;
    },
  };
}

/** A finite number > 0, optional. */
export function definePositiveNumberParam(name: string, description: string): Param<number | undefined> {
  return {
    name,
    in: 'query',
    description,
    schema: Type.Number({ exclusiveMinimum: 0 }),
    parse(raw) {
      if (raw === undefined) return undefined;
      const value = parseNumber(raw);
      if (value === undefined || value <= 0) throw badParameter(name, 'must be a number above 0');
      return value;
    },
  };
}

/** One of some words, optional. */
/** Whether cells of CSV that spreadsheets take for formulas are guarded. */
export const csvFormulas: Param<boolean> = {
  name: 'csv-formulas',
  in: 'query',
  description:
    'CSV only: guard puts an apostrophe in front of strings that spreadsheets would read as formulas (first character =, +, -, @, tab or carriage return). Default: keep.',
  schema: Type.Enum(['keep', 'guard'], { default: 'keep' }),
  parse(raw) {
    if (raw === undefined || raw === 'keep') return false;
    if (raw === 'guard') return true;
    throw badParameter('csv-formulas', `must be keep or guard`);
  },
};

export function choice<T extends string>(
  name: string,
  words: readonly T[],
  description: string,
): Param<T | undefined> {
  return {
    name,
    in: 'query',
    description,
    schema: Type.String({ enum: [...words] }),
    parse(raw) {
      if (raw === undefined || (words as readonly string[]).includes(raw)) return raw as T | undefined;
      throw badParameter(name, `must be one of ${words.join(', ')}`);
    },
  };
}

/** `true` or `false`. */
export function flag(name: string, fallback: boolean, description: string): Param<boolean> {
  return {
    name,
    in: 'query',
    description,
    schema: Type.Boolean({ default: fallback }),
    parse(raw) {
      if (raw === undefined) return fallback;
      const value = raw.toLowerCase();
      if (value !== 'true' && value !== 'false') throw badParameter(name, 'must be true or false');
      return value === 'true';
    },
  };
}

/** Comma-separated names, without repeats, at most `max`. */
export function defineListParam(
  name: string,
  max: number,
  description: string,
  aliases: readonly string[] = [],
): Param<string[] | undefined> {
  return {
    name,
    aliases,
    in: 'query',
    description,
    schema: Type.Array(Type.String(), { maxItems: max }),
    parse(raw) {
      if (raw === undefined || raw === '') return undefined;
      const names = raw.split(',').map((part) => part.trim());
      if (names.some((part) => part === ''))
        throw badParameter(name, 'has an empty entry. Separate names by single commas');
      if (names.length > max) throw badParameter(name, `must have at most ${max} entries`);
      return [...new Set(names)];
    },
  };
}

/** Some of several words, separated by commas or given one by one. */
export function words(
  name: string,
  all: readonly string[],
  description: string,
): Param<string[] | undefined> {
  const any = defineListParam(name, all.length, description);
  return {
    ...any,
    repeatable: true,
    schema: Type.Array(Type.String({ enum: [...all] })),
    parse(raw) {
      const some = any.parse(raw);
      if (some && !some.every((word) => all.includes(word)))
        throw badParameter(name, `must be a list of ${all.join(', ')}`);
      return some;
    },
  };
}

/** The `f` parameter of an operation, documented from its formats; the dispatcher negotiates. */
export function formatParam(formats: readonly Format[]): Param<string | undefined> {
  const names = [...new Set(formatNames(formats))];
  return {
    name: 'f',
    in: 'query',
    description: 'Format of the response; overrides the Accept header.',
    schema: Type.String({ enum: names }),
    parse: (raw) => raw,
  };
}

/** Decimal or exponent notation, finite. */
export function parseNumber(raw: string): number | undefined {
  const trimmed = raw.trim();
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/.test(trimmed)) return undefined;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : undefined;
}

/** Four or six finite numbers; the vertical range of six is dropped. Order of min/max y is checked, x may cross the antimeridian. */
export function parseBox(name: string, raw: string): Box {
  const parts = raw.split(',');
  if (parts.length !== 4 && parts.length !== 6)
    throw badParameter(name, 'must be 4 or 6 numbers separated by commas, for example 5,45,11,48');
  const numbers = parts.map(parseNumber);
  if (numbers.some((n) => n === undefined))
    throw badParameter(name, 'must be 4 or 6 numbers separated by commas, for example 5,45,11,48');
  const n = numbers as number[];
  const box: Box = n.length === 4 ? [n[0]!, n[1]!, n[2]!, n[3]!] : [n[0]!, n[1]!, n[3]!, n[4]!];
  return box;
}

/** Bounding box as sent: four numbers in the axis order of its CRS. `crs.ts` normalises it. */
export const bboxParam: Param<Box | undefined> = {
  name: 'bbox',
  in: 'query',
  description:
    'minx,miny,maxx,maxy or minx,miny,minz,maxx,maxy,maxz in the CRS of bbox-crs (CRS84 by default; axis order as the CRS defines it).',
  schema: Type.Array(Type.Number(), {
    // Conformance tests require both in addition to the exact numbers.
    minItems: 4,
    maxItems: 6,
    oneOf: [
      { minItems: 4, maxItems: 4 },
      { minItems: 6, maxItems: 6 },
    ],
  }),
  parse: (raw) => (raw === undefined ? undefined : parseBox('bbox', raw)),
};

export const limitParam = defineIntegerParam(
  'limit',
  { min: 1, max: LIMITS.itemsMax, default: HTTP_LIMITS.itemsDefault as number },
  { description: 'Maximum number of features in the response.' },
);

export const offsetParam = defineIntegerParam(
  'offset',
  { min: 0, max: LIMITS.offsetMax, default: 0 as number },
  { description: 'Features to skip.' },
);

const DAY_MS = 86_400_000;
/** Years outside 0 to 9999 take a sign and six digits, as features show them. */
const INSTANT =
  /^(?:\d{4}|[+-](?!000000)\d{6})-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2}))?$/;

/** An RFC 3339 instant or interval, as milliseconds since 1970; an open end is absent. */
export interface TimeRange {
  start: number | undefined;
  end: number | undefined;
  /** Microseconds after the milliseconds. Default: 0. */
  startMicros?: number;
  endMicros?: number;
}

/** An acquisition batch, by its instant, or a range where everything is by range. */
export interface AcquisitionTime extends TimeRange {
  /** Selection by interval in addition to the acquisition. */
  range?: TimeRange;
}

/** The first and the last moment of an instant: milliseconds since 1970, and the microseconds beyond. */
interface Moments {
  readonly first: number;
  readonly last: number;
  readonly firstMicros: number;
  readonly lastMicros: number;
}

const MAX_MICROS = 999;

/** A date without a time is a whole day (UTC). */
function parseInstant(raw: string): Moments {
  const first = INSTANT.test(raw) ? Date.parse(raw) : Number.NaN;
  // Date.parse takes 30 February for 1 March.
  const [date] = raw.split('T') as [string];
  const real = !Number.isNaN(first) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  if (!real)
    throw badParameter(
      'datetime',
      `'${raw.slice(0, 60)}' is not a date or date-time of RFC 3339. Use for example 2026-01-31 or 2026-01-31T12:00:00Z`,
    );
  if (raw === date) return { first, last: first + DAY_MS - 1, firstMicros: 0, lastMicros: MAX_MICROS };
  const micros = Number(/\.\d{3}(\d{1,3})/.exec(raw)?.[1]?.padEnd(3, '0') ?? 0);
  return { first, last: first, firstMicros: micros, lastMicros: micros };
}

function rangeBetween(from: Moments | undefined, to: Moments | undefined): TimeRange {
  return {
    start: from?.first,
    end: to?.last,
    ...(from?.firstMicros ? { startMicros: from.firstMicros } : {}),
    ...(to?.lastMicros ? { endMicros: to.lastMicros } : {}),
  };
}

/** Whether a range ends before it starts. */
function isTurned({ start, end, startMicros = 0, endMicros = 0 }: TimeRange): boolean {
  if (start === undefined || end === undefined) return false;
  return start > end || (start === end && startMicros > endMicros);
}

/** `instant`, `start/end`, `start/..` or `../end` (OGC API Features, 7.15.4). */
export const datetimeParam: Param<TimeRange | undefined> = {
  name: 'datetime',
  in: 'query',
  description: 'RFC 3339 instant or interval; collections without a temporal property match every instant.',
  schema: Type.String(),
  parse(raw) {
    if (raw === undefined) return undefined;
    const parts = raw.split('/');
    if (parts.length === 1) {
      const moments = parseInstant(raw);
      return rangeBetween(moments, moments);
    }
    if (parts.length !== 2)
      throw badParameter(
        'datetime',
        'must be an instant or an interval start/end, for example 2026-01-01T00:00:00Z/..',
      );
    const [from, to] = parts.map((part) => (part === '' || part === '..' ? undefined : parseInstant(part)));
    const range = rangeBetween(from, to);
    if (isTurned(range)) throw badParameter('datetime', 'must not end before it starts');
    return range;
  },
};

/** Part of an axis that `subset` keeps; an open end is absent. */
export interface AxisRange {
  axis: string;
  low?: number;
  high?: number;
}

const VERTICAL_AXES = ['z', 'elevation', 'height'];
const SUBSET = /^([A-Za-z][\w.-]{0,63})\(([^(),:"]{1,64})(?::([^(),:"]{1,64}))?\)$/;

/** `axis(number)` or `axis(low:high)`, `*` for an open end: one vertical axis (OGC 20-057, 9.4). */
export const subsetParam: Param<AxisRange | undefined> = {
  name: 'subset',
  in: 'query',
  description:
    'Range of the vertical axis, Z, elevation or height: height(10), Z(0:100), elevation(*:500). Data without such an axis matches every height.',
  schema: Type.String(),
  parse(raw) {
    if (raw === undefined) return undefined;
    const [, name, from, to] = SUBSET.exec(raw.trim()) ?? [];
    if (!name || !from) throw badParameter('subset', 'must be axis(value) or axis(low:high)');
    const axis = name.toLowerCase();
    if (!VERTICAL_AXES.includes(axis)) {
      throw badParameter('subset', `'${name}' is not an axis. Use Z, elevation or height`);
    }
    const low = axisEnd(from, to !== undefined);
    const high = to === undefined ? low : axisEnd(to, true);
    if (low !== undefined && high !== undefined && low > high)
      throw badParameter('subset', 'must not end before it starts');
    return { axis, ...(low === undefined ? {} : { low }), ...(high === undefined ? {} : { high }) };
  },
};

function axisEnd(raw: string, mayBeOpen: boolean): number | undefined {
  if (raw.trim() === '*' && mayBeOpen) return undefined;
  const value = parseNumber(raw);
  if (value === undefined) throw badParameter('subset', `'${raw.slice(0, 40)}' is not a number`);
  return value;
}
