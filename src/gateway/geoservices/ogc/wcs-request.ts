import type { RasterCollection } from '../../../core/catalog/collection.js';
import { ApiError, badParameter } from '../../../core/errors/errors.js';
import { formatFieldError, withReceived } from '../../../core/errors/field-errors.js';
import type { Crs } from '../../../core/geometry/crs.js';
import { parseNumber } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { parseCrs } from '../../../native/crs.js';
import { type AxisTerm, axisTerms, type SpatialAxis, spatialAxis } from '../../../services/rasters/axes.js';
import { findBand } from '../../../services/rasters/bands.js';
import type { CoverageRequest } from '../../../services/rasters/read.js';
import {
  type Pair,
  type ScaledWindow,
  type ScalingChoice,
  scaleWindow,
} from '../../../services/rasters/scaling.js';
import { type AxisInterval, coverageExtent, subsetAxes } from '../../../services/rasters/subset.js';
import { layerCrs } from '../layer-documents.js';
import { type Members, readTextMember } from '../members.js';
import { type OwsCode, owsError } from './ows.js';
import { findLocator, findNativeBox, getAxisLabels } from './wcs-documents.js';

/** GetCoverage of WCS 2.0.1 by pairs (OGC 09-147), with scaling (12-039), range subsetting (12-040) and CRS (11-053). */

const MAX_TEXT = 2000;
/** Axes can be named by the URIs of OGC. */
const AXIS_URI = /http:\/\/www\.opengis\.net\/def\/axis\/OGC\/[\d.]+\//g;

export interface WcsRequest extends Omit<CoverageRequest, 'format'> {
  /** Column and row that `SCALEEXTENT` starts with. */
  readonly first?: Pair;
  /** Parameter that scales the coverage. */
  readonly scaledBy?: string;
}

/** Throws 400 and 404 with the exception codes of the standards. */
export function readWcsRequest(collection: RasterCollection, pairs: Members, query: string): WcsRequest {
  const native = layerCrs(collection);
  const bboxCrs = readCrs(collection, pairs, 'subsettingCrs') ?? native;
  const crs = readCrs(collection, pairs, 'outputCrs') ?? bboxCrs;
  const { bbox, sliced } = readSubsets(collection, query, bboxCrs);
  const scaling = readScaling(pairs, sliced);
  const window = { bbox, bboxCrs, crs, sliced };
  return {
    place: bbox && { bbox, bboxCrs },
    crs,
    bands: readBands(collection, pairs),
    resampling: undefined,
    scaling: withCode(scaling ?? UNSCALED, () =>
      scaleWindow(collection, onNativeGrid(collection, window, scaling), window),
    ),
    ...(scaling ? { scaledBy: scaling.parameter } : {}),
    ...(scaling?.first ? { first: scaling.first } : {}),
  };
}

interface Fault {
  readonly parameter: string;
  readonly code: OwsCode;
  readonly locator: string;
  /** Value of the parameter, where the message should repeat it. */
  readonly received?: string;
}

/** Runs what throws 400 for parameters of OGC API Coverages, and gives its failures the names and codes of WCS. */
function withCode<T>({ parameter, code, locator, received }: Fault, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ApiError) || error.errors?.[0]?.code !== undefined) throw error;
    const detail = error.errors?.[0]?.detail ?? error.message;
    throw owsError(code, locator, formatFieldError(withReceived({ name: parameter, detail }, received)));
  }
}

/** Axes have their names in subsets, so their order in the definition of the CRS does not matter. */
function readCrs(
  { crs: offered, storageCrs }: RasterCollection,
  pairs: Members,
  locator: 'subsettingCrs' | 'outputCrs',
): Crs | undefined {
  const name = locator.toUpperCase();
  const text = readTextMember(pairs, name, MAX_TEXT);
  if (text === undefined) return undefined;
  const crs = parseCrs(text);
  const isSame = (one: Crs) => one.uri === crs?.uri || (one.epsg > 0 && one.epsg === crs?.epsg);
  // The raster's own has the raster's words.
  const known = [storageCrs, ...offered].find(isSame);
  if (known) return known;
  const code = locator === 'outputCrs' ? 'OutputCrs-NotSupported' : 'SubsettingCrs-NotSupported';
  const detail = `${name}: '${text.slice(0, 100)}' is not a CRS of this coverage. Use one that the capabilities list.`;
  throw owsError(code, locator, detail);
}

