import type { RasterCollection } from '../../core/catalog/collection.js';
import { badParameter, fieldFailure } from '../../core/errors/errors.js';
import { listNames } from '../../core/errors/near-names.js';
import type { Box } from '../../core/geometry/box.js';
import { around, plainBoxes } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { parseNumber } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { transformBox } from '../../native/index.js';
import { axisTerms, type SpatialAxis, spatialAxis } from './axes.js';

/** Parameters for the size of a response, of which at most one can be used. */

export interface ScalingParams {
  resolution: string | undefined;
  scaleFactor: number | undefined;
  scaleAxes: string | undefined;
  scaleSize: string | undefined;
  width: number | undefined;
  height: number | undefined;
}

/** Number of pixels of the response, or their size. Default: the raster's pixels. */
export interface Scaling {
  size?: Pair;
  /** In units of the storage CRS. */
  pixel?: Pair;
  /** Pixel size in units of the response CRS. */
  resolution?: Pair;
}

export type Pair = [number, number];

/** Requested scaling: one of the members of `Scaling`, or a factor. */
export interface ScalingChoice extends Scaling {
  /** Multiplies the pixel size of the raster, x and y. */
  readonly factor?: Pair;
  /** Parameter to name in the error if the response would have too many pixels. */
  readonly parameter: string;
}

/** Area of a response before scaling. */
export interface ScaledWindow {
  readonly bbox: Box | undefined;
  readonly bboxCrs: Crs;
  /** CRS of the response. */
  readonly crs: Crs;
  /** Axes of which one place is kept: they have one cell. */
  readonly sliced: readonly SpatialAxis[];
}

export function parseScaling(
  collection: RasterCollection,
  params: ScalingParams,
  window: ScaledWindow,
): Scaling {
  return scaleWindow(collection, readScaling(params, window.crs), window);
}

/** The scaling of a window. Throws 400 for an axis of which one place is kept, and for too many pixels. */
export function scaleWindow(
  collection: RasterCollection,
  choice: ScalingChoice | undefined,
  { bbox, bboxCrs, sliced }: ScaledWindow,
): Scaling {
  if (!choice) return {};
  const { factor, parameter, size, resolution } = choice;
  for (const axis of sliced) requireOwn(choice, axis);
  if (size) return { size };
  if (resolution) return { resolution };
  const pixel = factor ? multipliedPixel(collection, factor) : choice.pixel;
  if (!pixel) return {};
  checkDerived(parameter, pixel, bbox ? storageBox(collection, bbox, bboxCrs) : collection.raster.extent);
  return { pixel };
}

function readScaling(params: ScalingParams, crs: Crs): ScalingChoice | undefined {
  const sized = params.width !== undefined || params.height !== undefined;
  requireOneScaling(params);
  if (sized)
    return {
      parameter: params.width === undefined ? 'height' : 'width',
      size: [params.width ?? 0, params.height ?? 0],
    };
  const { resolution, scaleFactor, scaleAxes, scaleSize } = params;
  if (scaleSize !== undefined) return { parameter: 'scale-size', size: parseScaleSize(scaleSize) };
  if (scaleFactor !== undefined) return { parameter: 'scale-factor', factor: [scaleFactor, scaleFactor] };
  if (scaleAxes !== undefined) {
    const [x = 1, y = 1] = axisNumbers('scale-axes', scaleAxes);
    return { parameter: 'scale-axes', factor: [x, y] };
  }
  if (!resolution) return undefined;
  const parameter = 'resolution';
  if (resolution.includes('(')) return { parameter, resolution: axisResolution(resolution, crs) };
  return { parameter, pixel: parseResolution(resolution) };
}

/** Throws 400 that blames each of several parameters that scale; width and height are one. */
function requireOneScaling({
  resolution,
  scaleFactor,
  scaleAxes,
  scaleSize,
  width,
  height,
}: ScalingParams): void {
  const all = {
    resolution,
    'scale-factor': scaleFactor,
    'scale-axes': scaleAxes,
    'scale-size': scaleSize,
    [width === undefined ? 'height' : 'width']: width ?? height,
  };
  const sent = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (sent.length < 2) return;
  const errors = sent.map((name) => {
    const others = listNames(
      sent.filter((one) => one !== name),
      'and',
    );
    return { name, detail: `cannot be combined with ${others}. Send only one of them` };
  });
  throw fieldFailure('invalid-parameter', errors);
}

/** An axis that subset reduces to one position has one cell, and cannot be scaled. */
function requireOwn({ parameter, size, pixel, resolution, factor }: ScalingChoice, axis: SpatialAxis): void {
  const i = axis === 'x' ? 0 : 1;
  const scaled = size?.[i] || resolution?.[i] || pixel || (factor && factor[i] !== 1);
  if (!scaled) return;
  const errors = [
    { name: parameter, detail: `must not scale the axis ${axis}, which subset reduces to one position` },
    { name: 'subset', detail: `reduces the axis ${axis} to one position, so it cannot be scaled` },
  ];
  throw fieldFailure('invalid-parameter', errors);
}

