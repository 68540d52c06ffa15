import type { Geometry, MultiPolygon, Polygon, Position } from 'geojson';
import { computeEnvelope } from '../../core/geometry/box.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { geojsonToWkb, geometryToGeoJSON } from '../../native/index.js';
import { processGeometries } from '../../native/processing.js';

const PLANE = { from: CRS84.proj, to: CRS84.proj };
/** A millimetre or so. */
const PRECISION = 8;

/**
 * Returns the representative position of a place in degrees: a point, a point inside an area, or the centre of the
 * envelope of lines.
 */
export function placePoint(geometry: Geometry): [x: number, y: number] | undefined {
  if (geometry.type === 'GeometryCollection') return undefined;
  const area = geometry.type === 'MultiPolygon' ? findLargestPart(geometry) : geometry;
  const inside = area.type === 'Polygon' ? pointInside(area) : undefined;
  const box = computeEnvelope(geometry);
  const point = inside ?? (box && [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]);
  return point?.every(Number.isFinite) ? [point[0]!, point[1]!] : undefined;
}

/** The largest part of an area: islands may be far from their mainland. */
function findLargestPart({ coordinates }: MultiPolygon): Polygon {
  const areas = coordinates.map(([exterior = []]) => computeArea(exterior));
  return { type: 'Polygon', coordinates: coordinates[areas.indexOf(Math.max(...areas))] ?? [] };
}

/** Twice the area of a ring in square degrees of the equator, about. */
function computeArea(ring: readonly Position[]): number {
  let [area, latitudes] = [0, 0];
  for (const [i, [x, y]] of ring.entries()) {
    const [nextX, nextY] = ring[(i + 1) % ring.length]! as [number, number];
    area += x! * nextY - nextX * y!;
    latitudes += y!;
  }
  return Math.abs(area) * Math.cos(((latitudes / ring.length) * Math.PI) / 180);
}

function pointInside(geometry: Polygon): Position | undefined {
  const options = { crs: CRS84.proj, target: CRS84.proj, srsId: 0 };
  try {
    const blob = geojsonToWkb(geometry, { ...PLANE, dimension: 2 });
    const [point] = processGeometries([blob], { name: 'point-on-surface' }, options);
    if (!point || typeof point === 'string') return undefined;
    const { coordinates } = JSON.parse(geometryToGeoJSON(point, { ...PLANE, precision: PRECISION })) as {
      coordinates: Position;
    };
    return coordinates;
  } catch {
    // Geometries that GEOS cannot read use the centre.
    return undefined;
  }
}
