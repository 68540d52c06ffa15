import { ALERT_LIMITS } from '../../core/alerts/limits.js';
import type { ZoneArea, ZoneTask } from '../../core/alerts/tasks.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { Box } from '../../core/geometry/box.js';
import { CRS84 } from '../../core/geometry/crs.js';
import {
  formatMultiPolygonWkt,
  type Polygons,
  type PolygonWkt,
  PolygonWktError,
  parsePolygonWkt,
  type Ring,
} from '../../core/geometry/polygon-wkt.js';
import {
  describeCrs,
  geojsonToWkb,
  geometryToGeoJSON,
  hasLongitudes,
  transformPoints,
  validateGeometry,
} from '../../native/index.js';
import { OverlayIndex } from '../../native/processing.js';

/** Maximum distance in degrees between an edge of a projected zone and its line in degrees: about a centimetre. */
const TOLERANCE = 1e-7;
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
      const degrees = transform(isDegrees ? ring : densify(ring, crs), crs);
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
  const crs = `EPSG:${srid}`;
  try {
    describeCrs(crs);
    return crs;
  } catch {
    throw invalid('srid must be the code of a CRS of EPSG');
  }
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

/** The ring with further positions, so that its edges are as straight in degrees as in its plane. */
function densify(ring: Ring, crs: string): Ring {
  let positions = ring;
  for (let i = 0; i < HALVINGS; i++) {
    const middles = positions.slice(1).map(([x, y], k): [number, number] => {
      const [left, below] = positions[k]!;
      return [(x + left) / 2, (y + below) / 2];
    });
    const [ends, projected] = [transform(positions, crs), transform(middles, crs)];
    const isBent = projected.map((middle, k) => bendOf(ends[k]!, middle, ends[k + 1]!) > TOLERANCE);
    if (!isBent.includes(true)) return positions;
    positions = positions.flatMap((position, k) => (isBent[k] ? [position, middles[k]!] : [position]));
    if (positions.length > MOST_VERTICES / 4)
      throw invalid('wkt must have shorter edges: they cannot be represented in degrees');
  }
  return positions;
}

/** Distance in degrees between the middle of an edge and the middle of its ends. */
function bendOf([x1, y1]: Ring[number], [x, y]: Ring[number], [x2, y2]: Ring[number]): number {
  const [east, west] = [shorten(x2 - x1), shorten(x - x1)];
  return Math.max(Math.abs(west - east / 2), Math.abs(y - (y1 + y2) / 2));
}

const shorten = (degrees: number) => degrees - 360 * Math.round(degrees / 360);

function transform(ring: Ring, crs: string): Ring {
  const flat = Float64Array.from(ring.flat());
  transformPoints(flat, crs, CRS84.proj);
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

/** A ring that goes once round a pole, closed along the pole. */
function closeAroundPole(ring: Ring): Ring {
  const [first, last] = [ring[0]!, ring.at(-1)!];
  const isAround = Math.abs(last[0] - first[0]) > 180;
  if (!isAround) return ring;
  const mean = ring.reduce((sum, [, y]) => sum + y, 0) / ring.length;
  const pole = mean < 0 ? -90 : 90;
  return [...ring, [last[0], pole], [first[0], pole], first];
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
