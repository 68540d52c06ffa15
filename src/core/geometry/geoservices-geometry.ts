import type { Geometry, Position } from 'geojson';
import { buildPolygons, closeRing, exteriorFirst } from './rings.js';

/** Geometries of GeoServices JSON, as GeoJSON and from it. Coordinates are x,y ordered on both sides. */

type Json = Readonly<Record<string, unknown>>;

/** Error for a value that is not a readable geometry. The message follows "because". */
export class GeoServicesGeometryError extends Error {
  override readonly name = 'GeoServicesGeometryError';
}

/**
 * Converts a GeoServices JSON geometry to GeoJSON; null for an empty geometry. Lines and polygons become multi
 * geometries. Throws `GeoServicesGeometryError` for curves and invalid values.
 */
export function parseEsriGeometry(value: unknown, hasZ: boolean): Geometry | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'object' || Array.isArray(value)) throw wrong('a geometry is not an object');
  const geometry = value as Json;
  if ('curvePaths' in geometry || 'curveRings' in geometry) throw wrong('a geometry has curves');
  // The third number is a measure where a geometry says so.
  const size = hasZ && geometry['hasZ'] !== false ? 3 : 2;
  const read = (at: unknown) => parsePosition(at, size);
  const part = (least: number) => (list: unknown) => parsePart(list, least, read);
  if ('points' in geometry) return multi('MultiPoint', requireList(geometry['points']).map(read));
  if ('paths' in geometry) return multi('MultiLineString', parts(geometry['paths']).map(part(2)));
  if ('rings' in geometry)
    return multi('MultiPolygon', buildPolygons(parts(geometry['rings']).map(part(3)).map(closeRing)));
  return parsePoint(geometry, read);
}

type Multi = 'MultiPoint' | 'MultiLineString' | 'MultiPolygon';

const multi = (type: Multi, coordinates: unknown[]) =>
  coordinates.length === 0 ? null : ({ type, coordinates } as Geometry);

/** An empty point has no x, or NaN. */
function parsePoint({ x, y, z }: Json, read: (at: unknown) => Position): Geometry | null {
  if (x === null || x === undefined || x === 'NaN') return null;
  return {
    type: 'Point',
    coordinates: read(z === undefined || z === null || z === 'NaN' ? [x, y] : [x, y, z]),
  };
}

function parsePosition(value: unknown, size: number): Position {
  if (!Array.isArray(value)) throw wrong('a position is not an array of numbers');
  const [x, y, z] = value as unknown[];
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw wrong('a position is not an array of numbers');
  return size === 3
    ? [x as number, y as number, Number.isFinite(z) ? (z as number) : 0]
    : [x as number, y as number];
}

function requireList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw wrong('a geometry has no array of positions');
  return value;
}

/** Empty parts say nothing. */
const parts = (value: unknown) =>
  requireList(value).filter((part) => !Array.isArray(part) || part.length > 0);

function parsePart(value: unknown, least: number, read: (at: unknown) => Position): Position[] {
  const list = requireList(value);
  if (list.length < least) throw wrong('a part of a geometry has too few positions');
  return list.map(read);
}

const wrong = (reason: string) => new GeoServicesGeometryError(reason);

export type EsriGeometryType =
  | 'esriGeometryPoint'
  | 'esriGeometryMultipoint'
  | 'esriGeometryPolyline'
  | 'esriGeometryPolygon';

/** Geometry type of a layer; undefined for mixed types. */
export function esriGeometryType(type: string): EsriGeometryType | undefined {
  switch (type) {
    case 'Point':
      return 'esriGeometryPoint';
    case 'MultiPoint':
      return 'esriGeometryMultipoint';
    case 'LineString':
    case 'MultiLineString':
      return 'esriGeometryPolyline';
    case 'Polygon':
    case 'MultiPolygon':
      return 'esriGeometryPolygon';
    default:
      return undefined;
  }
}

/** A GeoJSON geometry as GeoServices JSON. Throws `GeoServicesGeometryError` for collections, which it cannot say. */
export function createEsriGeometry(geometry: Geometry, wkid: number): Record<string, unknown> {
  return { ...buildShape(geometry), spatialReference: { wkid } };
}

function buildShape(geometry: Geometry): Record<string, unknown> {
  switch (geometry.type) {
    case 'Point': {
      const [x, y, z] = geometry.coordinates;
      return { x, y, ...(z === undefined ? {} : { z }) };
    }
    case 'MultiPoint':
      return { ...describeDimension(geometry.coordinates[0]), points: geometry.coordinates };
    case 'LineString':
      return { ...describeDimension(geometry.coordinates[0]), paths: [geometry.coordinates] };
    case 'MultiLineString':
      return { ...describeDimension(geometry.coordinates[0]?.[0]), paths: geometry.coordinates };
    case 'Polygon':
      return {
        ...describeDimension(geometry.coordinates[0]?.[0]),
        rings: exteriorFirst(geometry.coordinates),
      };
    case 'MultiPolygon':
      return {
        ...describeDimension(geometry.coordinates[0]?.[0]?.[0]),
        rings: geometry.coordinates.flatMap(exteriorFirst),
      };
    default:
      throw wrong('it is a collection of geometries');
  }
}

const describeDimension = (position: Position | undefined) => (position?.length === 3 ? { hasZ: true } : {});