/** The pixel size of the raster, multiplied. */
function multipliedPixel({ raster }: RasterCollection, [x, y]: Pair): Pair {
  const [minx, miny, maxx, maxy] = raster.extent;
  return [((maxx - minx) / raster.width) * x, ((maxy - miny) / raster.height) * y];
}

/**
 * Resolution such as `Lat(0.01),Lon(0.02)`. An axis that is missing, or has empty parentheses, keeps the resolution
 * of the raster.
 */
function axisResolution(raw: string, crs: Crs): Pair {
  const [x = 0, y = 0] = axisNumbers('resolution', raw, crs);
  return [x, y];
}

/** Positive numbers by axis: `E(2),N(2)`. */
function axisNumbers(parameter: string, raw: string, crs?: Crs): [number | undefined, number | undefined] {
  const numbers: [number | undefined, number | undefined] = [undefined, undefined];
  for (const { name, value } of axisTerms(parameter, raw)) {
    const axis = spatialAxis(parameter, name, crs);
    if (!axis) throw badParameter(parameter, `'${name}' is not an axis that can be scaled`);
    if (value === '' && parameter === 'resolution') continue;
    const number = parseNumber(value);
    if (number === undefined || number <= 0) throw badParameter(parameter, `must have positive numbers`);
    numbers[axis === 'x' ? 0 : 1] = number;
  }
  return numbers;
}

function parseResolution(raw: string): Pair {
  const parts = raw.split(',').map(parseNumber);
  if (parts.length > 2 || parts.some((n) => n === undefined || n <= 0)) {
    throw badParameter(
      'resolution',
      'must be one positive number, width,height, or axis(number),axis(number)',
    );
  }
  return [parts[0]!, parts[1] ?? parts[0]!];
}

/** The guard of the contract: in the storage CRS, for the requested box, or else for the complete extent. */
function checkDerived(name: string, pixel: Pair, [minx, miny, maxx, maxy]: Box): void {
  const size = [Math.round((maxx - minx) / pixel[0]), Math.round((maxy - miny) / pixel[1])];
  if (size.every((side) => side <= LIMITS.coverageSide)) return;
  throw badParameter(
    name,
    `makes an output of ${size[0]} x ${size[1]} pixels. Each side can have at most ${LIMITS.coverageSide}`,
  );
}

/** The box in the storage CRS. The part beyond the antimeridian continues at the end of the first part. */
function storageBox(collection: RasterCollection, bbox: Box, crs: Crs): Box {
  let parts: Box[];
  try {
    parts = plainBoxes(bbox).map((part) => transformBox(part, crs.proj, collection.raster.crs));
  } catch {
    throw badParameter('bbox', 'cannot be expressed in the storage CRS of this coverage');
  }
  const [first, second] = parts as [Box, Box | undefined];
  if (!second) return first;
  const shift = collection.storageCrs.geographic && second[0] < first[0] ? 360 : 0;
  return around(first, [second[0] + shift, second[1], second[2] + shift, second[3]]);
}

const PLAIN_SIZE = /^(\d{1,9}),(\d{1,9})$/;
const AXIS_SIZES = /^([a-z]+)\((\d{1,9})\),([a-z]+)\((\d{1,9})\)$/i;

/** `400,300`, or `x(400),y(300)`, or `Lat(300),Lon(400)`. */
function parseScaleSize(raw: string): Pair {
  const text = raw.replace(/\s/g, '');
  const plain = PLAIN_SIZE.exec(text);
  const pairs = AXIS_SIZES.exec(text);
  const size = plain ? ([Number(plain[1]), Number(plain[2])] as Pair) : pairs ? axisPairs(pairs) : undefined;
  if (!size) throw badParameter('scale-size', 'must be width,height or x(n),y(n)');
  if (size.some((side) => side < 1 || side > LIMITS.coverageSide)) {
    throw badParameter('scale-size', `must have sizes from 1 to ${LIMITS.coverageSide}`);
  }
  return size;
}

const X_AXES = new Set(['x', 'lon', 'long', 'e']);
const Y_AXES = new Set(['y', 'lat', 'n']);

function axisPairs(match: RegExpExecArray): Pair | undefined {
  const first = match[1]!.toLowerCase();
  const second = match[3]!.toLowerCase();
  if (X_AXES.has(first) && Y_AXES.has(second)) return [Number(match[2]), Number(match[4])];
  if (Y_AXES.has(first) && X_AXES.has(second)) return [Number(match[4]), Number(match[2])];
  return undefined;
}
