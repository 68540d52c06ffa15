import type { Box } from '../../../core/geometry/box.js';
import { around, commonBox, plainBoxes, uncrossed } from '../../../core/geometry/box.js';
import { matrixSize, type TileMatrixSet, tileLimits } from '../../../core/tiles/tile-matrix.js';
import { extentInSet } from '../extent.js';

/** Rows and columns of one zoom, bounds included. */
export interface TileRange {
  minRow: number;
  maxRow: number;
  minColumn: number;
  maxColumn: number;
}

/** The ranges of tiles that an area in CRS84 touches at a zoom: two where it crosses the antimeridian, none repeated. */
export function computeTileRanges(set: TileMatrixSet, zoom: number, area84: Box): TileRange[] {
  // In a CRS other than longitudes and latitudes, the two parts can be anywhere, so all columns are included.
  const [first, second] = plainBoxes(area84).flatMap((part) => findRange(set, zoom, part));
  if (!first || !second) return first ? [first] : [];
  const areDisjoint = first.minColumn > second.maxColumn;
  if (areDisjoint) return [second, first];
  const minRow = Math.min(first.minRow, second.minRow);
  const maxRow = Math.max(first.maxRow, second.maxRow);
  return [{ minRow, maxRow, minColumn: 0, maxColumn: matrixSize(set, zoom).columns - 1 }];
}

function findRange(set: TileMatrixSet, zoom: number, area84: Box): TileRange[] {
  const extent = extentInSet(set, area84);
  const limits = extent && tileLimits(set, zoom, extent);
  if (!limits) return [];
  return [
    {
      minRow: limits.minTileRow,
      maxRow: limits.maxTileRow,
      minColumn: limits.minTileCol,
      maxColumn: limits.maxTileCol,
    },
  ];
}

/** The intersection of two areas in CRS84. Undefined if they do not intersect; if one of them crosses the antimeridian, only their latitudes are compared. */
export function intersection(a: Box, b: Box): Box | undefined {
  const south = Math.max(a[1], b[1]);
  const north = Math.min(a[3], b[3]);
  if (south > north) return undefined;
  // Across the antimeridian the intersection can be two boxes. The longitudes of the narrower area then represent it.
  if (a[0] > a[2] || b[0] > b[2]) {
    const narrower = width(a) <= width(b) ? a : b;
    return [narrower[0], south, narrower[2], north];
  }
  return commonBox(a, b);
}

function width([west, , east]: Box): number {
  return west <= east ? east - west : 360 - west + east;
}

/** The area that contains both. All longitudes if one of them crosses the antimeridian. */
export function union(a: Box | undefined, b: Box | undefined): Box | undefined {
  if (!a || !b) return a ?? b;
  return around(uncrossed(a), uncrossed(b));
}

export function countRangeTiles(ranges: readonly TileRange[]): number {
  return ranges.reduce(
    (sum, { minRow, maxRow, minColumn, maxColumn }) =>
      sum + (maxRow - minRow + 1) * (maxColumn - minColumn + 1),
    0,
  );
}
