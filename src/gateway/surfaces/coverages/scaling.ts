import { around, plainBoxes } from '../../../core/box.js';
import type { RasterCollection } from '../../../core/collection.js';
import type { Crs } from '../../../core/crs.js';
import { badParameter } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { parseNumber } from '../../../core/params.js';
import type { Box } from '../../../core/tasks.js';
import { transformBox } from '../../../native/index.js';

/** The size of an answer: from at most one of resolution, scale-factor and scale-size. */

export interface ScalingParams {
  resolution: string | undefined;
  scaleFactor: number | undefined;
  scaleSize: string | undefined;
}

/** Pixels of the answer, or the size of one in units of the storage CRS; neither for the raster's own. */
export interface Scaling {
  size?: Pair;
  pixel?: Pair;
}

type Pair = [number, number];

export function scalingOf(
  collection: RasterCollection,
  params: ScalingParams,
  bbox: Box | undefined,
  bboxCrs: Crs,
): Scaling {
  const given = [params.resolution, params.scaleFactor, params.scaleSize].filter(
    (value) => value !== undefined,
  );
  if (given.length > 1)
    throw badParameter('scale-size', 'only one of resolution, scale-factor and scale-size may be given');
  if (params.scaleSize !== undefined) return { size: parseScaleSize(params.scaleSize) };
  const pixel = pixelOf(collection, params);
  if (!pixel) return {};
  const name = params.resolution === undefined ? 'scale-factor' : 'resolution';
  checkDerived(name, pixel, bbox ? storageBox(collection, bbox, bboxCrs) : collection.raster.extent);
  return { pixel };
}

function pixelOf({ raster }: RasterCollection, { resolution, scaleFactor }: ScalingParams): Pair | undefined {
  if (resolution !== undefined) return parseResolution(resolution);
  if (scaleFactor === undefined) return undefined;
  const [minx, miny, maxx, maxy] = raster.extent;
  return [((maxx - minx) / raster.width) * scaleFactor, ((maxy - miny) / raster.height) * scaleFactor];
}

function parseResolution(raw: string): Pair {
  const parts = raw.split(',').map(parseNumber);
  if (parts.length > 2 || parts.some((n) => n === undefined || n <= 0)) {
    throw badParameter('resolution', 'must be one positive number, or width,height');
  }
  return [parts[0]!, parts[1] ?? parts[0]!];
}

/** The guard of the contract: in the storage CRS, for the box that was asked for or else the whole extent. */
function checkDerived(name: string, pixel: Pair, [minx, miny, maxx, maxy]: Box): void {
  const size = [Math.round((maxx - minx) / pixel[0]), Math.round((maxy - miny) / pixel[1])];
  if (size.every((side) => side <= LIMITS.coverageSide)) return;
  throw badParameter(
    name,
    `the output would be ${size[0]} x ${size[1]} pixels; at most ${LIMITS.coverageSide} a side`,
  );
}

/** The box in the storage CRS; the part of it beyond the antimeridian goes on where the first one ends. */
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
    throw badParameter('scale-size', `each axis must be between 1 and ${LIMITS.coverageSide}`);
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
