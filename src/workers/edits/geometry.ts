import type { EditTask } from '../../core/edits/edits.js';
import type { FieldError } from '../../core/errors/field-errors.js';
import { GEOJSON_GEOMETRIES } from '../../core/geometry/geojson-types.js';
import type { GeometryType } from '../../core/sources/vector-source.js';
import {
  type GeoJsonError,
  geojsonToWkb,
  type Invalidity,
  transformPoints,
  validateGeometry,
} from '../../native/index.js';
import { haveAPlace } from './domain.js';
import { extremePositions } from './extremes.js';

/** Geometry types by their WKB code. */
const TYPES: readonly (GeometryType | undefined)[] = [undefined, ...GEOJSON_GEOMETRIES];

const PROMOTED: Partial<Record<GeometryType, GeometryType>> = {
  Point: 'MultiPoint',
  LineString: 'MultiLineString',
  Polygon: 'MultiPolygon',
};

/** ISO WKB adds this to the type of a geometry with Z (OGC 06-103r4, 8.2.3). */
const WITH_Z = 1000;

type GeometryRules = Pick<EditTask, 'source' | 'crs' | 'swapAxes'>;

export type ReadGeometry = { wkb: Uint8Array | null } | FieldError;

/**
 * Returns a GeoJSON geometry (JSON text) as WKB in the source's CRS, fit for its column and valid (OGC 06-103r4,
 * 6.1), or its problem. A single geometry becomes a multi geometry if the column requires it. If the column has
 * heights, missing heights are 0.
 */
export function readGeometry(text: string, task: GeometryRules): ReadGeometry {
  if (text === 'null') return { wkb: null };
  const { source } = task;
  const options = { from: task.crs, to: source.crs, swap: task.swapAxes };
  let wkb: Uint8Array;
  try {
    wkb = geojsonToWkb(text, source.hasZ ? { ...options, dimension: 3 } : options);
  } catch (error) {
    return placed(error as GeoJsonError);
  }
  return placedInDomain(wkb, task) ?? fitted(wkb, task);
}

/**
 * Refuses positions outside the CRS's domain. One row far from the Earth would ruin the extent of its collection, and
 * every map of it.
 */
function placedInDomain(wkb: Uint8Array, { source, crs, swapAxes }: GeometryRules): FieldError | undefined {
  const positions = extremePositions(wkb);
  if (haveAPlace(positions, source.crs)) return undefined;
  const order = swapAxes
    ? 'its first axis is latitude or northing'
    : 'its first axis is longitude or easting';
  return wrong(`is outside the area of its coordinate reference system, ${crs} (${order})`);
}

function fitted(wkb: Uint8Array, task: GeometryRules): ReadGeometry {
  const { source } = task;
  const code = new DataView(wkb.buffer, wkb.byteOffset).getUint32(1, true);
  const type = TYPES[code % WITH_Z]!;
  if (code >= WITH_Z && !source.hasZ)
    return wrong('must not have heights, because the geometries of this collection have none');
  const problem = validateGeometry(wkb);
  if (problem) return wrong(`is not valid: ${problem.reason}${place(problem, task)}`);
  if (source.geometryType === 'Geometry' || source.geometryType === type) return { wkb };
  if (source.geometryType === PROMOTED[type]) return { wkb: collectionOfOne(wkb, code) };
  return wrong(`must be a ${source.geometryType}, not a ${type}`);
}

const wrong = (detail: string): FieldError => ({ name: '/geometry', detail });

/** The place becomes part of the JSON pointer. */
function placed({ message, place }: GeoJsonError): FieldError {
  if (!place) return wrong(message);
  return { name: `/geometry/${place}`, detail: message.slice(place.length + 1) };
}

/** Returns the position at which a geometry is invalid, in the CRS and axis order of the input. */
function place({ x, y }: Invalidity, { source, crs, swapAxes }: GeometryRules): string {
  if (x === undefined || y === undefined) return '';
  const point = new Float64Array([x, y]);
  transformPoints(point, source.crs, crs);
  const [a, b] = [...point].map((v) => Number(v.toPrecision(10)));
  return swapAxes ? ` at ${b} ${a}` : ` at ${a} ${b}`;
}

/**
 * Returns the WKB of a multi geometry with one part: byte order, type, count 1, the part. The codes of multi
 * geometries are three higher than the codes of their parts.
 */
function collectionOfOne(wkb: Uint8Array, code: number): Uint8Array {
  const collection = new Uint8Array(9 + wkb.byteLength);
  const head = new DataView(collection.buffer);
  head.setUint8(0, 1);
  head.setUint32(1, code + 3, true);
  head.setUint32(5, 1, true);
  collection.set(wkb, 9);
  return collection;
}
