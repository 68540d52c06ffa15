import { isObject, type RemoteJson } from './json.js';

type Position = readonly number[];

/**
 * Maximum positions of a ring from which it is compared: more than one if its first position occurs several times.
 */
const BEGINNINGS = 8;

/** Part of a geometry. Two equal rings can start at different positions and have different directions. */
interface Part {
  readonly isRing: boolean;
  readonly positions: readonly Position[];
}

/** Why two geometries are not the same one; undefined when they are, but for the tolerance. */
export function geometryDifference(a: unknown, b: unknown, tolerance: number): string | undefined {
  try {
    return findDifference(a, b, tolerance);
  } catch (error) {
    // The coordinates are not lists.
    if (error instanceof TypeError) return 'It is not a geometry.';
    throw error;
  }
}

function findDifference(a: unknown, b: unknown, tolerance: number): string | undefined {
  const [source, target] = [isObject(a) ? a : undefined, isObject(b) ? b : undefined];
  if (!source || !target) return source === target ? undefined : 'One of them has no geometry.';
  const [type, copy] = [plainType(source), plainType(target)];
  if (type !== copy) return `${type} has become ${copy}.`;
  const [parts, copies] = [readParts(source), readParts(target)];
  if (parts.length !== copies.length) return `${parts.length} parts have become ${copies.length}.`;
  for (const [i, part] of parts.entries()) {
    const counterpart = copies[i]!;
    if (part.positions.length !== counterpart.positions.length)
      return `Part ${i + 1} had ${part.positions.length} positions, and has ${counterpart.positions.length}.`;
    if (!isSamePart(part, counterpart, tolerance))
      return `Part ${i + 1} lies more than ${tolerance} units of the CRS away.`;
  }
  return undefined;
}

/** A store can represent a single geometry as a multi geometry. */
const plainType = ({ type }: RemoteJson) => String(type).replace(/^Multi/, '');

function readParts({ type, coordinates, geometries }: RemoteJson): Part[] {
  const list = coordinates as never;
  const lines = (lists: readonly (readonly Position[])[], isRing: boolean) =>
    lists.map((positions) => ({ isRing, positions: isRing ? positions.slice(0, -1) : positions }));
  switch (type) {
    case 'Point':
      return lines([[list]], false);
    case 'MultiPoint':
      return lines(
        (list as Position[]).map((one) => [one]),
        false,
      );
    case 'LineString':
      return lines([list], false);
    case 'MultiLineString':
      return lines(list, false);
    case 'Polygon':
      return lines(list, true);
    case 'MultiPolygon':
      return lines((list as Position[][][]).flat(), true);
    default:
      return (Array.isArray(geometries) ? (geometries as RemoteJson[]) : []).flatMap(readParts);
  }
}

function isSamePart({ isRing, positions: a }: Part, { positions: b }: Part, tolerance: number): boolean {
  const near = (i: number, k: number) => isNear(a[i]!, b[k]!, tolerance);
  if (!isRing) return a.every((_position, i) => near(i, i));
  const { length: n } = a;
  if (n === 0) return true;
  for (let k = 0, tries = 0; k < n && tries < BEGINNINGS; k++) {
    if (!near(0, k)) continue;
    tries++;
    if (a.every((_position, i) => near(i, (k + i) % n))) return true;
    if (a.every((_position, i) => near(i, (k - i + n) % n))) return true;
  }
  return false;
}

function isNear(a: Position, b: Position, tolerance: number): boolean {
  return Math.abs(a[0]! - b[0]!) <= tolerance && Math.abs(a[1]! - b[1]!) <= tolerance;
}
