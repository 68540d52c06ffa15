import type { Geometry } from 'geojson';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { GeometryServiceTask } from '../../../core/geoservices/geometry-service.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { geojsonToWkb, geometryToGeoJSON } from '../../../native/index.js';
import type { GeometryResult } from '../../../native/processing.js';

/** Geometries of a request as GEOS reads them, and back. */

export type Blob = Uint8Array | null;
type Planes = Pick<GeometryServiceTask, 'from' | 'plane' | 'target'>;

/** SRS id of blobs between two operations, which is never read. */
export const SRS_ID = 0;
/** Decimal places that distinguish any two doubles of degrees or metres. */
const PRECISION = 15;

/** Geometries in the plane. Throws `invalid-input`. */
export function writePlaneBlobs(
  geometries: readonly Geometry[],
  { from, plane }: Planes,
  { heights = false } = {},
): Buffer[] {
  return geometries.map((geometry, i) => {
    try {
      return geojsonToWkb(geometry, { from, to: plane, ...(heights ? {} : { dimension: 2 }) });
    } catch (error) {
      throw new TaskFailure('invalid-input', `geometries: number ${i}: ${(error as Error).message}`);
    }
  });
}

/** Results; throws `invalid-input` where there is a reason instead of one. */
export function requireBlobs(results: readonly GeometryResult[]): Blob[] {
  return results.map((result, i) => {
    if (typeof result !== 'string') return result;
    throw new TaskFailure('invalid-input', `geometries: number ${i} cannot be processed: ${result}`);
  });
}

/** Returns the geometries of a response. Throws `too-large`. */
export function readPlaneBlobs(blobs: readonly Blob[], { plane, target }: Planes): (Geometry | null)[] {
  let bytes = 0;
  for (const blob of blobs) bytes += blob?.byteLength ?? 0;
  // A position is two doubles.
  if (bytes / 16 > LIMITS.geometryPositions)
    throw createPositionsFailure('The response has more than', 'positions');
  return blobs.map((blob) => {
    if (!blob) return null;
    const text = geometryToGeoJSON(blob, { from: plane, to: target, precision: PRECISION });
    return ofOneKind(JSON.parse(text) as Geometry | null);
  });
}

export const createPositionsFailure = (what: string, unit: string) =>
  new TaskFailure('too-large', `${what} ${LIMITS.geometryPositions} ${unit}.`);

/**
 * Converts a geometry collection to one multi-geometry of its parts of the highest dimension, because GeoServices has
 * no geometry collections.
 */
function ofOneKind(geometry: Geometry | null): Geometry | null {
  if (geometry?.type !== 'GeometryCollection') return geometry;
  const all = (name: string) =>
    geometry.geometries.flatMap((one) => {
      if (one.type === 'GeometryCollection') return [];
      return one.type === name ? [one.coordinates] : one.type === `Multi${name}` ? one.coordinates : [];
    }) as never[];
  for (const name of ['Polygon', 'LineString', 'Point'] as const) {
    const coordinates = all(name);
    if (coordinates.length > 0) return { type: `Multi${name}`, coordinates };
  }
  return null;
}
