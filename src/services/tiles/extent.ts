import type { Box } from '../../core/geometry/box.js';
import { around, commonBox, plainBoxes } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { REGISTERED_SETS } from '../../core/tiles/tile-matrix/registry.js';
import {
  type MatrixSets,
  type TileLimits,
  type TileMatrixSet,
  tileLimits,
} from '../../core/tiles/tile-matrix.js';
import { describeCrs, transformBox } from '../../native/index.js';

/** Extents in tile matrix sets of any CRS. Boxes in CRS84 can cross the antimeridian (west > east). */

const WORLD: Box = [-180, -90, 180, 90];

/** The area of use of a CRS, in CRS84. The world if PROJ does not know it. */
function areaOfUse(crs: Crs): Box {
  return describeCrs(crs.proj).areaOfUse ?? WORLD;
}

/** Computes the areas of use of all sets in advance, because PROJ takes too long for that during a request. */
export function readAreas({ all }: MatrixSets): void {
  for (const { crs } of all) areaOfUse(crs);
}

/**
 * The extent in the CRS of a set that contains an extent in CRS84, x,y ordered. It is clipped to the area of use of
 * the CRS if parts cannot be transformed, such as the poles in Mercator. Undefined if no part remains.
 */
export function extentInSet({ crs }: TileMatrixSet, extent84: Box): Box | undefined {
  return aroundAll(plainBoxes(extent84).map((box) => image(box, crs)));
}

function image(box: Box, crs: Crs): Box | undefined {
  const whole = transformed(box, crs);
  if (whole) return whole;
  const parts = plainBoxes(areaOfUse(crs)).map((area) => commonBox(box, area));
  return aroundAll(parts.map((part) => part && transformed(part, crs)));
}

function transformed(box: Box, crs: Crs): Box | undefined {
  if (crs.geographic && crs.epsg === 4326) return box;
  try {
    const [minx, miny, maxx, maxy] = transformBox(box, 'OGC:CRS84', crs.proj);
    if (![minx, miny, maxx, maxy].every(Number.isFinite)) return undefined;
    return minx > maxx ? [-180, miny, 180, maxy] : [minx, miny, maxx, maxy];
  } catch {
    return undefined;
  }
}

function aroundAll(boxes: readonly (Box | undefined)[]): Box | undefined {
  const stated = boxes.filter((box) => box !== undefined);
  return stated.length === 0 ? undefined : stated.reduce(around);
}

/** Part of a tile by which features, as lines and symbols, may reach over the place where they are. */
const REACH = 1 / 16;

/**
 * `tileMatrixSetLimits` of data with this extent, for the matrices with these indexes. With features, the limits
 * include a margin for their symbols.
 */
export function limitsIn(
  set: TileMatrixSet,
  zooms: readonly number[],
  extent84: Box,
  features: boolean,
): TileLimits[] {
  const extent = extentInSet(set, extent84);
  if (!extent) return [];
  return zooms
    .map((zoom) => tileLimits(set, zoom, features ? widened(extent, set, zoom) : extent))
    .filter((limits) => limits !== undefined);
}

function widened([minx, miny, maxx, maxy]: Box, { matrices }: TileMatrixSet, zoom: number): Box {
  const { tileWidth, tileHeight, cellSize } = matrices[zoom]!;
  const [dx, dy] = [REACH * tileWidth * cellSize, REACH * tileHeight * cellSize];
  return [minx - dx, miny - dy, maxx + dx, maxy + dy];
}

/** Minimum share of an extent within the area of use of a CRS. */
const SUITABLE = 0.25;

/**
 * The sets whose CRS is suitable for the extent, and the sets of the configuration. All sets if the data has no
 * extent.
 */
export function setsFor(extent84: Box | undefined, { all }: MatrixSets): readonly TileMatrixSet[] {
  if (!extent84) return all;
  return all.filter(
    (set) => !REGISTERED_SETS.includes(set) || covered(extent84, areaOfUse(set.crs)) >= SUITABLE,
  );
}

/** Share of an extent, 0 to 1, within an area. */
function covered(extent84: Box, area: Box): number {
  const boxes = plainBoxes(extent84);
  const parts = boxes.flatMap((box) => plainBoxes(area).map((one) => commonBox(box, one)));
  const size = (all: readonly (Box | undefined)[]) =>
    all.reduce((sum, box) => sum + (box ? (box[2] - box[0]) * (box[3] - box[1]) : 0), 0);
  const whole = size(boxes);
  // A single point, or points in a line, have no area.
  return whole > 0 ? size(parts) / whole : Number(parts.some((part) => part !== undefined));
}
