import { TaskFailure } from '../../../core/errors/failure.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../../native/index.js';
import { type Cell, type Grid, HEX, SQUARE, shapesOf } from '../../features/analytics/grids.js';
import type { FeatureTable } from '../table.js';

const CRS84 = 'OGC:CRS84';

export const gridOf = (shape: 'square' | 'hexagon'): Grid => (shape === 'hexagon' ? HEX : SQUARE);

/** Names a cell in its grid. */
export const cellId = ({ column, row }: Cell) => `${column}_${row}`;

/** Throws `invalid-input` unless all columns and rows lie between a bound and its negative, both left out. */
export function checkCells(columnsAndRows: readonly number[], bound: number): void {
  if (columnsAndRows.every((number) => Math.abs(number) < bound)) return;
  throw new TaskFailure('invalid-input', 'cellSize: the cells are too small for where the features lie.');
}

/** A GeoPackage blob of GeoJSON text whose coordinates are those of the table. */
export function blobOf(geojson: string, { srsId }: FeatureTable): Uint8Array {
  return wkbToGeoPackage(geojsonToWkb(geojson, { from: CRS84, to: CRS84 }), srsId);
}

/** A cell in the plane of the table. */
export function planeCell({ column, row }: Cell, grid: Grid, side: number, table: FeatureTable): Uint8Array {
  const corners = grid.cornersOf(column, row, side);
  return blobOf(JSON.stringify({ type: 'Polygon', coordinates: [[...corners, corners[0]!]] }), table);
}

/** Cells of a plane of metres in a table of longitudes and latitudes. */
export function groundCells(
  cells: readonly Cell[],
  { grid, side, plane }: { grid: Grid; side: number; plane: string },
  table: FeatureTable,
): Uint8Array[] {
  return shapesOf(cells, grid, side, plane).map((shape) => blobOf(shape, table));
}
