import type { AnalyticsResult, SpatialJoinTask } from '../../../core/features/analytics.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { FEATURE_LIMITS } from '../../../core/features/limits.js';
import { joinGeometrySets as joinGeometries } from '../../../native/analytics.js';
import type { Cancellation } from '../../threads/cancellation.js';
import {
  convertAttribute,
  convertAttributes,
  feature,
  joinFeatureTexts,
  namedFields,
  writeRowGeometry,
} from './features.js';
import { indexColumns, readInput } from './input.js';
import { StatisticsGroup } from './statistics.js';

/**
 * Every feature with `objectId`, `attributes`, `matchCount`, the carried fields of its matches as arrays (in the order of
 * their ids) and statistics over these. The result is truncated when there are more pairs than the limit: then the last
 * features lack matches.
 */
export async function computeSpatialJoin(
  task: SpatialJoinTask,
  cancellation?: Cancellation,
): Promise<AnalyticsResult> {
  const { right } = task;
  const columns = indexColumns(task.fields);
  const rightColumns = indexColumns(
    right.carry,
    right.statistics.map(({ field }) => field),
  );
  const left = await readInput(task, columns.fields, cancellation);
  const others = await readInput(right, rightColumns.fields, cancellation);
  const { pairs, looks } = joinGeometries(
    { blobs: left.rows.map((row) => row.geometry), crs: task.source.crs },
    { blobs: others.rows.map((row) => row.geometry), crs: right.source.crs },
    task.predicate,
    task.distance,
    FEATURE_LIMITS.joinPairs,
  );
  const attributes = namedFields(task.source, task.fields);
  const matches = collectMatches(pairs, others.rows);
  const features = left.rows.map((row, i) =>
    feature(
      writeRowGeometry(row, task.source),
      {
        objectId: row.id,
        attributes: convertAttributes(row, attributes, columns.at),
        ...matched(task, matches.get(i) ?? [], rightColumns.at),
      },
      row.id,
    ),
  );
  return {
    features: joinFeatureTexts(features),
    returned: features.length,
    inputTruncated: left.truncated || others.truncated,
    resultTruncated: looks < left.rows.length,
  };
}

function collectMatches(pairs: Uint32Array, rows: readonly FeatureRow[]): Map<number, FeatureRow[]> {
  const matches = new Map<number, FeatureRow[]>();
  for (let i = 0; i < pairs.length; i += 2) {
    const row = rows[pairs[i + 1]!]!;
    const match = matches.get(pairs[i]!);
    if (match) match.push(row);
    else matches.set(pairs[i]!, [row]);
  }
  return matches;
}

function matched(
  { right }: SpatialJoinTask,
  rows: readonly FeatureRow[],
  at: (name: string) => number,
): Record<string, unknown> {
  const group = new StatisticsGroup(right.statistics);
  for (const row of rows) group.add((field) => row.values[at(field)]!);
  const carried = namedFields(right.source, right.carry).map((field) => [
    field.name,
    rows.map((row) => convertAttribute(field, row.values[at(field.name)]!)),
  ]);
  return { matchCount: rows.length, ...Object.fromEntries(carried), ...group.properties() };
}
