import type { Geometry, Position } from 'geojson';
import { envelope } from '../../core/box.js';
import { CRS84 } from '../../core/crs.js';
import { geojsonToWkb, geometryToGeoJSON } from '../../native/index.js';
import { processGeometries } from '../../native/processing.js';

const PLANE = { from: CRS84.proj, to: CRS84.proj };
/** A millimetre or so. */
const PRECISION = 8;

/** Where a place is said to be, in degrees: a point, a point inside of an area, the middle of the envelope of lines. */
export function placePoint(geometry: Geometry): [x: number, y: number] | undefined {
  if (geometry.type === 'GeometryCollection') return undefined;
  const inside = geometry.type.endsWith('Polygon') ? pointInside(geometry) : undefined;
  const box = envelope(geometry);
  const point = inside ?? (box && [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]);
  return point?.every(Number.isFinite) ? [point[0]!, point[1]!] : undefined;
}

/** The middle of the envelope of an area may lie far outside: islands are far from their mainland. */
function pointInside(geometry: Geometry): Position | undefined {
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
    // What GEOS cannot read has its middle.
    return undefined;
  }
}
