import type { Geometry, Position } from 'geojson';

/** west, south, east, north in degrees; east may exceed 180 when the box crosses the antimeridian. */
export type Bounds = [number, number, number, number];

/** Web Mercator ends at 85 degrees; the empty polar strips of a world map are cut a little earlier. */
const SOUTH = -62;
const NORTH = 80;

/** A box that a Mercator map can show. */
export function viewBounds(box: readonly [number, number, number, number]): Bounds {
  const [west, south, east, north] = box;
  const unrolled = west > east ? east + 360 : east;
  const world = unrolled - west > 300;
  return [west, clampTo(south, world ? SOUTH : -85), unrolled, clampTo(north, world ? NORTH : 85)];
}

/** Closest zoom to features: a point has no extent, and closer there is nothing around it. */
export function findClosestZoom([west, south, east, north]: Bounds): number {
  return Math.max(east - west, north - south) < POINT_DEGREES ? 9 : 16;
}

/** Extents below this many degrees count as a point. */
const POINT_DEGREES = 1e-4;

function clampTo(latitude: number, limit: number): number {
  return limit < 0 ? Math.max(latitude, limit) : Math.min(latitude, limit);
}

/** Box around geometries; undefined when they have no position at all. */
export function computeBounds(geometries: readonly (Geometry | null)[]): Bounds | undefined {
  const box: Bounds = [Infinity, Infinity, -Infinity, -Infinity];
  for (const geometry of geometries) if (geometry) extendByGeometry(box, geometry);
  return box[0] <= box[2] ? box : undefined;
}

function extendByGeometry(box: Bounds, geometry: Geometry): void {
  if (geometry.type === 'GeometryCollection') {
    for (const part of geometry.geometries) extendByGeometry(box, part);
  } else {
    extendByPositions(box, geometry.coordinates);
  }
}

type NestedPositions = Position | NestedPositions[];

function extendByPositions(box: Bounds, positions: NestedPositions): void {
  const [x, y] = positions;
  if (typeof x === 'number' && typeof y === 'number') {
    box[0] = Math.min(box[0], x);
    box[1] = Math.min(box[1], y);
    box[2] = Math.max(box[2], x);
    box[3] = Math.max(box[3], y);
  } else {
    for (const part of positions as NestedPositions[]) extendByPositions(box, part);
  }
}

/** Pixels that stay free around what a map shows. */
export interface Margins {
  top: number;
  right: number;
  bottom: number;
  left: number;
}

/** Room for a panel on the left and a bar below; none where the page is narrow, or the box is most of the world. */
export function panelMargins(box: readonly [number, number, number, number], width: number): Margins {
  const [west, , east] = viewBounds(box);
  if (width < 900 || east - west > 180) return { top: 24, right: 24, bottom: 24, left: 24 };
  return { top: 32, right: 60, bottom: 120, left: 370 };
}
