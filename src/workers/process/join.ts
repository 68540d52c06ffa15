import type { FeatureProcess } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { spatialJoin } from '../../native/analytics.js';
import { Group } from '../vector/analytics/statistics.js';
import type { IndexedCopy } from './copy.js';
import { neighboursWithin } from './near.js';
import { geometriesOf, type Run, windowOf } from './run.js';
import { type Sides, withSides } from './sides.js';
import { statisticAttributes } from './statistics.js';
import type { AttributeValue, FeatureTable } from './table.js';

type Join = Extract<FeatureProcess, { kind: 'join' }>;

/** Features with what they meet in another source, which is projected to the CRS of the input. */
export function joinFeatures(run: Run, join: Join): Promise<number> {
  const carries = join.mode !== 'count';
  const { source } = run.task.overlay!;
  const count = { name: join.countName, type: 'integer' } as const;
  const extra = carries ? [] : [count, ...statisticAttributes(source, join.statistics)];
  return withSides(run, { carries, extra }, (sides, table) => fill(run, join, sides, table));
}

async function fill(run: Run, join: Join, { left, right }: Sides, table: FeatureTable): Promise<void> {
  const summary = summaryOf(join, right);
  const nothing = new Array(right.fields.length).fill(null);
  for await (const rows of run.rows(left)) {
    const matches = await matchesOf(run, join, rows, right);
    for (const [i, row] of rows.entries()) {
      const met = matches[i]!;
      if (met.length === 0 && join.innerOnly) continue;
      if (join.mode === 'count') {
        table.add(row.geometry, [...row.values, ...summary(met)]);
        continue;
      }
      const joined = met.length === 0 ? [nothing] : met.map(({ values }) => values);
      for (const values of join.mode === 'first' ? joined.slice(0, 1) : joined)
        table.add(row.geometry, [...row.values, ...values]);
    }
  }
}

/** The number of rows, and their statistics. */
function summaryOf(
  { statistics }: Join,
  { fields }: IndexedCopy,
): (rows: readonly FeatureRow[]) => AttributeValue[] {
  const place = new Map(statistics.map(({ field }) => [field, fields.indexOf(field)]));
  return (rows) => {
    const group = new Group(statistics);
    for (const { values } of rows) group.add((field) => values[place.get(field)!]!);
    const numbers = group.properties();
    return [group.count, ...statistics.map(({ name }) => numbers[name])];
  };
}

/** What each row meets: in the order of the others, or nearest first where a distance counts. */
async function matchesOf(
  run: Run,
  { predicate, reach }: Join,
  rows: readonly FeatureRow[],
  right: IndexedCopy,
): Promise<FeatureRow[][]> {
  if (predicate === 'dwithin') {
    const neighbours = await neighboursWithin(run, rows, right, reach!);
    return neighbours.map((near) => near.map(({ row }) => row));
  }
  const near = await windowOf(run, rows, right);
  const { crs } = right.source;
  const [left, others] = [rows, near].map((side) => ({ blobs: geometriesOf(side), crs }));
  const { pairs } = spatialJoin(left!, others!, predicate, 0, Number.MAX_SAFE_INTEGER);
  const matches: FeatureRow[][] = rows.map(() => []);
  for (let i = 0; i < pairs.length; i += 2) matches[pairs[i]!]!.push(near[pairs[i + 1]!]!);
  return matches;
}
