import { ALERT_LIMITS } from '../../core/alerts/limits.js';
import type { ZoneArea, ZoneTask } from '../../core/alerts/tasks.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { type Box, wrapLongitude } from '../../core/geometry/box.js';
import { CRS84 } from '../../core/geometry/crs.js';
import {
  formatMultiPolygonWkt,
  type Polygons,
  type PolygonWkt,
  PolygonWktError,
  parsePolygonWkt,
  type Ring,
} from '../../core/geometry/polygon-wkt.js';
import { findEpsgCrs, isHorizontal } from '../../native/crs.js';
import {
  geojsonToWkb,
  geometryToGeoJSON,
  hasLongitudes,
  transformPoints,
  validateGeometry,
} from '../../native/index.js';
import { OverlayIndex } from '../../native/processing.js';

/** Maximum distance in degrees between an edge of a projected zone and its line in degrees: about a decimetre. */
const TOLERANCE = 1e-6;
/** An edge is halved at most so often. */
const HALVINGS = 14;
const LONLAT_SRS = 4326;

/**
 * Checks the polygon of a zone, and returns it with its area in degrees. Edges are straight in the CRS of the zone. A
 * clockwise ring with edges longer than 180 degrees crosses the antimeridian, as does a box from 170 to -170 whose
 * positions are in the order of a GeoJSON box.
 */
export function computeZoneArea({ wkt, srid }: ZoneTask): ZoneArea {
  const { polygons } = readPolygons(wkt, srid);
  const crs = requireCrs(srid);
  const isDegrees = hasLongitudes(crs);
  const whole = isDegrees ? polygons.map((rings) => rings.map(readDegrees)) : polygons;
  requireValid(whole.map((rings) => rings.map(closeAroundPole)));
  // Other datums than WGS 84 move positions by metres only, so edges in degrees need no further positions.
  const inDegrees = whole.map((rings) =>
    rings.map((ring) => {
      const degrees = isDegrees ? transform(ring, crs) : densify(ring, crs);
      const isWrapped = !isDegrees || ring.some(([x]) => Math.abs(x) > 180);
      return isWrapped ? unwrapRing(degrees) : degrees;
    }),
  );
  return { wkt: formatMultiPolygonWkt(polygons), area: formatArea(inDegrees.map(cutPolygon)) };
}

/** A ring of degrees, with longitudes beyond 180 if it crosses the antimeridian. */
function readDegrees(ring: Ring): Ring {
  const isLong = ring.some(([x], i) => i > 0 && isBeyondHalf(x - ring[i - 1]![0]));
  return isLong && computeTurn(ring) <= 0 ? unwrapRing(ring) : ring;
}

/** Whether an edge is longer than half a turn. An edge of a whole turn is part of a box of the world. */
const isBeyondHalf = (degrees: number) => Math.abs(degrees) > 180 && Math.abs(degrees) < 360;

/** Twice the signed area; positive for counterclockwise rings. */
function computeTurn(ring: Ring): number {
  return ring.slice(1).reduce((sum, [x, y], i) => sum + ring[i]![0] * y - x * ring[i]![1], 0);
}

function readPolygons(wkt: string, srid: number): PolygonWkt {
  try {
    const read = parsePolygonWkt(wkt, ALERT_LIMITS.zonePositions);
    if (read.srid !== undefined && read.srid !== srid)
      throw new PolygonWktError(`must have the SRID of the member srid (${srid}), not ${read.srid}`);
    return read;
  } catch (error) {
    if (error instanceof PolygonWktError) throw invalid(`wkt ${error.message}`);
    throw error;
  }
}

function requireCrs(srid: number): string {
  const crs = findEpsgCrs(srid);
  if (!crs) throw invalid('srid must be the code of a CRS of EPSG');
  if (!isHorizontal(crs)) throw invalid('srid must be the code of a CRS with two horizontal axes');
  return crs.proj;
}

