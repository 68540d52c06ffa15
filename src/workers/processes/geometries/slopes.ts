import type { Geometry, MultiLineString, MultiPolygon, Position } from 'geojson';
import { isSame } from './vectors.js';

/**
 * Returns a geometry with shorter segments in the plane. Heights are interpolated between their ends, because GEOS
 * omits them.
 */
export function densifySlopes(geometry: Geometry, longest: number): Geometry {
  const dense = (path: Position[]) =>
    path.flatMap((to, i) => (i === 0 ? [to] : [...between(path[i - 1]!, to, longest), to]));
  switch (geometry.type) {
    case 'MultiLineString':
      return { ...geometry, coordinates: (geometry as MultiLineString).coordinates.map(dense) };
    case 'MultiPolygon':
      return {
        ...geometry,
        coordinates: (geometry as MultiPolygon).coordinates.map((rings) => rings.map(dense)),
      };
    default:
      return geometry;
  }
}

function between(from: Position, to: Position, longest: number): Position[] {
  if (isSame(from, to)) return [];
  const parts = Math.ceil(Math.hypot(to[0]! - from[0]!, to[1]! - from[1]!) / longest);
  return Array.from({ length: parts - 1 }, (_, n) =>
    from.map((start, axis) => start + ((to[axis]! - start) * (n + 1)) / parts),
  );
}
