import type { AnalyticsResult, DensityTask } from '../../../core/analytics.js';
import { LIMITS } from '../../../core/limits.js';
import { ringsToGeoJson } from '../../../native/analytics.js';
import { transformPoints } from '../../../native/index.js';
import type { Cancellation } from '../../cancellation.js';
import { feature, joined } from './features.js';
import { columnsOf, located, readInput } from './input.js';
import { inPlane, localPlane } from './plane.js';

/** World-wide data is counted in equal-area cells (EPSG:6933): areas are true everywhere, shapes near 30 degrees. */
const WORLD_PLANE = 'EPSG:6933';
const CRS84 = 'OGC:CRS84';

interface Cell {
  column: number;
  row: number;
  count: number;
  weight: number;
}

/** A way to part the plane into cells of a given side. */
interface Grid {
  cellOf(x: number, y: number, side: number): [column: number, row: number];
  cornersOf(column: number, row: number, side: number): [x: number, y: number][];
}

const SQUARE: Grid = {
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
};

const ROOT3 = Math.sqrt(3);

/** Flat-topped hexagons in axial coordinates: the centre of a cell is side * (3/2 q, sqrt3 (q/2 + r)). */
const HEX: Grid = {
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
    const [x, y] = [1.5 * side * column, ROOT3 * side * (column / 2 + row)];
    return Array.from({ length: 6 }, (_, i) => {
      const angle = (Math.PI / 3) * i;
      return [x + side * Math.cos(angle), y + side * Math.sin(angle)];
    });
  },
};

/**
 * A feature per cell that is not empty: `cellId`, `featureCount` and, with a weight field, `weight`. Cells have `cellSize`
 * metres a side, in a transverse Mercator plane around the data or, where that is wider than 8 degrees, in EPSG:6933. The
 * fullest cells where there are too many.
 */
export async function density(task: DensityTask, cancellation?: Cancellation): Promise<AnalyticsResult> {
  const { fields, at } = columnsOf(task.weight === undefined ? [] : [task.weight]);
  const input = await readInput(task, fields, cancellation);
  const { rows, positions } = located(input.rows, task.source.crs);
  const plane = localPlane(positions) ?? WORLD_PLANE;
  const grid = task.mode === 'hex' ? HEX : SQUARE;
  const weights =
    task.weight === undefined ? undefined : rows.map((row) => Number(row.values[at(task.weight!)] ?? 0));
  const cells = countCells(inPlane(positions, plane), grid, task.cellSize, weights);
  const densest = cells.sort((a, b) => b.count - a.count || a.column - b.column || a.row - b.row);
  const resultTruncated = densest.length > LIMITS.densityCells;
  if (resultTruncated) densest.length = LIMITS.densityCells;
  const shapes = shapesOf(densest, grid, task.cellSize, plane);
  const features = densest.map(({ column, row, count, weight }, i) =>
    feature(shapes[i]!, {
      cellId: `${column}_${row}`,
      featureCount: count,
      ...(weights ? { weight } : {}),
    }),
  );
  return {
    features: joined(features),
    returned: features.length,
    inputTruncated: input.truncated,
    resultTruncated,
  };
}

function countCells(
  points: Float64Array,
  grid: Grid,
  side: number,
  weights: readonly number[] | undefined,
): Cell[] {
  const cells = new Map<string, Cell>();
  for (let i = 0; i < points.length / 2; i++) {
    const [x, y] = [points[2 * i]!, points[2 * i + 1]!];
    // The equal-area plane has no poles.
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    const [column, row] = grid.cellOf(x, y, side);
    const key = `${column}_${row}`;
    let cell = cells.get(key);
    if (!cell) cells.set(key, (cell = { column, row, count: 0, weight: 0 }));
    cell.count++;
    const weight = weights?.[i] ?? 0;
    if (Number.isFinite(weight)) cell.weight += weight;
  }
  return [...cells.values()];
}

/** Northings where the equal-area plane ends at the poles. */
const WORLD_TOP = 7_314_540.8;

function shapesOf(cells: readonly Cell[], grid: Grid, side: number, plane: string): string[] {
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
