import type { Geometry, Position } from 'geojson';
import { LIMITS } from '../kit/limits.js';
import { isExactNumber, toDouble } from '../values/exact-number.js';
import { Cql2Error } from './error.js';

/** Levels of arrays around the positions of a geometry. */
const LEVELS: Record<Exclude<Geometry['type'], 'GeometryCollection'>, 0 | 1 | 2 | 3> = {
  Point: 0,
  MultiPoint: 1,
  LineString: 1,
  MultiLineString: 2,
  Polygon: 2,
  MultiPolygon: 3,
};

/**
 * A copy of a GeoJSON geometry (RFC 7946) with nothing but its type and coordinates. Checks its structure; `check`
 * does the rest. Throws `Cql2Error` with a JSON pointer.
 */
export function parseGeometryMembers(members: Readonly<Record<string, unknown>>, pointer: string): Geometry {
  return copyGeometry(members, pointer, { left: LIMITS.filterPositions });
}

interface Budget {
  left: number;
}

function copyGeometry(
  members: Readonly<Record<string, unknown>>,
  pointer: string,
  budget: Budget,
  inCollection = false,
): Geometry {
  const { type } = members;
  if (type === 'GeometryCollection' && !inCollection)
    return { type, geometries: memberGeometries(members['geometries'], `${pointer}/geometries`, budget) };
  if (typeof type !== 'string' || !Object.hasOwn(LEVELS, type))
    throw new Cql2Error('expected the type of a GeoJSON geometry', { pointer: `${pointer}/type` });
  const levels = LEVELS[type as keyof typeof LEVELS];
  const coordinates = copyArrays(members['coordinates'], levels, `${pointer}/coordinates`, budget);
  return { type, coordinates } as Geometry;
}

function memberGeometries(value: unknown, pointer: string, budget: Budget): Geometry[] {
  return parseArray(value, pointer, budget).map((member, i) => {
    if (typeof member !== 'object' || member === null)
      throw new Cql2Error('expected a geometry', { pointer: `${pointer}/${i}` });
    return copyGeometry(member as Record<string, unknown>, `${pointer}/${i}`, budget, true);
  });
}

function copyArrays(value: unknown, levels: number, pointer: string, budget: Budget): unknown {
  if (levels === 0) {
    spend(budget, 1);
    return readPosition(value, pointer);
  }
  return parseArray(value, pointer, budget).map((member, i) =>
    copyArrays(member, levels - 1, `${pointer}/${i}`, budget),
  );
}

function parseArray(value: unknown, pointer: string, budget: Budget): unknown[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new Cql2Error('expected a filled array', { pointer });
  if (value.length > budget.left) spend(budget, value.length);
  return value;
}

function spend(budget: Budget, positions: number): void {
  budget.left -= positions;
  if (budget.left < 0)
    throw new Cql2Error(`the geometries of the filter have more than ${LIMITS.filterPositions} positions`);
}

function readPosition(value: unknown, pointer: string): Position {
  const position = doublesIn(value);
  if (!position || position.length < 2 || position.length > 3)
    throw new Cql2Error('expected a position of two or three numbers', { pointer });
  return position;
}

/** Four or six numbers. */
export function parseBboxArray(value: unknown, pointer: string): number[] {
  const box = doublesIn(value);
  if (!box || (box.length !== 4 && box.length !== 6))
    throw new Cql2Error('expected four or six numbers', { pointer });
  return box;
}

/** A list of finite numbers, at most six; undefined for anything else. */
function doublesIn(value: unknown): number[] | undefined {
  if (!Array.isArray(value) || value.length > 6) return undefined;
  const doubles = value.map((one) => (isExactNumber(one) ? toDouble(one) : one) as unknown);
  return doubles.every((one): one is number => Number.isFinite(one)) ? doubles : undefined;
}