/** The box of all `SUBSET` parameters, and the axes of which one place is kept. */
function readSubsets(collection: RasterCollection, query: string, crs: Crs): ReturnType<typeof subsetAxes> {
  const labels = getAxisLabels(crs).join(' and ');
  const intervals = new Map<SpatialAxis, AxisInterval>();
  const values = [...new URLSearchParams(query)].filter(([name]) => name.toUpperCase() === 'SUBSET');
  // As for all parameters, an exact repetition is allowed.
  for (const raw of new Set(values.map(([, value]) => value))) {
    for (const term of readTerms('SUBSET', raw)) {
      const axis = withCode({ parameter: 'SUBSET', code: 'InvalidAxisLabel', locator: term.name }, () =>
        spatialAxis('SUBSET', term.name, crs),
      );
      const unknown = `SUBSET: '${term.name}' is not an axis of the coverage. Its axes are ${labels}.`;
      if (!axis) throw owsError('InvalidAxisLabel', term.name, unknown);
      const twice = `SUBSET: the axis '${term.name}' is repeated. Name each axis once.`;
      if (intervals.has(axis)) throw owsError('InvalidAxisLabel', term.name, twice);
      intervals.set(axis, readInterval(collection, crs, axis, term));
    }
  }
  const [first] = intervals.values();
  const fault = { parameter: 'SUBSET', code: 'InvalidSubsetting', locator: first?.name ?? 'subset' } as const;
  return withCode(fault, () => subsetAxes(collection, intervals, crs));
}

function readTerms(name: string, raw: string): AxisTerm[] {
  const locator = findLocator(name);
  const fault = { parameter: name, code: 'InvalidEncodingSyntax', locator, received: raw } as const;
  return withCode(fault, () => axisTerms(name, raw.trim().replace(AXIS_URI, '')));
}

/**
 * Reads `low,high`, each of which may be `*`, or one position. A position must be within the coverage. An interval is
 * clipped to it, because clients may round its ends.
 */
function readInterval(
  collection: RasterCollection,
  crs: Crs,
  axis: SpatialAxis,
  { name, value }: AxisTerm,
): AxisInterval {
  const wrong = (detail: string) =>
    owsError('InvalidSubsetting', name, `SUBSET: ${name}(${value}) ${detail}`);
  const parts = value.split(',').map((part) => part.trim());
  if (parts.length > 2 || parts.includes(''))
    throw owsError(
      'InvalidEncodingSyntax',
      'subset',
      `SUBSET: '${name}(${value})' is malformed. Use ${name}(low,high) or ${name}(position).`,
    );
  const ends = parts.map((part) => {
    if (part === '*' && parts.length === 2) return undefined;
    const number = parseNumber(part);
    if (number === undefined) throw wrong(`has '${part.slice(0, 40)}', which is not a number.`);
    return number;
  });
  const [low, high] = ends.length === 1 ? [ends[0], ends[0]] : ends;
  if (low !== undefined && high !== undefined && low > high) throw wrong('ends before it starts.');
  const extent = coverageExtent(collection, crs);
  const [least, most] = axis === 'x' ? [extent[0], extent[2]] : [extent[1], extent[3]];
  const isBeyond = least < -180 || most > 180;
  const bounds = { least, most, isTurning: axis === 'x' && crs.geographic && isBeyond };
  const clipped = clipInterval({ low, high }, bounds, collection.raster.width);
  if (!clipped) throw wrong(`is outside the coverage, which has ${least} to ${most}.`);
  return { name, ...clipped };
}

interface AxisBounds {
  readonly least: number;
  readonly most: number;
  /** Longitudes of coverages that go beyond 180 degrees have two names: they come again after 360 degrees. */
  readonly isTurning: boolean;
}

