import { type GridPoint, ringArea } from '../support.js';

export type Rings = readonly (readonly GridPoint[])[];

/** Distances are exact up to this many grid units. */
export const REACH = 8;
const CELL = 64;

/** Sum of the signed ring areas: holes take away. */
export function area(rings: Rings): number {
  return rings.reduce((sum, ring) => sum + ringArea(ring), 0);
}

export function length(rings: Rings): number {
  let sum = 0;
  for (const [a, b] of segments(rings)) sum += Math.hypot(b.x - a.x, b.y - a.y);
  return sum;
}

function* segments(rings: Rings): Generator<[GridPoint, GridPoint]> {
  for (const ring of rings) for (let i = 1; i < ring.length; i++) yield [ring[i - 1]!, ring[i]!];
}

export function distance(p: GridPoint, a: GridPoint, b: GridPoint): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const squared = dx * dx + dy * dy;
  const t = squared === 0 ? 0 : Math.min(1, Math.max(0, ((p.x - a.x) * dx + (p.y - a.y) * dy) / squared));
  return Math.hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/** Distance from a point to the nearest segment of some rings, at most `REACH`. Segments may be left out. */
export function outlineOf(
  rings: Rings,
): (p: GridPoint, except?: (a: GridPoint, b: GridPoint) => boolean) => number {
  const cells = new Map<string, [GridPoint, GridPoint][]>();
  const range = (v: number, w: number) => {
    const first = Math.floor((Math.min(v, w) - REACH) / CELL);
    return Array.from(
      { length: Math.floor((Math.max(v, w) + REACH) / CELL) - first + 1 },
      (_, i) => first + i,
    );
  };
  for (const segment of segments(rings)) {
    const [a, b] = segment;
    for (const x of range(a.x, b.x)) {
      for (const y of range(a.y, b.y)) {
        const found = cells.get(`${x}/${y}`);
        if (found) found.push(segment);
        else cells.set(`${x}/${y}`, [segment]);
      }
    }
  }
  return (p, except) => {
    const near = cells.get(`${Math.floor(p.x / CELL)}/${Math.floor(p.y / CELL)}`) ?? [];
    let least = REACH;
    for (const [a, b] of near) if (!except?.(a, b)) least = Math.min(least, distance(p, a, b));
    return least;
  };
}

/** Grid units that snapping may close: a spike from a cell of the next row, GEOS 3.13 repairs one of 1.57. */
const WIDTH = 1.6;

/**
 * Whether a polygon is no wider than about a grid unit at one of its vertices: the ring comes back beside
 * itself, or turns round there. Snapping to the grid closes such places, and repair takes them away.
 */
export function sliverTest(rings: Rings): (ring: readonly GridPoint[], i: number) => boolean {
  const outline = outlineOf(rings);
  const visits = new Map<string, number>();
  for (const ring of rings)
    for (const { x, y } of ring.slice(1)) visits.set(`${x}/${y}`, (visits.get(`${x}/${y}`) ?? 0) + 1);
  return (ring, i) => {
    const v = ring[i]!;
    const last = ring.length - 1;
    const before = ring[i === 0 ? last - 1 : i - 1]!;
    const after = ring[i === last ? 1 : i + 1]!;
    const turns = distance(before, v, after) <= WIDTH || distance(after, v, before) <= WIDTH;
    const touches = (p: GridPoint) => p.x === v.x && p.y === v.y;
    return (
      turns || visits.get(`${v.x}/${v.y}`)! > 1 || outline(v, (a, b) => touches(a) || touches(b)) <= WIDTH
    );
  };
}
