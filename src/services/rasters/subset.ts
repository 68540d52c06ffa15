import type { RasterCollection } from '../../core/catalog/collection.js';
import { badParameter, notFound } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import { uncrossed } from '../../core/geometry/box.js';
import { CRS84, type Crs } from '../../core/geometry/crs.js';
import { type AxisRange, datetimeParam, parseNumber, type TimeRange } from '../../core/http/params.js';
import { transformBox } from '../../native/index.js';
import { storageExtent } from '../features/storage-extent.js';
import { axisTerms, type SpatialAxis, spatialAxis } from './axes.js';
import { listInstants } from './granules.js';

/** The parts of a coverage that `subset` keeps (OGC 19-087, subsetting). */
export interface Subset {
  /** Box in the CRS of the subset, x,y ordered. It can cross the antimeridian. */
  readonly bbox?: Box;
  readonly datetime?: TimeRange;
  readonly heights?: AxisRange;
  /** Axes of which one place is kept. */
  readonly sliced: readonly SpatialAxis[];
}

const TIME = new Set(['time', 't']);
const HEIGHT = new Set(['h', 'z', 'elevation', 'height']);
/** Part of a cell that is read on each side of a place of another CRS than that of the raster. */
const THIN = 1 / 16;
/** Part of a cell within which a place counts as on its edge. */
const SNAP = 1e-6;

/** The part of an axis that is kept; an open end reaches to the edge, and two equal ends keep one place. */
export interface AxisInterval {
  /** Name of the axis, as the client has it. */
  readonly name: string;
  readonly low?: number;
  readonly high?: number;
}

/** Parses a subset. Throws 400 for an unknown axis, and 404 for a part outside the coverage. */
export function parseSubset(collection: RasterCollection, raw: string, crs: Crs = CRS84): Subset {
  const ranges = new Map<SpatialAxis, AxisInterval>();
  let rest: Omit<Subset, 'bbox' | 'sliced'> = {};
  for (const term of axisTerms('subset', raw)) {
    const word = term.name.toLowerCase();
    const axis = spatialAxis('subset', term.name, crs);
    if (axis) ranges.set(axis, { name: term.name, ...parseRange(term.value) });
    else if (TIME.has(word)) rest = { ...rest, datetime: buildTime(collection, term.value) };
    else if (isHeight(collection, word)) rest = { ...rest, heights: buildHeights(term.value) };
    else throw badParameter('subset', `'${term.name}' is not an axis of this coverage`);
  }
  return { ...rest, ...subsetAxes(collection, ranges, crs) };
}

function isHeight({ raster }: RasterCollection, word: string): boolean {
  return raster.levels !== undefined && (HEIGHT.has(word) || raster.levels.name.toLowerCase() === word);
}

/** The box of the axes that are named; where one is not, all of the coverage along it. Throws 400 and 404. */
export function subsetAxes(
  collection: RasterCollection,
  ranges: ReadonlyMap<SpatialAxis, AxisInterval>,
  crs: Crs,
): Pick<Subset, 'bbox' | 'sliced'> {
  if (ranges.size === 0) return { sliced: [] };
  const whole = coverageExtent(collection, crs);
  const { width, height } = collection.raster;
  const thin = { x: THIN / width, y: THIN / height };
  const around = (place: number, reach: number): [number, number] => [place - reach, place + reach];
  const sliced: SpatialAxis[] = [];
  const range = (axis: SpatialAxis, least: number, most: number): [number, number] => {
    const interval = ranges.get(axis);
    if (!interval) return [least, most];
    const { low = least, high = most } = interval;
    if (low > high && !(axis === 'x' && crs.geographic))
      throw badParameter('subset', `the interval of ${interval.name} must not end before it starts`);
    if (low <= high && (high < least || low > most) && !(axis === 'x' && crs.geographic)) throw outside();
    if (low !== high) return [low, high];
    sliced.push(axis);
    return findCell(collection, crs, axis, low) ?? around(low, (most - least) * thin[axis]);
  };
  const [minx, maxx] = range('x', whole[0], whole[2]);
  const [miny, maxy] = range('y', whole[1], whole[3]);
  const bounded = crs.geographic ? [Math.max(-90, miny), Math.min(90, maxy)] : [miny, maxy];
  return { bbox: [minx, bounded[0]!, maxx, bounded[1]!], sliced };
}

