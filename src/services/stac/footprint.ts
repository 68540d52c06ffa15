import type { RasterCollection } from '../../core/catalog/collection.js';
import { type Box, createBoxRing, plainBoxes } from '../../core/geometry/box.js';
import { transformPoints } from '../../native/index.js';

/** Points along each side, so that sides that are curved in degrees stay where they are. */
const PER_SIDE = 8;
/** Decimal places of degrees: about a centimetre. */
const PRECISION = 1e7;

/** The outline of a raster's grid in CRS84 as GeoJSON; boxes where it has no plain image there. */
export function computeFootprint({ raster, storageCrs, extent84 }: RasterCollection): object {
  const { width, height, geoTransform } = raster;
  const corners = [
    [0, 0],
    [0, height],
    [width, height],
    [width, 0],
  ] as const;
  const [x0, a, b, y0, d, e] = geoTransform;
  const points: number[] = [];
  corners.forEach(([column, row], i) => {
    const [nextColumn, nextRow] = corners[(i + 1) % 4]!;
    for (let step = 0; step < PER_SIDE; step++) {
      const c = column + ((nextColumn - column) * step) / PER_SIDE;
      const r = row + ((nextRow - row) * step) / PER_SIDE;
      points.push(x0 + c * a + r * b, y0 + c * d + r * e);
    }
  });
  return findRing(points, storageCrs.proj) ?? boxOutline(extent84 ?? raster.extent84);
}

function findRing(points: readonly number[], crs: string): object | undefined {
  const at = Float64Array.from(points);
  try {
    transformPoints(at, crs, 'OGC:CRS84');
  } catch {
    return undefined;
  }
  const ring: [number, number][] = [];
  for (let i = 0; i < at.length; i += 2) ring.push([round(at[i]!), round(at[i + 1]!)]);
  const plain = ring.every(([x, y], i) => {
    const [before] = ring.at(i - 1)!;
    // A jump of longitudes shows that the outline crosses the antimeridian, or contains a pole.
    return Math.abs(x) <= 180 && Math.abs(y) <= 90 && Math.abs(x - before) < 180;
  });
  if (!plain) return undefined;
  return { type: 'Polygon', coordinates: [counterClockwise([...ring, ring[0]!])] };
}

/** Outer rings are counter-clockwise (RFC 7946, 3.1.6); rows may run upwards. */
function counterClockwise(ring: [number, number][]): [number, number][] {
  const area = ring.slice(1).reduce((sum, [x, y], i) => sum + ring[i]![0] * y - x * ring[i]![1], 0);
  return area < 0 ? ring.reverse() : ring;
}

/** A box that may cross the antimeridian. */
export function boxOutline(box: Box): object {
  const rings = plainBoxes(box).map((plain) => [createBoxRing(plain)]);
  return rings.length === 1
    ? { type: 'Polygon', coordinates: rings[0] }
    : { type: 'MultiPolygon', coordinates: rings };
}

const round = (degrees: number) => Math.round(degrees * PRECISION) / PRECISION;
