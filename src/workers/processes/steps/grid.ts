import { TaskFailure } from '../../../core/errors/failure.js';
import { around, type Box } from '../../../core/geometry/box.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { processGeometries } from '../../../native/processing.js';
import type { Cell, CellGrid } from '../../features/analytics/grids.js';
import { computeGeometriesBox, listGeometries, type ProcessRun } from '../run.js';
import { FeatureTable } from '../table.js';
import { cellId, checkCells, getCellGrid, planeCell } from './cells.js';

type GridProcess = Extract<FeatureProcess, { kind: 'grid' }>;

/** The cells of a grid that share area with the box around all features. */
export async function createGridCells(run: ProcessRun, { shape, side }: GridProcess): Promise<number> {
  const { input, output } = run.task;
  const box = await findExtent(run);
  const grid = getCellGrid(shape);
  const table = FeatureTable.create(output, input.source.crs, [
    { name: 'cellId', type: 'string' },
    { name: 'column', type: 'integer' },
    { name: 'row', type: 'integer' },
  ]);
  try {
    for (const cell of box ? cellsOver(box, grid, side) : []) {
      if (table.features % LOOK_EVERY === 0) run.cancellation?.check();
      table.add(planeCell(cell, grid, side, table), [cellId(cell), cell.column, cell.row]);
    }
    return table.finish();
  } finally {
    table.abandon();
  }
}

const LOOK_EVERY = 1000;

async function findExtent(run: ProcessRun): Promise<Box | undefined> {
  const { input } = run.task;
  const { crs } = input.source;
  let extent: Box | undefined;
  for await (const rows of run.rows(input)) {
    const boxes = processGeometries(listGeometries(rows), { name: 'none' }, { crs, target: crs, srsId: 0 });
    const box = computeGeometriesBox(
      boxes.map((result, i) => ({ geometry: run.take(result, rows[i]!.id) ?? null })),
    );
    if (box) extent = extent ? around(extent, box) : box;
  }
  return extent;
}

/** Beyond it corners are not exact to a millionth of a side, and further out numbers have no successors. */
const BOUND = 2 ** 31;

function* cellsOver(box: Box, grid: CellGrid, side: number): Iterable<Cell> {
  const [west, south, east, north] = box;
  // Cells reach less than two sides from their centres.
  const margin = 2 * side;
  const cells = ((east - west + margin) * (north - south + margin)) / grid.areaOf(side);
  if (!(cells <= PROCESS_LIMITS.processCells))
    throw new TaskFailure('too-large', `The grid would have more than ${PROCESS_LIMITS.processCells} cells.`);
  const [firstColumn, lastColumn] = grid.columns(west - margin, east + margin, side);
  for (let column = firstColumn; column <= lastColumn; column++) {
    const [first, last] = grid.rows(south - margin, north + margin, column, side);
    checkCells([firstColumn, lastColumn, first, last], BOUND);
    for (let row = first; row <= last; row++)
      if (overlaps(grid.cornersOf(column, row, side), box, side)) yield { column, row };
  }
}

/** Part of a side by which areas overlap at least: sums of sides are not exact. */
const ROUNDING = 1e-9;
const AXES = [
  [1, 0],
  [0, 1],
  [Math.sqrt(3) / 2, 0.5],
  [Math.sqrt(3) / 2, -0.5],
] as const;

/** Whether a cell and a box overlap: they do unless a line parallel to one of their sides parts them. */
function overlaps(cell: readonly (readonly [number, number])[], [w, s, e, n]: Box, side: number): boolean {
  const box = [
    [w, s],
    [e, s],
    [e, n],
    [w, n],
  ] as const;
  // A point, or a line along an axis, has no width there: then touching is enough.
  return AXES.every(([x, y]) => {
    const shadow = (corners: readonly (readonly [number, number])[]) =>
      corners.map(([cx, cy]) => cx * x + cy * y);
    const [ours, theirs] = [shadow(cell), shadow(box)];
    const [low, high] = [
      Math.max(Math.min(...ours), Math.min(...theirs)),
      Math.min(Math.max(...ours), Math.max(...theirs)),
    ];
    const isFlat = Math.max(...theirs) === Math.min(...theirs);
    return isFlat ? high >= low : high - low > ROUNDING * side;
  });
}
