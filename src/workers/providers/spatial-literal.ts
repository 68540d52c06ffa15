import type { Position } from 'geojson';
import {
  type BoxLiteral,
  type GeometryLiteral,
  isBox,
  isGeometry,
  type Operand,
} from '../../core/cql2/ast.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { type Box, computeEnvelope } from '../../core/geometry/box.js';
import { geojsonToWkb } from '../../native/index.js';
import { boxesInSource } from './boxes.js';

/** Spatial literals of a checked filter in the CRS of the data. */

export type SpatialLiteral = GeometryLiteral | BoxLiteral;

export const isSpatialLiteral = (operand: Operand): operand is SpatialLiteral =>
  isGeometry(operand) || isBox(operand);

const CRS84 = 'OGC:CRS84';

/** Longitude and latitude of WGS 84 have two names; both are x,y ordered here. */
const WGS84: ReadonlySet<string> = new Set([CRS84, 'EPSG:4326']);
const sameGraticule = (a: string, b: string) => a === b || (WGS84.has(a) && WGS84.has(b));

/** Returns the literal as WKB. Throws `invalid-input` if the CRS of the data is not defined there. */
export function writeLiteralWkb(literal: SpatialLiteral, crs: string): Uint8Array {
  const { crs: from = CRS84, ...geometry } = literal;
  try {
    const shape = isBox(literal) ? outline(flat(literal.bbox), !sameGraticule(from, crs)) : geometry;
    return geojsonToWkb(shape, { from, to: crs, dimension: 2 });
  } catch (error) {
    throw new TaskFailure('invalid-input', `A geometry of the filter: ${(error as Error).message}`);
  }
}

/** Returns the boxes, in the CRS of the data, of a box literal or around a geometry. */
export function computeLiteralBoxes(literal: SpatialLiteral, source: { crs: string }): Box[] {
  // A checked geometry has positions.
  const box = isBox(literal) ? flat(literal.bbox) : computeEnvelope(literal)!;
  return boxesInSource(source, box, literal.crs ?? CRS84);
}

/** Returns the box without heights, which no predicate uses. */
function flat(bbox: readonly number[]): Box {
  const [a, b, c, d, e] = bbox as [number, number, number, number, number];
  return bbox.length === 6 ? [a, b, d, e] : [a, b, c, d];
}

/** Positions along a side of a box whose sides will bend. */
const BENDS = 32;

/** A box as polygon; across the antimeridian as two; one without an area as a line or a point. */
function outline([minx, miny, maxx, maxy]: Box, bends: boolean): object {
  const steps = bends ? BENDS : 1;
  if (minx === maxx && miny === maxy) return { type: 'Point', coordinates: [minx, miny] };
  if (minx === maxx || miny === maxy)
    return { type: 'LineString', coordinates: [...side([minx, miny], [maxx, maxy], steps), [maxx, maxy]] };
  const ring = (left: number, right: number) => {
    const corners: Position[] = [
      [left, miny],
      [right, miny],
      [right, maxy],
      [left, maxy],
    ];
    const sides = corners.map((corner, i) => side(corner, corners[(i + 1) % 4]!, steps));
    return [[...sides.flat(), corners[0]!]];
  };
  if (minx <= maxx) return { type: 'Polygon', coordinates: ring(minx, maxx) };
  return { type: 'MultiPolygon', coordinates: [ring(minx, 180), ring(-180, maxx)] };
}

function side([x1, y1]: Position, [x2, y2]: Position, steps: number): Position[] {
  return Array.from({ length: steps }, (_, i) => [
    x1! + ((x2! - x1!) * i) / steps,
    y1! + ((y2! - y1!) * i) / steps,
  ]);
}
