import type { Position } from 'geojson';

/** Positions of the plane as vectors. */
export type Vector = readonly [x: number, y: number];

export const vector = (from: Position, to: Position): Vector => [to[0]! - from[0]!, to[1]! - from[1]!];
export const cross = (a: Vector, b: Vector) => a[0] * b[1] - a[1] * b[0];
export const dot = (a: Vector, b: Vector) => a[0] * b[0] + a[1] * b[1];
export const isSame = (a: Position, b: Position) => a[0] === b[0] && a[1] === b[1];

/** Twice the signed area of a closed ring; negative for clockwise ones. */
export function signedArea(ring: readonly Position[]): number {
  const [first] = ring;
  let sum = 0;
  for (let i = 1; i < ring.length; i++) sum += cross(vector(first!, ring[i - 1]!), vector(first!, ring[i]!));
  return sum;
}
