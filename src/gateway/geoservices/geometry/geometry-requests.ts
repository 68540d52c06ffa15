import type { Geometry } from 'geojson';
import { badParameter } from '../../../core/errors/errors.js';
import { createBoxRing } from '../../../core/geometry/box.js';
import type { Crs } from '../../../core/geometry/crs.js';
import { METRES_OF_UNITS } from '../../../core/geometry/esri-units.js';
import { GeoServicesGeometryError, parseEsriGeometry } from '../../../core/geometry/geoservices-geometry.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { parseWktCrs } from '../../../native/crs.js';
import { describeCrs, readCrs } from '../../../native/index.js';
import { parseLenientJson } from '../../../services/geoservices/geometry.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { readSpatialReference } from '../maps/map-window.js';
import { type Members, requireObject } from '../members.js';

/** Parameters of a GeometryServer. Each reader throws 400 naming the parameter. */

/** Metres of units of length, by their codes and the names that Esri gives them. */
const UNITS: Readonly<Record<string, number>> = {
  ...METRES_OF_UNITS,
  9001: 1,
  esrimeters: 1,
  9036: 1000,
  esrikilometers: 1000,
  9002: 0.3048,
  esrifeet: 0.3048,
  9003: 1200 / 3937,
  esrisrunit_surveyfoot: 1200 / 3937,
  9093: 1609.344,
  esrimiles: 1609.344,
  9030: 1852,
  esrinauticalmiles: 1852,
};

/** Square metres of units of area. */
const AREAS: Readonly<Record<string, number>> = {
  esrisquaremeters: 1,
  esrisquarekilometers: 1e6,
  esrihectares: 1e4,
  esriares: 100,
  esrisquarefeet: 0.3048 ** 2,
  esrisquareyards: 0.9144 ** 2,
  esriacres: 4046.8564224,
  esrisquaremiles: 1609.344 ** 2,
};