/** The part of an interval that a coverage of so many columns has; undefined where there is none. */
function clipInterval(
  { low, high }: Omit<AxisInterval, 'name'>,
  { least, most, isTurning }: AxisBounds,
  columns: number,
): Omit<AxisInterval, 'name'> | undefined {
  const isClosed = low !== undefined && high !== undefined && low < high;
  const isAround = most - least > 360 - (most - least) / columns / 2;
  // Such a coverage around the globe has every interval of longitudes, also across its sides.
  if (isTurning && isClosed && isAround && high - low <= 360) return { low, high };
  const turns = isTurning ? [0, 360, -360] : [0];
  const shifts = turns.filter((turn) => (low ?? least) + turn <= most && (high ?? most) + turn >= least);
  if (shifts.length === 0) return undefined;
  const clip = (place: number, shift: number) => Math.min(most, Math.max(least, place + shift));
  if (!isClosed) {
    const [shift] = shifts;
    return {
      ...(low === undefined ? {} : { low: clip(low, shift!) }),
      ...(high === undefined ? {} : { high: clip(high, shift!) }),
    };
  }
  // Both sides of the antimeridian may be in the interval: all between them is.
  const parts = shifts.map((shift) => ({ low: clip(low, shift), high: clip(high, shift) }));
  const wide = parts.filter((part) => part.low < part.high);
  const met = wide.length > 0 ? wide : parts.slice(0, 1);
  return { low: Math.min(...met.map((part) => part.low)), high: Math.max(...met.map((part) => part.high)) };
}

/** Bands in the order of the request, in which one may come several times: `band_1,band_3:band_5`. */
function readBands(collection: RasterCollection, pairs: Members): number[] | undefined {
  return readTextMember(pairs, 'RANGESUBSET', MAX_TEXT)
    ?.split(',')
    .flatMap((item) => {
      const [from, to = from, ...more] = item.split(':').map((name) => requireBand(collection, name.trim()));
      const malformed = `RANGESUBSET: '${item.slice(0, 80)}' is malformed. Use name or name:name.`;
      if (more.length > 0) throw owsError('InvalidEncodingSyntax', 'rangeSubset', malformed);
      const all = collection.bands.map(({ band }) => band);
      const [start, end] = [all.indexOf(from!), all.indexOf(to!)];
      const reversed = `RANGESUBSET: '${item.slice(0, 80)}' ends before it starts.`;
      if (start > end) throw owsError('IllegalFieldSequence', item, reversed);
      return all.slice(start, end + 1);
    });
}

function requireBand(collection: RasterCollection, name: string): number {
  const parameter = 'RANGESUBSET';
  if (name === '')
    throw owsError(
      'InvalidEncodingSyntax',
      'rangeSubset',
      `${parameter}: a name is empty. Separate names by single commas.`,
    );
  const fault = { parameter, code: 'NoSuchField', locator: name } as const;
  return withCode(fault, () => findBand(collection, parameter, name));
}

interface WcsScaling extends ScalingChoice, Fault {
  readonly first?: Pair;
}

const UNSCALED: WcsScaling = { parameter: 'SUBSET', code: 'InvalidSubsetting', locator: 'subset' };

const SCALINGS = ['SCALEFACTOR', 'SCALEAXES', 'SCALESIZE', 'SCALEEXTENT'] as const;

function readScaling(pairs: Members, sliced: readonly SpatialAxis[]): WcsScaling | undefined {
  const [name, other] = SCALINGS.filter((one) => readTextMember(pairs, one, MAX_TEXT) !== undefined);
  if (name === undefined) return undefined;
  if (other !== undefined) throw badParameter(other, `cannot be combined with ${name}`);
  const raw = readTextMember(pairs, name, MAX_TEXT)!;
  if (name === 'SCALEFACTOR') {
    const factor = readFactor(name, raw);
    const along = (axis: SpatialAxis) => (sliced.includes(axis) ? 1 : 1 / factor);
    return { parameter: name, code: 'InvalidScaleFactor', locator: raw, factor: [along('x'), along('y')] };
  }
  const terms = scaleTerms(name, raw, sliced);
  const byAxis = <T>(read: (value: string) => T, usual: T): [T, T] => {
    const [x, y] = [terms.get('x'), terms.get('y')];
    return [x === undefined ? usual : read(x), y === undefined ? usual : read(y)];
  };
  if (name === 'SCALEAXES') {
    const factor = byAxis((value) => 1 / readFactor(name, value), 1);
    return { parameter: name, code: 'InvalidScaleFactor', locator: raw, factor };
  }
  const about = { parameter: name, code: 'InvalidExtent', locator: raw } as const;
  if (name === 'SCALESIZE') return { ...about, size: byAxis(readSize, 0) };
  const ranges = byAxis(readRange, undefined);
  const [x, y] = ranges;
  return {
    ...about,
    size: [x ? x[1] - x[0] + 1 : 0, y ? y[1] - y[0] + 1 : 0],
    first: [x?.[0] ?? 0, y?.[0] ?? 0],
  };
}

