import type { Box } from '../../geometry/box.js';
import type { Crs } from '../../geometry/crs.js';

/** Two-dimensional tile matrix sets (OGC 17-083r4, clause 6): their model, and what follows from it. */

/** Rows whose tiles are merged in groups of `coalesce` columns (17-083r4, 6.1.1.5). */
export interface VariableWidth {
  readonly coalesce: number;
  readonly minTileRow: number;
  readonly maxTileRow: number;
}

/** One scale of a tile matrix set. */
export interface TileMatrix {
  readonly id: string;
  readonly scaleDenominator: number;
  /** Side of a cell (pixel) in units of the CRS. */
  readonly cellSize: number;
  readonly cornerOfOrigin: 'topLeft' | 'bottomLeft';
  /** The corner of origin, x,y ordered whatever the axis order of the CRS is. */
  readonly origin: readonly [number, number];
  /** Cells of a tile. */
  readonly tileWidth: number;
  readonly tileHeight: number;
  /** Tiles of the matrix. */
  readonly matrixWidth: number;
  readonly matrixHeight: number;
  /** Empty where all rows have `matrixWidth` tiles. */
  readonly variableWidths: readonly VariableWidth[];
  /** The matrix of WebMercatorQuad whose scale is nearest: what a zoom level of the settings means here. */
  readonly level: number;
}

export interface TileMatrixSet {
  readonly id: string;
  /** Names this very definition: `id`, and for sets of the configuration a hash. */
  readonly key: string;
  readonly title: string;
  /** Absent for sets that no authority defines. */
  readonly uri?: string | undefined;
  readonly wellKnownScaleSet?: string;
  readonly crs: Crs;
  /** The member `crs` of the definition. */
  readonly crsDocument: string | object;
  /** Names of the axes in the order of the CRS. */
  readonly orderedAxes: readonly string[];
  /** From the smallest scale to the largest. A place in this list is the `zoom` of the functions below. */
  readonly matrices: readonly TileMatrix[];
  /** Places in `matrices` by identifier. */
  readonly places: ReadonlyMap<string, number>;
}

/** The standard's pixel: 0.28 mm. */
export const PIXEL_METRES = 0.00028;
/** Metres per degree on the WGS 84 equator, as the standard fixes it. */
export const METRES_PER_DEGREE = (6378137 * Math.PI) / 180;
const WEB_MERCATOR_SCALE = 559082264.0287178;

/** The zoom of WebMercatorQuad that comes nearest to a scale; negative below its first. */
export function scaleToLevel(scaleDenominator: number): number {
  return Math.round(Math.log2(WEB_MERCATOR_SCALE / scaleDenominator));
}

/** Place of a matrix by its identifier, or undefined when the set has no such matrix. */
export function findMatrixLevel(set: TileMatrixSet, tileMatrix: string): number | undefined {
  return set.places.get(tileMatrix);
}

export function matrixSize(set: TileMatrixSet, zoom: number): { columns: number; rows: number } {
  const { matrixWidth, matrixHeight } = set.matrices[zoom]!;
  return { columns: matrixWidth, rows: matrixHeight };
}

/**
 * The first of the columns that name one tile: all `c` columns of a coalesced tile are the same tile
 * (17-083r4, 6.1.1.5).
 */
export function firstColumn(matrix: TileMatrix, row: number, column: number): number {
  return column - (column % coalescence(matrix, row));
}

/** The last of the columns that name the tile of which this one is the first. */
export function lastColumn(matrix: TileMatrix, row: number, first: number): number {
  return first + coalescence(matrix, row) - 1;
}

function coalescence({ variableWidths }: TileMatrix, row: number): number {
  for (const { coalesce, minTileRow, maxTileRow } of variableWidths) {
    if (row >= minTileRow && row <= maxTileRow) return coalesce;
  }
  return 1;
}

/** Extent of a tile in the set's CRS, x,y ordered. */
export function tileBox(set: TileMatrixSet, zoom: number, row: number, column: number): Box {
  const matrix = set.matrices[zoom]!;
  const [x, y] = matrix.origin;
  const merged = coalescence(matrix, row);
  const width = matrix.tileWidth * matrix.cellSize;
  const height = matrix.tileHeight * matrix.cellSize;
  const minx = x + (column - (column % merged)) * width;
  const maxy = matrix.cornerOfOrigin === 'topLeft' ? y - row * height : y + (row + 1) * height;
  return [minx, maxy - height, minx + width * merged, maxy];
}

/** Extent of a whole matrix in the set's CRS, x,y ordered. */
export function matrixBox({ matrices }: TileMatrixSet, zoom: number): Box {
  const matrix = matrices[zoom]!;
  const [x, y] = matrix.origin;
  const width = matrix.tileWidth * matrix.cellSize * matrix.matrixWidth;
  const height = matrix.tileHeight * matrix.cellSize * matrix.matrixHeight;
  const miny = matrix.cornerOfOrigin === 'topLeft' ? y - height : y;
  return [x, miny, x + width, miny + height];
}

/** A member of `tileMatrixSetLimits` (17-083r4, 6.3). */
export interface TileLimits {
  tileMatrix: string;
  minTileRow: number;
  maxTileRow: number;
  minTileCol: number;
  maxTileCol: number;
}

/** Range of tiles that an extent (in the set's CRS, x,y ordered) touches; undefined when it touches none. */
export function tileLimits(set: TileMatrixSet, zoom: number, extent: Box): TileLimits | undefined {
  const matrix = set.matrices[zoom]!;
  const [minx, miny, maxx, maxy] = matrixBox(set, zoom);
  if (extent[0] > maxx || extent[2] < minx || extent[1] > maxy || extent[3] < miny) return undefined;
  const width = matrix.tileWidth * matrix.cellSize;
  const height = matrix.tileHeight * matrix.cellSize;
  const top = matrix.cornerOfOrigin === 'topLeft';
  const clamp = (value: number, count: number) => Math.min(Math.max(Math.floor(value), 0), count - 1);
  return {
    tileMatrix: matrix.id,
    minTileRow: clamp((top ? maxy - extent[3] : extent[1] - miny) / height, matrix.matrixHeight),
    maxTileRow: clamp((top ? maxy - extent[1] : extent[3] - miny) / height, matrix.matrixHeight),
    minTileCol: clamp((extent[0] - minx) / width, matrix.matrixWidth),
    maxTileCol: clamp((extent[2] - minx) / width, matrix.matrixWidth),
  };
}
