import { TaskFailure } from '../../../core/errors/failure.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { type Cell, type CellGrid, WORLD_PLANE } from '../../features/analytics/grids.js';
import { localPlane, projectPositions } from '../../features/analytics/plane.js';
import { Centroids, numberAt } from '../places.js';
import type { ProcessRun } from '../run.js';
import { FeatureTable } from '../table.js';
import { cellId, checkCells, getCellGrid, groundCells, planeCell } from './cells.js';

type Density = Extract<FeatureProcess, { kind: 'density' }>;

const CRS84 = 'OGC:CRS84';
const BATCH = 1000;

interface DenseCell extends Cell {
  density: number;
}

/**
 * Writes a feature for each cell that is not empty, with the density at its centre. The density is the number or
 * weight of features per square unit of length, spread by the quartic kernel (Silverman 1986, 4.5). Over the ground,
 * the plane is a transverse Mercator projection around the data, or EPSG:6933 if the data is wider than 8 degrees.
 */
export async function computeDensity(run: ProcessRun, process: Density): Promise<number> {
  const { input, output } = run.task;
  const { measure, side, shape } = process;
  const places = await loadPlaces(run, process);
  const positions = places.positions();
  const plane = measure.ground ? (localPlane(positions) ?? WORLD_PLANE) : undefined;
  const grid = getCellGrid(shape);
  const points = plane ? projectPositions(positions, plane) : positions;
  const cells = spread(run, points, places.values(), grid, process);
  const table = FeatureTable.create(output, plane ? CRS84 : input.source.crs, [
    { name: 'cellId', type: 'string' },
    { name: 'density', type: 'number' },
  ]);
  try {
    for (let start = 0; start < cells.length; start += BATCH) {
      run.cancellation?.check();
      const part = cells.slice(start, start + BATCH);
      const shapes = plane
        ? groundCells(part, { grid, side, plane }, table)
        : part.map((cell) => planeCell(cell, grid, side, table));
      for (const [i, cell] of part.entries())
        table.add(shapes[i]!, [cellId(cell), cell.density * measure.perUnit ** 2]);
    }
    return table.finish();
  } finally {
    table.abandon();
  }
}

async function loadPlaces(run: ProcessRun, { measure, weight }: Density): Promise<Centroids> {
  const { input } = run.task;
  const places = new Centroids(input.source.crs, measure.ground);
  const at = weight === undefined ? -1 : input.fields.indexOf(weight);
  for await (const rows of run.rows(input)) {
    places.add(rows, (row) => (weight === undefined ? 1 : numberAt(row, at)));
  }
  return places;
}

/** Maximum distance of columns and rows of a grid from 0, so that a number can identify each cell. */
const HALF = 2 ** 25;

function spread(
  run: ProcessRun,
  points: Float64Array,
  weights: Float64Array,
  grid: CellGrid,
  { side, radius }: Density,
): DenseCell[] {
  const densities = new Map<number, number>();
  const square = radius * radius;
  for (let i = 0; i < weights.length; i++) {
    const [x, y] = [points[2 * i]!, points[2 * i + 1]!];
    // The equal-area plane has no poles.
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    const scale = (3 * weights[i]!) / (Math.PI * square);
    const [firstColumn, lastColumn] = grid.columns(x - radius, x + radius, side);
    for (let column = firstColumn; column <= lastColumn; column++) {
      const [first, last] = grid.rows(y - radius, y + radius, column, side);
      checkCells([firstColumn, lastColumn, first, last], HALF);
      checkCount(run, Math.max(densities.size, last - first));
      for (let row = first; row <= last; row++) {
        const [cx, cy] = grid.centreOf(column, row, side);
        const rest = 1 - ((cx - x) ** 2 + (cy - y) ** 2) / square;
        if (rest <= 0) continue;
        const key = (column + HALF) * 2 * HALF + row + HALF;
        densities.set(key, (densities.get(key) ?? 0) + scale * rest * rest);
      }
    }
  }
  checkCount(run, densities.size);
  return [...densities].map(([key, density]) => ({
    column: Math.floor(key / (2 * HALF)) - HALF,
    row: (key % (2 * HALF)) - HALF,
    density,
  }));
}

function checkCount({ cancellation }: ProcessRun, cells: number): void {
  cancellation?.check();
  if (cells > PROCESS_LIMITS.processCells)
    throw new TaskFailure(
      'too-large',
      `There are more than ${PROCESS_LIMITS.processCells} cells. Use larger ones.`,
    );
}
