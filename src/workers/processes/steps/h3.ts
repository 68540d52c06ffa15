import { TaskFailure } from '../../../core/errors/failure.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { h3Polygons } from '../../../native/analytics.js';
import { addBatch } from '../../features/analytics/h3.js';
import { located } from '../../features/analytics/input.js';
import type { StatisticsGroup } from '../../features/analytics/statistics.js';
import type { ProcessRun } from '../run.js';
import { FeatureTable } from '../table.js';
import { writeCellBlob } from './cells.js';
import { mostGroups } from './groups.js';
import { statisticAttributes } from './statistics.js';

type H3 = Extract<FeatureProcess, { kind: 'h3' }>;

const BATCH = 1000;

/**
 * Writes a feature for each H3 cell that contains centroids, in the order of the index, with their number and
 * statistics.
 */
export async function h3Aggregate(run: ProcessRun, { resolution, statistics }: H3): Promise<number> {
  const { input, output } = run.task;
  const groups = await loadGroups(run, { resolution, statistics });
  const table = FeatureTable.create(output, 'OGC:CRS84', [
    { name: 'h3', type: 'string' },
    { name: 'featureCount', type: 'integer' },
    ...statisticAttributes(input.source, statistics),
  ]);
  const cells = BigUint64Array.from(groups.keys()).sort();
  try {
    for (let start = 0; start < cells.length; start += BATCH) {
      run.cancellation?.check();
      const part = cells.slice(start, start + BATCH);
      for (const [i, polygon] of h3Polygons(part).entries()) {
        const group = groups.get(part[i]!)!;
        const numbers = group.properties();
        const values = statistics.map(({ name }) => numbers[name]);
        table.add(writeCellBlob(polygon, table), [part[i]!.toString(16), group.count, ...values]);
      }
    }
    return table.finish();
  } finally {
    table.abandon();
  }
}

async function loadGroups(
  run: ProcessRun,
  { resolution, statistics }: Pick<H3, 'resolution' | 'statistics'>,
): Promise<Map<bigint, StatisticsGroup>> {
  const { input } = run.task;
  const groups = new Map<bigint, StatisticsGroup>();
  const most = mostGroups(PROCESS_LIMITS.processCells, statistics.length);
  for await (const rows of run.rows(input)) {
    addBatch(groups, located(rows, input.source.crs), resolution, statistics, (name) =>
      input.fields.indexOf(name),
    );
    if (groups.size > most)
      throw new TaskFailure('too-large', `There are more than ${most} cells. Choose a coarser resolution.`);
  }
  return groups;
}
