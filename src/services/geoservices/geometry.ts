import type { Position } from 'geojson';
import type { BoxLiteral, GeometryLiteral } from '../../core/cql2/ast.js';
import { badParameter } from '../../core/errors/errors.js';
import { CRS84, type Crs, normalizeEpsg } from '../../core/geometry/crs.js';
import { buildPolygons, closeRing } from '../../core/geometry/rings.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { ExactMembers } from '../../core/values/json.js';
import { JsonBoundsError, parseJsonText } from '../../core/values/json-bounds.js';
import { findEpsgCrs, isHorizontal } from '../../native/crs.js';
import { scalarNumber } from './scalar.js';

/** Geometries of GeoServices JSON (Geometry objects) as literals of the filter tree. Always x,y ordered. */

type Json = Record<string, unknown>;

/** A spatial reference: a code, text with a code, or `{wkid, latestWkid}`. Throws 400 naming `parameter`. */
export function spatialReference(parameter: string, value: unknown): Crs {
  const read =
    typeof value === 'string' && value.trim().startsWith('{') ? parseLenientJson(parameter, value) : value;
  const { latestWkid, wkid } =
    typeof read === 'object' && read !== null ? (read as Json) : { wkid: read, latestWkid: undefined };
  const code = scalarNumber(parameter, latestWkid ?? wkid ?? '');
  const crs = Number.isInteger(code) ? findEpsgCrs(normalizeEpsg(code)) : undefined;
  if (!crs || !isHorizontal(crs))
    throw badParameter(parameter, 'must be a known spatial reference, for example 4326');
  return crs;
}

/**
 * JSON as an object, with the digits of some members; QGIS leaves the quotes of names out. Throws 400 naming `parameter`.
 */
export function parseLenientJson(parameter: string, text: string, exact: ExactMembers = []): unknown {
  try {
    return parseJsonText(UNQUOTED.test(text) ? text.replaceAll(NAME, '$1"$2":') : text, exact);
  } catch (error) {
    throw badParameter(parameter, error instanceof JsonBoundsError ? error.message : 'must be JSON');
  }
}