/**
 * The sides of the one row or column of the raster that a place is in; of two that it is between, the later one. Undefined
 * for a place of another CRS, and for rasters that are turned.
 */
function findCell(
  { raster, storageCrs }: RasterCollection,
  crs: Crs,
  axis: SpatialAxis,
  place: number,
): [number, number] | undefined {
  const [x0, dx, turnX, y0, turnY, dy] = raster.geoTransform;
  const isOwn = crs.uri === storageCrs.uri || (crs.epsg > 0 && crs.epsg === storageCrs.epsg);
  if (!isOwn || turnX !== 0 || turnY !== 0) return undefined;
  const [start, step, count] = axis === 'x' ? [x0, dx, raster.width] : [y0, dy, raster.height];
  const cell = (position: number) => (position - start) / step;
  // Longitudes come again after a turn.
  const turns = axis === 'x' && crs.geographic ? [place, place + 360, place - 360] : [place];
  const inside = turns.find((one) => cell(one) >= -SNAP && cell(one) <= count + SNAP) ?? place;
  const index = Math.min(Math.floor(cell(inside) + SNAP), count - 1);
  const sides = [start + index * step, start + (index + 1) * step];
  return [Math.min(...sides), Math.max(...sides)];
}

export function outside(): Error {
  return notFound('part of the coverage in', 'subset');
}

/** Extent of a coverage in one of its supported CRSs. */
export function coverageExtent(collection: RasterCollection, crs: Crs): Box {
  const { raster, storageCrs } = collection;
  if (crs.uri === storageCrs.uri) return storageExtent(collection) ?? raster.extent;
  if (crs.epsg === 4326) return uncrossed(raster.extent84);
  return transformBox(raster.extent, raster.crs, crs.proj);
}

/** `10`, `10:20`, `*:20`. */
function parseRange(value: string): { low?: number; high?: number } {
  const parts = value.split(':');
  if (parts.length > 2) throw badParameter('subset', `'${value}' must be a number or low:high`);
  const ends = parts.map((part) => {
    if (part.trim() === '*' && parts.length === 2) return undefined;
    const number = parseNumber(part);
    if (number === undefined) throw badParameter('subset', `'${part.slice(0, 40)}' is not a number`);
    return number;
  });
  const [low, high] = ends.length === 1 ? [ends[0], ends[0]] : ends;
  return { ...(low === undefined ? {} : { low }), ...(high === undefined ? {} : { high }) };
}

function buildHeights(value: string): AxisRange {
  const range = parseRange(value);
  if (range.low !== undefined && range.high !== undefined && range.low > range.high)
    throw badParameter('subset', 'must not end before it starts');
  return { axis: 'z', ...range };
}

const ENDS = /^\s*(?:"([^"]*)"|(\*)|([^":*]+(?::[^":*]+)*))\s*$/;

/** `"2020-01-01"`, `"2020-01-01":"2020-02-01"`, `"2020-01-01":*`, `*` for the newest. */
function buildTime(collection: RasterCollection, value: string): TimeRange {
  const parts = splitTimes(value);
  if (parts.length === 1 && parts[0] === '*') {
    const newest = listInstants(collection).at(-1);
    if (newest === undefined) throw badParameter('subset', 'this coverage has no time axis');
    return datetimeParam.parse(newest)!;
  }
  const [from, to] = parts.map((part) => (part === '*' ? '..' : part));
  const text = to === undefined ? from! : `${from}/${to}`;
  try {
    return datetimeParam.parse(text)!;
  } catch {
    throw badParameter('subset', `must have the time as "instant" or "start":"end", in RFC 3339`);
  }
}

function splitTimes(value: string): string[] {
  const quoted = /^("[^"]*"|\*)\s*:\s*("[^"]*"|\*)$/.exec(value);
  const parts = quoted ? [quoted[1]!, quoted[2]!] : [value];
  return parts.map((part) => {
    const [, inQuotes, star, bare] = ENDS.exec(part) ?? [];
    const text = inQuotes ?? star ?? bare;
    if (text === undefined)
      throw badParameter(
        'subset',
        `'${part.slice(0, 40)}' is not a time of RFC 3339. Use for example "2026-01-31T12:00:00Z"`,
      );
    return text;
  });
}
