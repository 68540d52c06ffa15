import type { Geometry } from 'geojson';
import * as geoServices from '../../../core/geometry/geoservices-geometry.js';
import { refused } from '../../storage/remote/allowed-hosts.js';

/**
 * Returns a geometry of another server as GeoJSON. Fails with `source-unreadable` for geometries that cannot be read.
 */
export function parseRemoteGeometry(value: unknown, hasZ: boolean): Geometry | null {
  try {
    return geoServices.parseEsriGeometry(value, hasZ);
  } catch (error) {
    throw error instanceof geoServices.GeoServicesGeometryError ? refused(error.message) : error;
  }
}