function requireValid(polygons: Polygons): void {
  const geometry = { type: 'MultiPolygon', coordinates: polygons };
  const problem = validateGeometry(geojsonToWkb(geometry, { ...SAME_PLANE, maxVertices: MOST_VERTICES }));
  if (!problem) return;
  const { reason, x, y } = problem;
  const place = x === undefined ? '' : ` at ${x} ${y}`;
  throw invalid(`wkt must be a valid polygon: ${reason}${place}`);
}

const SAME_PLANE = { from: CRS84.proj, to: CRS84.proj } as const;
const MOST_VERTICES = 1_048_576;
const invalid = (message: string) => new TaskFailure('invalid-input', message);

/** The ring with edges that go the shorter way; longitudes can be beyond 180. */
function unwrapRing(ring: Ring): Ring {
  let turn = 0;
  let before = ring[0]![0];
  return ring.map(([x, y]) => {
    if (isBeyondHalf(x - before)) turn -= 360 * Math.sign(x - before);
    before = x;
    return [x + turn, y];
  });
}

/** A position in the plane of the zone, and in degrees. */
interface Corner {
  readonly at: Ring[number];
  readonly degrees: Ring[number];
}

/** The ring in degrees, with further positions, so that its edges are as straight as in the plane of its CRS. */
function densify(ring: Ring, crs: string): Ring {
  let corners = makeCorners(ring, crs);
  /** Whether the edge after a corner may be bent. */
  let isOpen = corners.map(() => true);
  for (let i = 0; i < HALVINGS && isOpen.includes(true); i++) {
    const edges = corners.flatMap((_, k) => (isOpen[k] && k + 1 < corners.length ? [k] : []));
    const middles = makeCorners(
      edges.map((k) => findMiddle(corners[k]!.at, corners[k + 1]!.at)),
      crs,
    );
    const found = new Map(edges.map((k, e) => [k, middles[e]!]));
    const next: Corner[] = [];
    const open: boolean[] = [];
    corners.forEach((corner, k) => {
      const middle = found.get(k);
      const isBent = middle !== undefined && measureBend(corner, middle, corners[k + 1]!) > TOLERANCE;
      next.push(corner, ...(isBent ? [middle] : []));
      open.push(isBent, ...(isBent ? [true] : []));
    });
    [corners, isOpen] = [next, open];
    if (corners.length > MOST_VERTICES / 4)
      throw invalid('wkt must have shorter edges: they cannot be represented in degrees');
  }
  return corners.map(({ degrees }) => degrees);
}

function makeCorners(ring: Ring, crs: string): Corner[] {
  const degrees = transform(ring, crs);
  return ring.map((at, i) => ({ at, degrees: degrees[i]! }));
}

const findMiddle = ([x1, y1]: Ring[number], [x2, y2]: Ring[number]): Ring[number] => [
  (x1 + x2) / 2,
  (y1 + y2) / 2,
];

/** Distance in degrees of a great circle between the middle of an edge and the middle of its ends. */
function measureBend(
  { degrees: [x1, y1] }: Corner,
  { degrees: [x, y] }: Corner,
  { degrees: [x2, y2] }: Corner,
): number {
  const [east, west] = [wrapLongitude(x2 - x1), wrapLongitude(x - x1)];
  const across = (west - east / 2) * Math.cos((y * Math.PI) / 180);
  return Math.hypot(across, y - (y1 + y2) / 2);
}

function transform(ring: Ring, crs: string): Ring {
  const flat = Float64Array.from(ring.flat());
  try {
    transformPoints(flat, crs, CRS84.proj);
  } catch {
    throw invalid('srid must be the code of a CRS that can be transformed to longitude and latitude');
  }
  return ring.map(([x, y], i): [number, number] => {
    const [lon, lat] = [flat[2 * i]!, flat[2 * i + 1]!];
    if (!Number.isFinite(lon) || !(Math.abs(lat) <= 90) || Math.abs(lon) > 540)
      throw invalid(`wkt must lie where its CRS is valid: ${x} ${y} has no longitude and latitude`);
    return [lon, lat];
  });
}

