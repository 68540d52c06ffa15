import { TaskFailure } from '../../../core/errors/failure.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../../native/index.js';
import { type Cell, type CellGrid, HEX, SQUARE, writeCellShapes } from '../../features/analytics/grids.js';
import type { FeatureTable } from '../table.js';

const CRS84 = 'OGC:CRS84';

export const getCellGrid = (shape: 'square' | 'hexagon'): CellGrid => (shape === 'hexagon' ? HEX : SQUARE);

/** Names a cell in its grid. */
export const cellId = ({ column, row }: Cell) => `${column}_${row}`;

/** Throws `invalid-input` unless all columns and rows are between a limit and its negative, both excluded. */
export function checkCells(columnsAndRows: readonly number[], bound: number): void {
  if (columnsAndRows.every((number) => Math.abs(number) < bound)) return;
  throw new TaskFailure(
    'invalid-input',
    'cellSize: the cells are too small for the coordinates of the features. Use a larger size.',
  );
}

/** Returns a GeoPackage blob of GeoJSON text whose coordinates are in the table's CRS. */
export function writeCellBlob(geojson: string, { srsId }: FeatureTable): Uint8Array {
  return wkbToGeoPackage(geojsonToWkb(geojson, { from: CRS84, to: CRS84 }), srsId);
}

/** A cell in the plane of the table. */
export function planeCell(
  { column, row }: Cell,
  grid: CellGrid,
  side: number,
  table: FeatureTable,
): Uint8Array {
  const corners = grid.cornersOf(column, row, side);
  return writeCellBlob(JSON.stringify({ type: 'Polygon', coordinates: [[...corners, corners[0]!]] }), table);
}

/** Cells of a plane of metres in a table of longitudes and latitudes. */
export function groundCells(
  cells: readonly Cell[],
  { grid, side, plane }: { grid: CellGrid; side: number; plane: string },
  table: FeatureTable,
): Uint8Array[] {
  return writeCellShapes(cells, grid, side, plane).map((shape) => writeCellBlob(shape, table));
}