/** A spatial reference as a number, or in full: `{"wkt": …}`, `{"wkt2": …}`. Undefined if absent. */
export function referenceMember(members: Members, name: string): Crs | undefined {
  const value = members[name];
  const read = typeof value === 'string' && /^\s*\{/.test(value) ? parseLenientJson(name, value) : value;
  const { wkid, latestWkid, wkt, wkt2 } = (typeof read === 'object' && read !== null ? read : {}) as Members;
  const definition = wkt2 ?? wkt;
  if (definition === undefined || wkid !== undefined || latestWkid !== undefined)
    return readSpatialReference(members, name);
  // The form and the query bound its length.
  const crs = typeof definition === 'string' ? parseWktCrs(definition) : undefined;
  if (!crs) throw badParameter(name, 'must be the code or the WKT of a spatial reference');
  return crs;
}

export function requireReference(members: Members, name: string): Crs {
  const crs = referenceMember(members, name);
  if (!crs) throw badParameter(name, 'is required');
  return crs;
}

/** Metres of a unit of length; undefined where none is named. */
export function readLengthUnit(members: Members, name: string): number | undefined {
  return chooseOne(UNITS, members[name], name);
}

/** Square metres of a unit of area: its name, or `{"areaUnit": name}`. */
export function readAreaUnit(members: Members, name: string): number | undefined {
  const value = members[name];
  const read = typeof value === 'string' && /^\s*\{/.test(value) ? parseLenientJson(name, value) : value;
  return chooseOne(
    AREAS,
    typeof read === 'object' && read !== null ? requireObject(name, read)['areaUnit'] : read,
    name,
  );
}

function chooseOne(
  units: Readonly<Record<string, number>>,
  value: unknown,
  name: string,
): number | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const key = String(value).trim().toLowerCase();
  if (!Object.hasOwn(units, key)) throw badParameter(name, 'must be the code of a linear or angular unit');
  return units[key];
}

/** Metres of a unit of the plane: of degrees along the equator. */
export const getMetresPerUnit = ({ proj, epsg }: Crs) =>
  (epsg > 0 ? describeCrs(proj) : readCrs(proj)).metresPerUnit;

/** Finite numbers, as `1,2` or JSON; none is farther from 0 than any place on Earth. */
export function finiteNumbers(members: Members, name: string): number[] {
  const text = members[name];
  const read =
    typeof text === 'string' ? (text.startsWith('[') ? parseLenientJson(name, text) : text.split(',')) : text;
  const list = (Array.isArray(read) ? read : [read]).map((one) =>
    typeof one === 'number' ? one : typeof one === 'string' && one.trim() !== '' ? Number(one) : Number.NaN,
  );
  if (list.length === 0) throw badParameter(name, 'must have at least one number');
  if (list.length > GEOSERVICES_LIMITS.geometryDistances)
    throw badParameter(name, `must have at most ${GEOSERVICES_LIMITS.geometryDistances} members`);
  if (!list.every((one) => Math.abs(one) <= LIMITS.mapReach))
    throw badParameter(name, `must be numbers of at most ${LIMITS.mapReach}`);
  return list;
}

export function finiteNumber(members: Members, name: string): number {
  const [value, ...others] = finiteNumbers(members, name);
  if (others.length > 0) throw badParameter(name, 'must be one number');
  return value!;
}

export function readPositiveNumber(members: Members, name: string): number {
  const value = finiteNumber(members, name);
  if (!(value > 0)) throw badParameter(name, 'must be a number above 0');
  return value;
}

/** `{geometryType, geometries: […]}`, a list of geometries, or points as `x,y,x,y`. */
export function readGeometries(members: Members, name: string, { heights = false } = {}): Geometry[] {
  const value = members[name];
  if (value === undefined || value === '') throw badParameter(name, 'is required');
  const read = typeof value === 'string' ? textual(name, value) : value;
  const list = Array.isArray(read) ? read : requireObject(name, read)['geometries'];
  if (!Array.isArray(list) || list.length === 0)
    throw badParameter(name, 'must have a non-empty array of geometries');
  if (list.length > GEOSERVICES_LIMITS.geometries)
    throw badParameter(name, `must have at most ${GEOSERVICES_LIMITS.geometries} geometries`);
  return list.map((one) => oneGeometry(name, one, heights));
}

/** A geometry, or `{geometryType, geometry}`. */
export function geometryMember(members: Members, name: string): Geometry {
  const value = members[name];
  if (value === undefined || value === '') throw badParameter(name, 'is required');
  const read = requireObject(name, typeof value === 'string' ? parseLenientJson(name, value) : value);
  return oneGeometry(name, read['geometry'] ?? read, false);
}

function textual(name: string, text: string): unknown {
  if (/^\s*[[{]/.test(text)) return parseLenientJson(name, text);
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (numbers.length % 2 !== 0 || !numbers.every(Number.isFinite))
    throw badParameter(name, 'must be a list of x,y');
  return numbers.flatMap((x, i) => (i % 2 === 0 ? [{ x, y: numbers[i + 1] }] : []));
}

/** Rings that are not closed are closed; those against the winding of Esri are exteriors where none is around them. */
function oneGeometry(name: string, value: unknown, heights: boolean): Geometry {
  try {
    const geometry = parseEsriGeometry(readRings(value), heights && hasHeights(value));
    if (geometry) return geometry;
  } catch (error) {
    if (!(error instanceof GeoServicesGeometryError)) throw error;
    throw badParameter(name, `cannot be read: ${error.message}`);
  }
  throw badParameter(name, 'must not have empty geometries');
}

function hasHeights(value: unknown): boolean {
  const { hasZ, z } = (value ?? {}) as Members;
  return hasZ === true || Number.isFinite(z);
}

/** An envelope as the area that it is. */
function readRings(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('xmin' in value)) return value;
  const { xmin, ymin, xmax, ymax } = value as unknown as Record<string, number>;
  return { rings: [createBoxRing([xmin!, ymin!, xmax!, ymax!]).reverse()] };
}
