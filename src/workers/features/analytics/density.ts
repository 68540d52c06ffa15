import type { AnalyticsResult, DensityTask } from '../../../core/features/analytics.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { feature, joinFeatureTexts } from './features.js';
import { type Cell, type CellGrid, HEX, SQUARE, WORLD_PLANE, writeCellShapes } from './grids.js';
import { indexColumns, located, readInput } from './input.js';
import { localPlane, projectPositions } from './plane.js';

interface CountedCell extends Cell {
  count: number;
  weight: number;
}

/**
 * A feature per cell that is not empty: `cellId`, `featureCount` and, with a weight field, `weight`. Cells have `cellSize`
 * metres a side, in a transverse Mercator plane around the data or, where that is wider than 8 degrees, in EPSG:6933. The
 * fullest cells where there are too many.
 */
export async function computeDensityCells(
  task: DensityTask,
  cancellation?: Cancellation,
): Promise<AnalyticsResult> {
  const { fields, at } = indexColumns(task.weight === undefined ? [] : [task.weight]);
  const input = await readInput(task, fields, cancellation);
  const { rows, positions } = located(input.rows, task.source.crs);
  const plane = localPlane(positions) ?? WORLD_PLANE;
  const grid = task.mode === 'hex' ? HEX : SQUARE;
  const weights =
    task.weight === undefined ? undefined : rows.map((row) => Number(row.values[at(task.weight!)] ?? 0));
  const cells = countCells(projectPositions(positions, plane), grid, task.cellSize, weights);
  const densest = cells.sort((a, b) => b.count - a.count || a.column - b.column || a.row - b.row);
  const resultTruncated = densest.length > FEATURE_LIMITS.densityCells;
  if (resultTruncated) densest.length = FEATURE_LIMITS.densityCells;
  const shapes = writeCellShapes(densest, grid, task.cellSize, plane);
  const features = densest.map(({ column, row, count, weight }, i) =>
    feature(shapes[i]!, {
      cellId: `${column}_${row}`,
      featureCount: count,
      ...(weights ? { weight } : {}),
    }),
  );
  return {
    features: joinFeatureTexts(features),
    returned: features.length,
    inputTruncated: input.truncated,
    resultTruncated,
  };
}

function countCells(
  points: Float64Array,
  grid: CellGrid,
  side: number,
  weights: readonly number[] | undefined,
): CountedCell[] {
  const cells = new Map<string, CountedCell>();
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
