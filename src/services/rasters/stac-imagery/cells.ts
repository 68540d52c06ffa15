import { type Box, commonBox, plainBoxes } from '../../../core/geometry/box.js';

/** Maximum level of cells, at which they have their minimum size. All smaller windows share these cells. */
const MAX_LEVEL = 10;

/**
 * Cells of a grid that cover the part of a window within an area, clipped to the area. There are at most four cells
 * if neither crosses the antimeridian. The world's sides are halved while a cell is at least as large as the window.
 * Nearby windows have the same cells.
 */
export function listCoveringCells(window: Box, area: Box = WORLD): Box[] {
  return plainBoxes(area).flatMap((part) => {
    const cutAt = (boxes: readonly Box[]) =>
      boxes.map((box) => commonBox(box, part)).filter((box) => box !== undefined);
    return cutAt(cutAt(plainBoxes(onGlobe(window))).flatMap(gridCells));
  });
}

const WORLD: Box = [-180, -90, 180, 90];

/** A window that continues beyond the antimeridian, as a box that crosses it. */
function onGlobe([west, south, east, north]: Box): Box {
  if (west >= -180 && east <= 180) return [west, south, east, north];
  if (east - west >= 360) return [-180, south, 180, north];
  const [left, right] = [turned(west), turned(east)];
  return [left, south, right === -180 ? 180 : right, north];
}

/** From -180 to 180. */
const turned = (longitude: number) => longitude - 360 * Math.floor((longitude + 180) / 360);

function gridCells([west, south, east, north]: Box): Box[] {
  const side = Math.max(east - west, north - south);
  const level = Math.min(MAX_LEVEL, Math.max(0, Math.floor(Math.log2(360 / Math.max(side, 1e-9)))));
  const size = 360 / 2 ** level;
  const columns = cellRange(west + 180, east + 180, { size, most: 360 });
  const rows = cellRange(south + 90, north + 90, { size, most: 180 });
  return rows.flatMap((row) =>
    columns.map((column): Box => {
      const [x, y] = [column * size - 180, row * size - 90];
      return [x, y, x + size, y + size];
    }),
  );
}

/** Numbers of the cells between two places; one that only touches at its end is not among them. */
function cellRange(low: number, high: number, { size, most }: { size: number; most: number }): number[] {
  const first = Math.min(Math.ceil(most / size) - 1, Math.floor(low / size));
  const last = Math.max(first, Math.ceil(high / size) - 1);
  return Array.from({ length: Math.min(2, last - first + 1) }, (_, i) => first + i);
}
