import type { Geometry, Position } from 'geojson';
import { closeRing, polygonsOf } from '../../core/rings.js';
import { refused } from '../remote/allowed.js';
import { isObject, type Json } from './json.js';

/**
 * A geometry of GeoServices JSON as GeoJSON; null for an empty one. Lines and polygons are multi ones. Fails with
 * `source-unreadable` for curves, which servers are asked not to send, and for what is no geometry.
 */
export function geometryOf(value: unknown, hasZ: boolean): Geometry | null {
  if (value === null || value === undefined) return null;
  if (!isObject(value)) throw wrong('a geometry is no object');
  if ('curvePaths' in value || 'curveRings' in value) throw wrong('a geometry has curves');
  // The third number is a measure where a geometry says so.
  const size = hasZ && value['hasZ'] !== false ? 3 : 2;
  const read = (at: unknown) => positionOf(at, size);
  const part = (least: number) => (list: unknown) => partOf(list, least, read);
  if ('points' in value) return multi('MultiPoint', listOf(value['points']).map(read));
  if ('paths' in value) return multi('MultiLineString', parts(value['paths']).map(part(2)));
  if ('rings' in value)
    return multi('MultiPolygon', polygonsOf(parts(value['rings']).map(part(3)).map(closeRing)));
  return pointOf(value, read);
}

type Multi = 'MultiPoint' | 'MultiLineString' | 'MultiPolygon';

const multi = (type: Multi, coordinates: unknown[]) =>
  coordinates.length === 0 ? null : ({ type, coordinates } as Geometry);

/** An empty point has no x, or NaN. */
function pointOf({ x, y, z }: Json, read: (at: unknown) => Position): Geometry | null {
  if (x === null || x === undefined || x === 'NaN') return null;
  return {
    type: 'Point',
    coordinates: read(z === undefined || z === null || z === 'NaN' ? [x, y] : [x, y, z]),
  };
}

function positionOf(value: unknown, size: number): Position {
  if (!Array.isArray(value)) throw wrong('a position is no list of numbers');
  const [x, y, z] = value as unknown[];
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw wrong('a position is no list of numbers');
  return size === 3
    ? [x as number, y as number, Number.isFinite(z) ? (z as number) : 0]
    : [x as number, y as number];
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw wrong('a geometry has no list of positions');
  return value;
}

/** Empty parts say nothing. */
const parts = (value: unknown) => listOf(value).filter((part) => !Array.isArray(part) || part.length > 0);

function partOf(value: unknown, least: number, read: (at: unknown) => Position): Position[] {
  const list = listOf(value);
  if (list.length < least) throw wrong('a part of a geometry has too few positions');
  return list.map(read);
}

const wrong = (reason: string) => refused(reason);
