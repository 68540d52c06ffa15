import type { Box } from '../../../core/box.js';
import { uncrossed } from '../../../core/box.js';
import type { RasterCollection } from '../../../core/collection.js';
import { CRS84, type Crs } from '../../../core/crs.js';
import { badParameter, notFound } from '../../../core/errors.js';
import { type AxisRange, datetimeParam, parseNumber, type TimeRange } from '../../../core/params.js';
import { transformBox } from '../../../native/index.js';
import { instantsOf } from '../../../services/rasters/granules.js';
import { storageExtent } from '../../../services/storage-extent.js';
import { type AxisTerm, axisTerms, type SpatialAxis, spatialAxis } from './axes.js';

/** The parts of a coverage that `subset` keeps (OGC 19-087, subsetting). */
export interface Subset {
  /** In the CRS of the subset, x,y ordered; may lie across the antimeridian. */
  readonly bbox?: Box;
  readonly datetime?: TimeRange;
  readonly heights?: AxisRange;
  /** Axes of which one place is kept. */
  readonly sliced: readonly SpatialAxis[];
}

const TIME = new Set(['time', 't']);
const HEIGHT = new Set(['h', 'z', 'elevation', 'height']);
/** Half the length of what is read for one place: finer than any cell. */
const THIN = { degrees: 5e-9, units: 5e-4 };

/** Throws 400 for what is no axis of the coverage, and 404 for a part beyond it. */
export function subsetOf(collection: RasterCollection, raw: string, crs: Crs = CRS84): Subset {
  const ranges = new Map<SpatialAxis, AxisTerm>();
  let rest: Omit<Subset, 'bbox' | 'sliced'> = {};
  for (const term of axisTerms('subset', raw)) {
    const word = term.name.toLowerCase();
    const axis = spatialAxis('subset', term.name, crs);
    if (axis) ranges.set(axis, term);
    else if (TIME.has(word)) rest = { ...rest, datetime: timeOf(collection, term.value) };
    else if (isHeight(collection, word)) rest = { ...rest, heights: heightsOf(term.value) };
    else throw badParameter('subset', `'${term.name}' is no axis of this coverage`);
  }
  return { ...rest, ...placeOf(collection, ranges, crs) };
}

function isHeight({ raster }: RasterCollection, word: string): boolean {
  return raster.levels !== undefined && (HEIGHT.has(word) || raster.levels.name.toLowerCase() === word);
}

/** The box of the axes that are named; where one is not, all of the coverage along it. */
function placeOf(
  collection: RasterCollection,
  ranges: ReadonlyMap<SpatialAxis, AxisTerm>,
  crs: Crs,
): Pick<Subset, 'bbox' | 'sliced'> {
  if (ranges.size === 0) return { sliced: [] };
  const whole = extentIn(collection, crs);
  const thin = crs.geographic ? THIN.degrees : THIN.units;
  const sliced: SpatialAxis[] = [];
  const range = (axis: SpatialAxis, least: number, most: number): [number, number] => {
    const term = ranges.get(axis);
    if (!term) return [least, most];
    const { low = least, high = most } = rangeOf(term.value);
    if (low > high && !(axis === 'x' && crs.geographic))
      throw badParameter('subset', `${term.name} ends before it starts`);
    if (low <= high && (high < least || low > most) && !(axis === 'x' && crs.geographic)) throw outside();
    if (low !== high) return [low, high];
    sliced.push(axis);
    return [low - thin, high + thin];
  };
  const [minx, maxx] = range('x', whole[0], whole[2]);
  const [miny, maxy] = range('y', whole[1], whole[3]);
  const bounded = crs.geographic ? [Math.max(-90, miny), Math.min(90, maxy)] : [miny, maxy];
  return { bbox: [minx, bounded[0]!, maxx, bounded[1]!], sliced };
}

export function outside(): Error {
  return notFound('part of the coverage in', 'subset');
}

function extentIn(collection: RasterCollection, crs: Crs): Box {
  const { raster, storageCrs } = collection;
  if (crs.uri === storageCrs.uri) return storageExtent(collection) ?? raster.extent;
  if (crs.epsg === 4326) return uncrossed(raster.extent84);
  return transformBox(raster.extent, raster.crs, crs.proj);
}

/** `10`, `10:20`, `*:20`. */
function rangeOf(value: string): { low?: number; high?: number } {
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

function heightsOf(value: string): AxisRange {
  const range = rangeOf(value);
  if (range.low !== undefined && range.high !== undefined && range.low > range.high)
    throw badParameter('subset', 'ends before it starts');
  return { axis: 'z', ...range };
}

const ENDS = /^\s*(?:"([^"]*)"|(\*)|([^":*]+(?::[^":*]+)*))\s*$/;

/** `"2020-01-01"`, `"2020-01-01":"2020-02-01"`, `"2020-01-01":*`, `*` for the newest. */
function timeOf(collection: RasterCollection, value: string): TimeRange {
  const parts = splitTimes(value);
  if (parts.length === 1 && parts[0] === '*') {
    const newest = instantsOf(collection).at(-1);
    if (newest === undefined) throw badParameter('subset', 'this coverage has no time axis');
    return datetimeParam.parse(newest)!;
  }
  const [from, to] = parts.map((part) => (part === '*' ? '..' : part));
  const text = to === undefined ? from! : `${from}/${to}`;
  try {
    return datetimeParam.parse(text)!;
  } catch {
    throw badParameter('subset', `time must be "instant" or "start":"end" in RFC 3339`);
  }
}

function splitTimes(value: string): string[] {
  const quoted = /^("[^"]*"|\*)\s*:\s*("[^"]*"|\*)$/.exec(value);
  const parts = quoted ? [quoted[1]!, quoted[2]!] : [value];
  return parts.map((part) => {
    const [, inQuotes, star, bare] = ENDS.exec(part) ?? [];
    const text = inQuotes ?? star ?? bare;
    if (text === undefined) throw badParameter('subset', `'${part.slice(0, 40)}' is no time`);
    return text;
  });
}
