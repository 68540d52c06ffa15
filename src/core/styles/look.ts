import { LIMITS } from '../kit/limits.js';
import { BandMathError, parseBandMath } from '../rasters/band-math/index.js';
import type { Color } from '../rasters/color-ramps.js';
import type { Colormap, RasterLook } from '../rasters/raster-look.js';
import type { StyleLayer } from './model.js';

/** Metadata member of a layer with its raster rendering settings. */
export const LOOK = 'graticule:look';

/** Invalid rendering settings. The message starts with the path of the invalid member. */
export class LookError extends Error {}

/** Rendering settings of a checked layer; undefined without settings. */
export function styleLook({ metadata }: StyleLayer): RasterLook | undefined {
  const look = (metadata as Record<string, unknown> | undefined)?.[LOOK];
  return look === undefined ? undefined : checkedLook(look);
}

/**
 * Reads `{bands, expression, rescale, colormap, nodata}`: `bands` counted from 1, one or three; `expression` band math;
 * `rescale` pairs of the values shown darkest and brightest; `colormap` as in RasterLook. Throws LookError.
 */
export function checkedLook(value: unknown): RasterLook {
  const { bands, expression, rescale, colormap, nodata, ...others } = record('', value);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new LookError(`${unknown}: is not a setting of the rendering`);
  if (bands !== undefined && expression !== undefined)
    throw new LookError('expression: cannot be combined with bands');
  return {
    ...(bands !== undefined && { bands: readBands(bands) }),
    ...(expression !== undefined && { expressions: parseExpressions(expression) }),
    ...(rescale !== undefined && {
      rescale: list('rescale', rescale, 3).map((pair) => range('rescale', pair)),
    }),
    ...(colormap !== undefined && { colormap: readColormap(colormap) }),
    ...(nodata !== undefined && { nodata: number('nodata', nodata) }),
  };
}

function readBands(value: unknown): number[] {
  const bands = list('bands', value, 3).map((band) => number('bands', band));
  if (bands.length !== 1 && bands.length !== 3) throw new LookError('bands: must name one or three bands');
  if (!bands.every((band) => Number.isInteger(band) && band >= 1))
    throw new LookError('bands: must be integers of at least 1');
  return bands;
}

function parseExpressions(value: unknown) {
  if (typeof value !== 'string' || value.length > LIMITS.expressionCharacters)
    throw new LookError('expression: must be a string');
  try {
    return parseBandMath(value);
  } catch (error) {
    if (error instanceof BandMathError) throw new LookError(`expression: ${error.message}`);
    throw error;
  }
}

function readColormap(value: unknown): Colormap {
  const { kind, colors, values, bounds } = record('colormap', value);
  const shades = list('colormap.colors', colors, LIMITS.colormapEntries).map(readColor);
  if (kind === 'ramp') return { kind, colors: shades };
  const places: unknown[] = list(
    `colormap.${kind === 'intervals' ? 'bounds' : 'values'}`,
    kind === 'intervals' ? bounds : values,
    LIMITS.colormapEntries,
  );
  if (places.length !== shades.length)
    throw new LookError('colormap.colors: must have as many colours as there are values');
  if (kind === 'intervals')
    return { kind, bounds: places.map((pair) => range('colormap.bounds', pair)), colors: shades };
  if (kind !== 'stops' && kind !== 'values')
    throw new LookError('colormap.kind: must be ramp, stops, values or intervals');
  const numbers = places.map((place) => number('colormap.values', place));
  if (kind === 'stops' && numbers.some((stop, i) => i > 0 && stop <= numbers[i - 1]!))
    throw new LookError('colormap.values: must ascend');
  return { kind, values: numbers, colors: shades };
}

function readColor(value: unknown): Color {
  const parts = list('colormap.colors', value, 4).map((part) => number('colormap.colors', part));
  if (parts.length !== 4 || parts.some((part) => part < 0 || part > 255))
    throw new LookError('colormap.colors: must be [red, green, blue, opacity] with values from 0 to 255');
  return parts as unknown as Color;
}

function range(path: string, value: unknown): readonly [number, number] {
  const [low, high, ...more] = list(path, value, 2).map((end) => number(path, end));
  if (high === undefined || more.length > 0 || !(low! < high))
    throw new LookError(`${path}: must be pairs of a lower and a higher number`);
  return [low!, high];
}

function record(path: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new LookError(`${path}: must be an object`);
}

function list(path: string, value: unknown, max: number): unknown[] {
  if (Array.isArray(value) && value.length >= 1 && value.length <= max) return value;
  throw new LookError(`${path}: must have 1 to ${max} values`);
}

function number(path: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new LookError(`${path}: must be a number`);
}
