import type { FeatureRow } from '../../../core/features/features.js';
import type { Box } from '../../../core/geometry/box.js';
import type { FeatureProcess, ProcessFeatures } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { JoinIndex, type JoinPairs } from '../../../native/analytics.js';
import { NearestIndex } from '../../../native/proximity.js';
import { StatisticsGroup } from '../../features/analytics/statistics.js';
import { indexOver, type Layer } from '../layers.js';
import { listGeometries, type ProcessRun, tooManyPairs } from '../run.js';
import type { Attribute, FeatureTable, TableValue } from '../table.js';
import { boxesAround } from './near.js';
import { joinLayers, type LayerPair } from './sides.js';
import { statisticAttributes } from './statistics.js';

type Join = Extract<FeatureProcess, { kind: 'join' }>;

/** Joins features with the features that they meet in another source, which is projected to the input's CRS. */
export function joinFeatures(run: ProcessRun, join: Join): Promise<number> {
  const carries = join.mode !== 'count';
  const extra = carries ? [] : countAttributes(join, run.task.overlay!);
  return joinLayers(run, { carries, extra }, (sides, table) => fill(run, join, sides, table));
}

/** Attributes for the number of join features and for their statistics. */
export function countAttributes({ countName, statistics }: Join, { source }: ProcessFeatures): Attribute[] {
  return [{ name: countName, type: 'integer' }, ...statisticAttributes(source, statistics)];
}

async function fill(
  run: ProcessRun,
  join: Join,
  { left, right }: LayerPair,
  table: FeatureTable,
): Promise<void> {
  const summary = buildSummary(join, right);
  const nothing = new Array(right.attributes.length).fill(null);
  const search = readSearch(join, left.crs);
  const reach = join.predicate === 'dwithin' ? join.reach! : undefined;
  const windows = (box: Box) => (reach ? boxesAround(box, right.crs, reach) : [box]);
  /** Those beyond the first of each feature, as a database can count them. */
  let pairs = 0;
  for await (const rows of left.rows()) {
    for (const matches of listMatches(run, rows, await right.near(rows, windows), search)) {
      for (const { row, partners } of matches) {
        if (partners.length === 0 && join.innerOnly) continue;
        if (join.mode === 'count') {
          table.add(row.geometry, [...row.values, ...summary(partners)]);
          continue;
        }
        const values = partners.length === 0 ? [nothing] : partners.map((partner) => partner.values);
        const count = join.mode === 'first' ? 1 : values.length;
        for (const own of values.slice(0, count)) table.add(row.geometry, [...row.values, ...own]);
        if (join.mode === 'each') pairs += Math.max(0, partners.length - 1);
      }
      if (pairs > PROCESS_LIMITS.processPairs) throw tooManyPairs();
    }
  }
}

/** The number of rows, and their statistics. */
function buildSummary(
  { statistics }: Join,
  { attributes }: Layer,
): (rows: readonly FeatureRow[]) => TableValue[] {
  const fields = attributes.map(({ name }) => name);
  const place = new Map(statistics.map(({ field }) => [field, fields.indexOf(field)]));
  return (rows) => {
    const group = new StatisticsGroup(statistics);
    for (const { values } of rows) group.add((field) => values[place.get(field)!]!);
    const numbers = group.properties();
    return [group.count, ...statistics.map(({ name }) => numbers[name])];
  };
}

/** Row with the features that it meets, in their order, or nearest first if a distance counts. */
interface Match {
  readonly row: FeatureRow;
  readonly partners: FeatureRow[];
}

/** Returns the pairs of the first rows, up to the row that reaches the limit. */
type Search = (rows: readonly FeatureRow[], near: readonly FeatureRow[], maxPairs: number) => JoinPairs;

/** Yields the matches of each row, for a part of the rows at a time. */
function* listMatches(
  run: ProcessRun,
  rows: readonly FeatureRow[],
  near: readonly FeatureRow[],
  search: Search,
): Generator<Match[]> {
  for (let start = 0; start < rows.length; ) {
    run.cancellation?.check();
    const rest = rows.slice(start);
    const { pairs, looks } = search(rest, near, PROCESS_LIMITS.processPieces);
    const matches = rest.slice(0, looks).map((row): Match => ({ row, partners: [] }));
    for (let i = 0; i < pairs.length; i += 2) matches[pairs[i]!]!.partners.push(near[pairs[i + 1]!]!);
    yield matches;
    start += looks;
  }
}

const ANY_COUNT = 4_294_967_295;

function readSearch({ predicate, reach, mode }: Join, crs: string): Search {
  if (predicate !== 'dwithin') {
    const indexOf = indexOver((blobs) => new JoinIndex(predicate, { left: crs, right: crs }).add(blobs));
    return (rows, near, maxPairs) => indexOf(near).match(listGeometries(rows), maxPairs);
  }
  const { distance, ground } = reach!;
  const count = mode === 'first' ? 1 : ANY_COUNT;
  const indexOf = indexOver((blobs) => new NearestIndex(crs, ground).add(blobs));
  return (rows, near, maxPairs) =>
    indexOf(near).search(listGeometries(rows), { count, reach: distance, maxPairs });
}