const UNQUOTED = /^\s*\{\s*[a-z]/i;
const NAME = /([{,]\s*)([a-z]\w*)\s*:/gi;

const TYPES = ['Point', 'Multipoint', 'Polyline', 'Polygon', 'Envelope'] as const;
type TypeName = (typeof TYPES)[number];

/**
 * Reads a geometry: JSON as object or text, or `x,y` and `xmin,ymin,xmax,ymax`. `crsOf` finds the CRS from the geometry's
 * own spatialReference. Throws 400 naming `geometry` or `geometryType`.
 */
export function geometryLiteral(
  value: unknown,
  typeName: string | undefined,
  crsOf: (own: unknown) => Crs,
): GeometryLiteral | BoxLiteral {
  const type = findType(typeName);
  if (typeof value === 'string' && !value.trim().startsWith('{')) {
    return fromNumbers(value, type, crsOf(undefined));
  }
  const json = typeof value === 'string' ? parseLenientJson('geometry', value) : value;
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw wrong('is not a geometry object');
  const geometry = json as Json;
  const match = TYPES.find((name) => holds(geometry, name));
  if (!match) throw wrong('has neither x, points, paths, rings nor xmin');
  if (type && type !== match) throw badParameter('geometryType', `does not fit the geometry, a ${match}`);
  return readLiteral(geometry, match, crsOf(geometry['spatialReference']));
}

function wrong(detail: string) {
  return badParameter('geometry', detail);
}

function findType(name: string | undefined): TypeName | undefined {
  if (name === undefined || name === '') return undefined;
  const type = TYPES.find((one) => `esriGeometry${one}`.toLowerCase() === name.toLowerCase());
  if (!type)
    throw badParameter(
      'geometryType',
      `must be one of ${TYPES.map((one) => `esriGeometry${one}`).join(', ')}`,
    );
  return type;
}

const MEMBERS: Record<TypeName, string> = {
  Point: 'x',
  Multipoint: 'points',
  Polyline: 'paths',
  Polygon: 'rings',
  Envelope: 'xmin',
};

function holds(geometry: Json, type: TypeName): boolean {
  return geometry[MEMBERS[type]] !== undefined;
}

function fromNumbers(text: string, type: TypeName | undefined, crs: Crs): GeometryLiteral | BoxLiteral {
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const size = type === 'Point' ? 2 : type === 'Envelope' ? 4 : numbers.length;
  if (numbers.length !== size || (size !== 2 && size !== 4) || !numbers.every(Number.isFinite))
    throw wrong('is neither x,y nor xmin,ymin,xmax,ymax nor a geometry object');
  return size === 2 ? { type: 'Point', coordinates: numbers, crs: crs.proj } : box(numbers, crs);
}

/** Half of the world around the equator in metres, as Web Mercator has it. */
const MERCATOR_HALF = Math.PI * 6_378_137;

/**
 * A box of a map window. Windows that continue beyond the antimeridian are moved back, and cross it if xmin > xmax.
 */
function box(sides: number[], crs: Crs): BoxLiteral {
  const [xmin, ymin, xmax, ymax] = sides as [number, number, number, number];
  const half = crs.geographic ? 180 : crs.epsg === 3857 ? MERCATOR_HALF : undefined;
  if (ymin > ymax || (xmin > xmax && half === undefined))
    throw wrong('must have its minimum below its maximum');
  if (half === undefined) return { bbox: sides, crs: crs.proj };
  const [west, east] = wrapped(xmin, xmax, half);
  if (west <= east || crs.geographic) return { bbox: [west, ymin, east, ymax], crs: crs.proj };
  const degrees = (metres: number) => (metres / half) * 180;
  const latitude = (y: number) => (Math.atan(Math.sinh((y / half) * Math.PI)) / Math.PI) * 180;
  return { bbox: [degrees(west), latitude(ymin), degrees(east), latitude(ymax)], crs: CRS84.proj };
}

/** The sides between -half and half; west > east across the antimeridian. */
function wrapped(xmin: number, xmax: number, half: number): [west: number, east: number] {
  if (xmin >= -half && xmax <= half && xmin <= half && xmax >= -half) return [xmin, xmax];
  if (xmax - xmin >= 2 * half) return [-half, half];
  const turned = (x: number) => x - 2 * half * Math.floor((x + half) / (2 * half));
  const east = turned(xmax);
  return [turned(xmin), east === -half ? half : east];
}

function readLiteral(
  geometry: Json,
  type: TypeName,
  { proj: crs, ...ofBox }: Crs,
): GeometryLiteral | BoxLiteral {
  const counter = { left: LIMITS.filterPositions };
  switch (type) {
    case 'Point':
      return { type: 'Point', coordinates: position([geometry['x'], geometry['y']], counter), crs };
    case 'Envelope':
      return box(
        ['xmin', 'ymin', 'xmax', 'ymax'].map((side) => finite(geometry[side])),
        { proj: crs, ...ofBox },
      );
    case 'Multipoint':
      return { type: 'MultiPoint', coordinates: positions(geometry['points'], 1, counter), crs };
    case 'Polyline':
      return {
        type: 'MultiLineString',
        coordinates: list(geometry['paths']).map((path) => positions(path, 2, counter)),
        crs,
      };
    case 'Polygon':
      return {
        type: 'MultiPolygon',
        coordinates: buildPolygons(
          list(geometry['rings']).map((ring) => closed(positions(ring, 3, counter))),
        ),
        crs,
      };
  }
}

interface Counter {
  left: number;
}

function finite(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw wrong('has a coordinate that is not a number');
  return value;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw wrong('must have a non-empty array of coordinates');
  return value;
}

function position(value: unknown, counter: Counter): Position {
  if (--counter.left < 0) throw wrong(`must have at most ${LIMITS.filterPositions} positions`);
  const [x, y] = list(value);
  return [finite(x), finite(y)];
}

function positions(value: unknown, least: number, counter: Counter): Position[] {
  const read = list(value).map((each) => position(each, counter));
  if (read.length < least) throw wrong(`must have paths of at least ${least} positions`);
  return read;
}

function closed(ring: Position[]): Position[] {
  const whole = closeRing(ring);
  if (whole.length < 4) throw wrong('must have rings of at least 3 corners');
  return whole;
}