/** Parts of a polygon of unwrapped rings, between longitudes -180 and 180. */
function cutPolygon(rings: Ring[]): Polygons {
  const closed = rings.map(closeAroundPole);
  const isPlain = closed.every((ring, i) => ring === rings[i] && ring.every(([x]) => Math.abs(x) <= 180));
  if (isPlain) return [rings];
  const [exterior, ...holes] = closed;
  const parts = cutRing(exterior!);
  const without = holes.flatMap(cutRing);
  return without.length === 0 ? parts : combine('subtract', parts, without);
}

/**
 * Returns a ring that surrounds a pole with further edges along the antimeridian and the pole. The parts of the area end at
 * the antimeridian, so this edge is not between two parts.
 */
function closeAroundPole(ring: Ring): Ring {
  const turn = ring.at(-1)![0] - ring[0]![0];
  if (Math.abs(turn) <= 180) return ring;
  const mean = ring.reduce((sum, [, y]) => sum + y, 0) / ring.length;
  const pole = mean < 0 ? -90 : 90;
  const [start, ...rest] = beginAtAntimeridian(ring, turn);
  const end: Ring[number] = [start![0] + turn, start![1]];
  return [start!, ...rest, end, [end[0], pole], [start![0], pole], start!];
}

/** The positions of a ring round a pole, without the last one, from where it first crosses the antimeridian. */
function beginAtAntimeridian(ring: Ring, turn: number): Ring {
  const cell = ([x]: Ring[number]) => Math.floor((x + 180) / 360);
  const k = ring.findIndex((position, i) => i > 0 && cell(position) !== cell(ring[i - 1]!));
  const [[x1, y1], [x2, y2]] = [ring[k - 1]!, ring[k]!];
  const x = 360 * Math.max(cell([x1, y1]), cell([x2, y2])) - 180;
  const start: Ring[number] = [x, y1 + ((x - x1) / (x2 - x1)) * (y2 - y1)];
  const before = ring.slice(0, k).map(([lon, lat]): Ring[number] => [lon + turn, lat]);
  return [start, ...ring.slice(k, -1), ...before];
}

function cutRing(ring: Ring): Polygons {
  const xs = ring.map(([x]) => x);
  const [west, east] = findRange(xs);
  const parts: Polygons = [];
  for (let turn = Math.floor((west + 180) / 360); turn * 360 - 180 < east; turn++) {
    const shifted = ring.map(([x, y]): [number, number] => [x - turn * 360, y]);
    parts.push(...combine('clip', [[shifted]], [[boxRing([-180, -90, 180, 90])]]));
  }
  return parts;
}

function findRange(values: readonly number[]): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [least, most];
}

function boxRing([west, south, east, north]: Box): Ring {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}

function combine(mode: 'clip' | 'subtract', left: Polygons, right: Polygons): Polygons {
  const overlay = new OverlayIndex().add(right.map(toBlob));
  return overlay.cut(left.map(toBlob), mode, LONLAT_SRS).flatMap((result) => {
    if (typeof result === 'string') throw invalid(`wkt must be a valid polygon: ${result}`);
    return result ? readBlob(result) : [];
  });
}

const toBlob = (rings: Ring[]) =>
  geojsonToWkb({ type: 'Polygon', coordinates: rings }, { ...SAME_PLANE, maxVertices: MOST_VERTICES });

function readBlob(blob: Uint8Array): Polygons {
  const geometry = JSON.parse(geometryToGeoJSON(blob, { ...SAME_PLANE, precision: 15 }));
  return geometry === null ? [] : geometry.type === 'Polygon' ? [geometry.coordinates] : polygonsOf(geometry);
}

function polygonsOf(geometry: { type: string; coordinates: Polygons }): Polygons {
  return geometry.type === 'MultiPolygon' ? geometry.coordinates : [];
}

function formatArea(parts: readonly Polygons[]): string {
  return JSON.stringify({ type: 'MultiPolygon', coordinates: parts.flat() });
}
