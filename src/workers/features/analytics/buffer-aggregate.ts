import type { AnalyticsResult, BufferAggregateTask } from '../../../core/features/analytics.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { bufferUnion } from '../../../native/analytics.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { convertAttribute, feature, joinFeatureTexts, namedFields } from './features.js';
import { indexColumns, readInput } from './input.js';
import { StatisticsGroup } from './statistics.js';

interface DissolveGroup {
  rows: FeatureRow[];
  statistics: StatisticsGroup;
}

/**
 * Buffers by metres over the ground. Dissolved: a feature per group (one without `groupBy`) with the group's fields,
 * `featureCount` and the statistics, in the order of the groups' first features. Else a feature per feature with
 * `objectId`.
 */
export async function computeBufferAggregate(
  task: BufferAggregateTask,
  cancellation?: Cancellation,
): Promise<AnalyticsResult> {
  const { fields, at } = indexColumns(
    task.groupBy,
    task.statistics.map(({ field }) => field),
  );
  const { rows, truncated } = await readInput(task, fields, cancellation);
  const features = task.dissolve ? dissolved(task, rows, at, cancellation) : single(task, rows, cancellation);
  return {
    features: joinFeatureTexts(features),
    returned: features.length,
    inputTruncated: truncated,
    resultTruncated: false,
  };
}

function single(
  { source, distance }: BufferAggregateTask,
  rows: readonly FeatureRow[],
  cancellation?: Cancellation,
): string[] {
  return rows.map((row) => {
    cancellation?.check();
    return feature(bufferUnion([row.geometry], source.crs, distance), { objectId: row.id }, row.id);
  });
}

function dissolved(
  task: BufferAggregateTask,
  rows: readonly FeatureRow[],
  at: (name: string) => number,
  cancellation?: Cancellation,
): string[] {
  const groupFields = task.groupBy.map((name) => namedFields(task.source, [name])[0]!);
  return [...grouped(task, rows, at).values()].map((group) => {
    cancellation?.check();
    const shape = bufferUnion(
      group.rows.map((row) => row.geometry),
      task.source.crs,
      task.distance,
    );
    const first = group.rows[0]!;
    return feature(shape, {
      ...Object.fromEntries(
        groupFields.map((field) => [field.name, convertAttribute(field, first.values[at(field.name)]!)]),
      ),
      featureCount: group.statistics.count,
      ...group.statistics.properties(),
    });
  });
}

function grouped(
  { groupBy, statistics }: BufferAggregateTask,
  rows: readonly FeatureRow[],
  at: (name: string) => number,
): Map<string, DissolveGroup> {
  const groups = new Map<string, DissolveGroup>();
  for (const row of rows) {
    const key = JSON.stringify(
      groupBy.map((name) => [typeof row.values[at(name)], String(row.values[at(name)])]),
    );
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { rows: [], statistics: new StatisticsGroup(statistics) }));
    group.rows.push(row);
    group.statistics.add((field) => row.values[at(field)]!);
  }
  return groups;
}
