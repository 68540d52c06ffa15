import type { FeatureRow } from '../../../core/features/features.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { distanceMatrix } from '../../../native/proximity.js';
import { getIdType, listGeometries, type ProcessRun, tooManyPairs } from '../run.js';
import { FeatureTable } from '../table.js';
import { type IndexedCopy, indexedCopy, removeCopy } from './copy.js';

type Distances = Extract<FeatureProcess, { kind: 'distances' }>;

/** Rows of the input whose distances are measured between two checks of the cancellation. */
const STEP = 64;
const ID = 'id';

/** A feature without geometry for each pair: both ids, and the distance. */
export async function computeDistances(run: ProcessRun, process: Distances): Promise<number> {
  const { input, overlay, output } = run.task;
  const { crs } = input.source;
  const paths = { left: `${output}.left`, right: `${output}.right` };
  const table = FeatureTable.create(output, crs, [
    { name: 'inputId', type: getIdType(input.source) },
    { name: 'targetId', type: getIdType(overlay!.source) },
    { name: 'distance', type: 'number' },
  ]);
  try {
    // Two readings at a time would take two connections of a database, and the copies have an order.
    const left = await indexedCopy(run, input, crs, paths.left, ID);
    const right = await indexedCopy(run, { ...overlay!, fields: [] }, crs, paths.right, ID);
    if (left.count * right.count > PROCESS_LIMITS.processPairs) throw tooManyPairs();
    await fill(run, process, left, right, table);
    return table.finish();
  } finally {
    table.abandon();
    for (const path of Object.values(paths)) removeCopy(path);
  }
}

async function fill(
  run: ProcessRun,
  { measure }: Distances,
  left: IndexedCopy,
  right: IndexedCopy,
  table: FeatureTable,
): Promise<void> {
  const { crs } = left.source;
  const buildSide = (rows: readonly FeatureRow[]) => ({ blobs: listGeometries(rows), crs });
  for await (const batch of run.rows(left)) {
    for (let start = 0; start < batch.length; start += STEP) {
      const rows = batch.slice(start, start + STEP);
      for await (const targets of run.rows(right)) {
        const distances = distanceMatrix(buildSide(rows), buildSide(targets), measure.ground);
        for (const [i, distance] of distances.entries()) {
          const row = rows[Math.floor(i / targets.length)]!;
          const target = targets[i % targets.length]!;
          if (!Number.isNaN(distance))
            table.add(null, [row.values[0], target.values[0], distance / measure.perUnit]);
        }
      }
    }
  }
}
