import Type from 'typebox';
import { badParameter } from '../errors/errors.js';
import type { Param } from '../http/operation.js';
import { LIMITS } from '../kit/limits.js';
import { parseJsonText } from '../values/json-bounds.js';
import { type BandExpression, BandMathError, parseBandMath } from './band-math/index.js';
import { type Color, parseColor, RAMP_NAMES, ramp } from './color-ramps.js';
import type { Colormap } from './raster-look.js';

/** Parameters for the rendering of rasters in maps and image tiles: an extension of OGC API Maps and Tiles. */

const expression: Param<BandExpression[] | undefined> = {
  name: 'expression',
  in: 'query',
  description:
    'Band math, as (b4-b3)/(b4+b3); three expressions with ; between them are red, green and blue.',
  schema: Type.String({ maxLength: LIMITS.expressionCharacters }),
  parse(raw) {
    if (raw === undefined) return undefined;
    try {
      const expressions = parseBandMath(raw);
      if (expressions.length !== 1 && expressions.length !== 3)
        throw new BandMathError('must be one expression, or three with ; between them');
      return expressions;
    } catch (error) {
      if (error instanceof BandMathError) throw badParameter('expression', error.message);
      throw error;
    }
  },
};

const rescale: Param<[number, number][] | undefined> = {
  name: 'rescale',
  in: 'query',
  description: 'Values shown darkest and brightest: min,max, or three such pairs.',
  schema: Type.Array(Type.Number(), { minItems: 2, maxItems: 6 }),
  parse(raw) {
    if (raw === undefined) return undefined;
    const numbers = raw.split(',').map(parseNumber);
    if ((numbers.length !== 2 && numbers.length !== 6) || !numbers.every(Number.isFinite))
      throw badParameter('rescale', 'must be min,max or three such pairs');
    const pairs = numbers.flatMap((min, i) =>
      i % 2 === 0 ? [[min, numbers[i + 1]!] as [number, number]] : [],
    );
    if (!pairs.every(([min, max]) => min < max))
      throw badParameter('rescale', 'must have each minimum below its maximum');
    return pairs;
  },
};

const colormap: Param<Colormap | undefined> = {
  name: 'colormap',
  in: 'query',
  description: `Colours of one band: ${RAMP_NAMES.join(', ')} (with _r reversed), or JSON.`,
  schema: Type.String({ maxLength: LIMITS.urlBytes }),
  parse(raw) {
    if (raw === undefined) return undefined;
    const colors = ramp(raw);
    if (colors) return { kind: 'ramp', colors };
    if (!/^\s*[[{]/.test(raw))
      throw badParameter('colormap', `must be one of ${RAMP_NAMES.join(', ')}, or JSON`);
    return parseColormap(raw);
  },
};

const bands: Param<number[] | undefined> = {
  name: 'bands',
  in: 'query',
  description: 'Bands to show, counted from 1: one, or red,green,blue.',
  schema: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 3 }),
  parse(raw) {
    if (raw === undefined) return undefined;
    const numbers = raw
      .split(',')
      .map((part) => Number(/^(?:b|band_)?(\d{1,4})$/.exec(part.trim())?.[1] ?? 0));
    if ((numbers.length !== 1 && numbers.length !== 3) || numbers.some((number) => number < 1))
      throw badParameter('bands', 'must be one band or three, counted from 1');
    return numbers;
  },
};

const nodata: Param<number | undefined> = {
  name: 'nodata',
  in: 'query',
  description: 'Value that is transparent, in place of the one that the raster names.',
  schema: Type.String(),
  parse(raw) {
    if (raw === undefined) return undefined;
    const value = /^nan$/i.test(raw) ? Number.NaN : parseNumber(raw);
    if (Number.isNaN(value) && !/^nan$/i.test(raw)) throw badParameter('nodata', 'must be a number or nan');
    return value;
  },
};

export const lookParams = { expression, rescale, colormap, bands, nodata };

/** The same for pages, whose forms send empty fields. */
export const pageLookParams = {
  expression: withoutEmpty(expression),
  rescale: withoutEmpty(rescale),
  colormap: withoutEmpty(colormap),
  bands: withoutEmpty(bands),
  nodata: withoutEmpty(nodata),
};

function withoutEmpty<T>(param: Param<T>): Param<T> {
  return { ...param, parse: (raw) => param.parse(raw === '' ? undefined : raw) };
}

/** Parsed rendering parameters. */
export interface AskedLook {
  expression: BandExpression[] | undefined;
  rescale: [number, number][] | undefined;
  colormap: Colormap | undefined;
  bands: number[] | undefined;
  nodata: number | undefined;
}

/** Parses a finite number; NaN for other text. */
function parseNumber(text: string): number {
  return /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text) ? finite(Number(text)) : Number.NaN;
}

const finite = (value: number) => (Number.isFinite(value) ? value : Number.NaN);

function wrong(detail: string): never {
  throw badParameter('colormap', detail);
}

/** An object of colours by value, an array of `[value, colour]` or of `[[low, high], colour]`, or one of colours. */
function parseColormap(raw: string): Colormap {
  let json: unknown;
  try {
    json = parseJsonText(raw);
  } catch {
    return wrong('must be JSON');
  }
  const isList = Array.isArray(json);
  const entries: unknown[] = isList ? (json as unknown[]) : Object.entries(json as object);
  if (entries.length === 0 || entries.length > LIMITS.colormapEntries)
    wrong(`must have 1 to ${LIMITS.colormapEntries} colours`);
  if (!isList) {
    const pairs = (entries as [string, unknown][]).map(([key, color]) => [parseNumber(key), color]);
    return { kind: 'values', ...valued(pairs) };
  }
  if (entries.every((entry) => parseColor(entry) !== undefined)) return ramped(entries);
  if (!entries.every((entry): entry is [unknown, unknown] => Array.isArray(entry) && entry.length === 2))
    return wrong('must be colours, [value, colour] or [[low, high], colour]');
  if (entries.every(([place]) => Array.isArray(place))) return intervals(entries);
  const { values, colors } = valued(entries);
  if (values.some((value, i) => i > 0 && value <= values[i - 1]!)) wrong('must have ascending values');
  return values.length === 1 ? wrong('must have at least two stops') : { kind: 'stops', values, colors };
}

function ramped(entries: unknown[]): Colormap {
  if (entries.length < 2) wrong('must have at least two colours');
  return { kind: 'ramp', colors: entries.map(getColor) };
}

function valued(entries: readonly unknown[][]): { values: number[]; colors: Color[] } {
  const values = entries.map(([value]) => value as number);
  if (!values.every((value) => typeof value === 'number' && Number.isFinite(value)))
    wrong('must have numbers for values');
  return { values, colors: entries.map(([, color]) => getColor(color)) };
}

function intervals(entries: readonly [unknown, unknown][]): Colormap {
  const bounds = entries.map(([place]) => place as [number, number]);
  const isBound = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
  if (!bounds.every((pair) => pair.length === 2 && pair.every(isBound) && pair[0] < pair[1]))
    wrong('must have intervals of a lower and a higher number');
  return { kind: 'intervals', bounds, colors: entries.map(([, color]) => getColor(color)) };
}

function getColor(value: unknown): Color {
  return parseColor(value) ?? wrong('must have colours as #rrggbb, #rrggbbaa or [red, green, blue, opacity]');
}
