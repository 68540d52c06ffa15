import type { Position } from 'geojson';
import type { Box } from './box.js';

/** Rings as GeoServices write polygons: exteriors run clockwise, holes counterclockwise, in any order. */

/** Maximum tested corners of a hole, because some can be on the exterior ring. */
const TRIES = 8;

/**
 * Builds polygons from closed rings. A hole belongs to the smallest exterior ring around it. Without one, it is an
 * exterior ring.
 */
export function buildPolygons(rings: readonly Position[][]): Position[][][] {
  const exteriors = rings
    .filter((ring) => area(ring) <= 0)
    .map((ring) => ({ size: -area(ring), box: computeBox(ring), rings: [ring] }));
  const bySize = [...exteriors].sort((a, b) => a.size - b.size);
  const polygons = exteriors.map((one) => one.rings);
  for (const hole of rings.filter((ring) => area(ring) > 0)) {
    const [size, box, corners] = [area(hole), computeBox(hole), hole.slice(0, TRIES)];
    const around = bySize.find(
      (one) => one.size >= size && holds(one.box, box) && corners.some((at) => contains(one.rings[0]!, at)),
    );
    if (around) around.rings.push(hole);
    else polygons.push([hole]);
  }
  return polygons;
}

function computeBox(ring: readonly Position[]): Box {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of ring as [number, number][]) {
    west = Math.min(west, x);
    south = Math.min(south, y);
    east = Math.max(east, x);
    north = Math.max(north, y);
  }
  return [west, south, east, north];
}

function holds(outer: Box, inner: Box): boolean {
  return outer[0] <= inner[0] && outer[1] <= inner[1] && outer[2] >= inner[2] && outer[3] >= inner[3];
}

/** Returns the ring with its first position also at its end. */
export function closeRing(ring: Position[]): Position[] {
  const [first, last] = [ring[0]!, ring.at(-1)!];
  return first[0] === last[0] && first[1] === last[1] ? ring : [...ring, first];
}

/** The rings of a GeoJSON polygon in the directions that GeoServices want. */
export function exteriorFirst(rings: readonly Position[][]): Position[][] {
  return rings.map((ring, i) => (area(ring) > 0 === i > 0 ? ring : [...ring].reverse()));
}

/** Twice the signed area; negative for clockwise rings. */
function area(ring: readonly Position[]): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++)
    sum += ring[i - 1]![0]! * ring[i]![1]! - ring[i]![0]! * ring[i - 1]![1]!;
  return sum;
}

function contains(ring: readonly Position[], [x, y]: Position): boolean {
  let inside = false;
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1]! as [number, number];
    const [bx, by] = ring[i]! as [number, number];
    if (ay > y! !== by > y! && x! < ax + ((y! - ay) / (by - ay)) * (bx - ax)) inside = !inside;
  }
  return inside;
}
