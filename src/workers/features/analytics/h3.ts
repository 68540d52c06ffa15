import { TaskFailure } from '../../../core/errors/failure.js';
import type { AnalyticsResult, H3Task, Statistic } from '../../../core/features/analytics.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import { h3Cells, h3Polygons } from '../../../native/analytics.js';
import { getFeatureStore } from '../../providers/store.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { feature, joinFeatureTexts } from './features.js';
import { indexColumns, located, readDecimals } from './input.js';
import { StatisticsGroup } from './statistics.js';

/**
 * Returns a feature per H3 cell with `h3` (the index in hexadecimal), `count` and the statistics, in the order of the
 * index. The response has no member for incomplete results, so too many cells fail with `too-large`.
 */
export async function computeH3Cells(task: H3Task, cancellation?: Cancellation): Promise<AnalyticsResult> {
  const groups = await countCells(task, cancellation);
  const cells = BigUint64Array.from(groups.keys()).sort();
  const polygons = h3Polygons(cells);
  const features = polygons.map((polygon, i) => {
    const cell = cells[i]!;
    const group = groups.get(cell)!;
    return feature(polygon, { h3: cell.toString(16), count: group.count, ...group.properties() });
  });
  return {
    features: joinFeatureTexts(features),
    returned: features.length,
    inputTruncated: false,
    resultTruncated: false,
  };
}

async function countCells(task: H3Task, cancellation?: Cancellation): Promise<Map<bigint, StatisticsGroup>> {
  const { source, filter, resolution, statistics } = task;
  const { fields, at } = indexColumns(statistics.map(({ field }) => field));
  const groups = new Map<bigint, StatisticsGroup>();
  const query = { source, filter, fields, geometry: true, limit: FEATURE_LIMITS.h3Input + 1, exact: true };
  let read = 0;
  for await (const batch of getFeatureStore(source).rows(query, cancellation)) {
    cancellation?.check();
    readDecimals(source, fields, batch);
    read += batch.length;
    if (read > FEATURE_LIMITS.h3Input)
      throw new TaskFailure(
        'too-large',
        `There are more than ${FEATURE_LIMITS.h3Input} features. Narrow them with bbox or filter.`,
      );
    addBatch(groups, located(batch, source.crs), resolution, statistics, at);
    if (groups.size > FEATURE_LIMITS.h3Cells)
      throw new TaskFailure(
        'too-large',
        `There are more than ${FEATURE_LIMITS.h3Cells} cells. Choose a coarser resolution.`,
      );
  }
  return groups;
}

/** Adds features to the groups of their cells. */
export function addBatch(
  groups: Map<bigint, StatisticsGroup>,
  { rows, positions }: { rows: readonly FeatureRow[]; positions: Float64Array },
  resolution: number,
  statistics: readonly Statistic[],
  at: (name: string) => number,
): void {
  const cells = h3Cells(positions, resolution);
  rows.forEach((row, i) => {
    const cell = cells[i]!;
    let group = groups.get(cell);
    if (!group) groups.set(cell, (group = new StatisticsGroup(statistics)));
    group.add((field) => row.values[at(field)]!);
  });
}