/** A factor means the pixels that are described, which are not the raster's own where its CRS has no code. */
function onNativeGrid(
  collection: RasterCollection,
  { crs, sliced }: Pick<ScaledWindow, 'crs' | 'sliced'>,
  choice: ScalingChoice | undefined,
): ScalingChoice | undefined {
  const native = layerCrs(collection);
  if (crs.uri !== native.uri || native.uri === collection.storageCrs.uri) return choice;
  if (choice && !choice.factor) return choice;
  const { parameter, factor = [1, 1] } = choice ?? UNSCALED;
  const [minx, miny, maxx, maxy] = findNativeBox(collection);
  const { width, height } = collection.raster;
  const step = (axis: SpatialAxis, length: number) => (sliced.includes(axis) ? 0 : length);
  const x = step('x', ((maxx - minx) / width) * factor[0]);
  return { parameter, resolution: [x, step('y', ((maxy - miny) / height) * factor[1])] };
}

/** The text in the parentheses of each axis, by labels of the coverage (E, N) or of its grid (i, j). */
function scaleTerms(
  name: string,
  raw: string,
  sliced: readonly SpatialAxis[],
): ReadonlyMap<SpatialAxis, string> {
  const terms = new Map<SpatialAxis, string>();
  for (const term of readTerms(name, raw)) {
    const label = term.name.toLowerCase();
    const axis = label === 'i' ? 'x' : label === 'j' ? 'y' : spatialAxis(name, term.name);
    const undefinedAxis = `${name}: '${term.name}' is not an axis that can be scaled. Use i and j.`;
    if (!axis || sliced.includes(axis) || terms.has(axis))
      throw owsError('ScaleAxisUndefined', term.name, undefinedAxis);
    terms.set(axis, term.value);
  }
  return terms;
}

function readFactor(name: string, raw: string): number {
  const factor = parseNumber(raw);
  if (factor !== undefined && factor > 0 && factor <= 1e6) return factor;
  const detail = `${name}: '${raw.slice(0, 40)}' is not a factor. Use a number above 0 and at most 1000000.`;
  throw owsError('InvalidScaleFactor', raw, detail);
}

function readSize(raw: string): number {
  const size = /^\d{1,9}$/.test(raw) ? Number(raw) : 0;
  if (size >= 1 && size <= LIMITS.coverageSide) return size;
  const bounds = `Use a number of pixels from 1 to ${LIMITS.coverageSide}.`;
  throw owsError('InvalidExtent', raw, `SCALESIZE: '${raw.slice(0, 40)}' is not a size. ${bounds}`);
}

/** `low:high`, or `low,high` as some clients have it: the first and the last pixel. */
function readRange(raw: string): Pair {
  const [, low, high] = /^(-?\d{1,9})\s*[:,]\s*(-?\d{1,9})$/.exec(raw) ?? [];
  if (low === undefined) {
    const malformed = `SCALEEXTENT: '${raw.slice(0, 40)}' is malformed. Use low:high in whole numbers.`;
    throw owsError('InvalidEncodingSyntax', 'scaleExtent', malformed);
  }
  const range: Pair = [Number(low), Number(high)];
  if (range[0] > range[1])
    throw owsError('InvalidExtent', raw, `SCALEEXTENT: '${raw}' ends before it starts.`);
  if (range[1] - range[0] < LIMITS.coverageSide) return range;
  const tooMany = `SCALEEXTENT: '${raw}' has too many pixels. At most ${LIMITS.coverageSide} are allowed.`;
  throw owsError('InvalidExtent', raw, tooMany);
}
