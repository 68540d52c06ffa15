import { ringsToGeoJson } from '../../../native/analytics.js';
import { transformPoints } from '../../../native/index.js';

/** Cells of equal size that part a plane. */

/** World-wide data is counted in equal-area cells (EPSG:6933): areas are true everywhere, shapes near 30 degrees. */
export const WORLD_PLANE = 'EPSG:6933';
const CRS84 = 'OGC:CRS84';

/** A cell by its place in the grid. */
export interface Cell {
  column: number;
  row: number;
}

type Position = readonly [x: number, y: number];

/** A way to part the plane into cells of a given side. */
export interface CellGrid {
  cellOf(x: number, y: number, side: number): [column: number, row: number];
  cornersOf(column: number, row: number, side: number): Position[];
  centreOf(column: number, row: number, side: number): Position;
  /**
   * Returns the first and last column whose centres are between two x values; `rows` returns the rows of a column
   * between two y values.
   */
  columns(low: number, high: number, side: number): [first: number, last: number];
  rows(low: number, high: number, column: number, side: number): [first: number, last: number];
  /** Area of a cell. */
  areaOf(side: number): number;
}

/** The first and the last integer between two numbers. */
const wholes = (low: number, high: number): [number, number] => [Math.ceil(low), Math.floor(high)];

export const SQUARE: CellGrid = {
  cellOf: (x, y, side) => [Math.floor(x / side), Math.floor(y / side)],
  cornersOf(column, row, side) {
    const [x, y] = [column * side, row * side];
    return [
      [x, y],
      [x + side, y],
      [x + side, y + side],
      [x, y + side],
    ];
  },
  centreOf: (column, row, side) => [(column + 0.5) * side, (row + 0.5) * side],
  columns: (low, high, side) => wholes(low / side - 0.5, high / side - 0.5),
  rows: (low, high, _, side) => wholes(low / side - 0.5, high / side - 0.5),
  areaOf: (side) => side * side,
};

const ROOT3 = Math.sqrt(3);

/** Flat-topped hexagons in axial coordinates: the centre of a cell is side * (3/2 q, sqrt3 (q/2 + r)). */
export const HEX: CellGrid = {
  cellOf(x, y, side) {
    const q = ((2 / 3) * x) / side;
    const r = (-x / 3 + (ROOT3 / 3) * y) / side;
    let [column, row] = [Math.round(q), Math.round(r)];
    const third = Math.round(-q - r);
    const [dq, dr, dt] = [Math.abs(column - q), Math.abs(row - r), Math.abs(third + q + r)];
    if (dq > dr && dq > dt) column = -row - third;
    else if (dr > dt) row = -column - third;
    return [column, row];
  },
  cornersOf(column, row, side) {
    const [x, y] = HEX.centreOf(column, row, side);
    return Array.from({ length: 6 }, (_, i) => {
      const angle = (Math.PI / 3) * i;
      return [x + side * Math.cos(angle), y + side * Math.sin(angle)];
    });
  },
  centreOf: (column, row, side) => [1.5 * side * column, ROOT3 * side * (column / 2 + row)],
  columns: (low, high, side) => wholes(low / (1.5 * side), high / (1.5 * side)),
  rows: (low, high, column, side) =>
    wholes(low / (ROOT3 * side) - column / 2, high / (ROOT3 * side) - column / 2),
  areaOf: (side) => 1.5 * ROOT3 * side * side,
};

/** Northings where the equal-area plane ends at the poles. */
const WORLD_TOP = 7_314_540.8;

/** Cells of a plane of metres as GeoJSON in WGS 84, cut at the antimeridian. */
export function writeCellShapes(
  cells: readonly Cell[],
  grid: CellGrid,
  side: number,
  plane: string,
): string[] {
  const rings = cells.map(({ column, row }) => grid.cornersOf(column, row, side));
  const top = plane === WORLD_PLANE ? WORLD_TOP : Number.POSITIVE_INFINITY;
  const corners = Float64Array.from(
    rings.flatMap((ring) => ring.flatMap(([x, y]) => [x, Math.max(-top, Math.min(top, y))])),
  );
  transformPoints(corners, plane, CRS84);
  let end = 0;
  return ringsToGeoJson(
    corners,
    Uint32Array.from(rings, (ring) => (end += ring.length)),
  );
}
