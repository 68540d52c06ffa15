import type { FeatureProcess } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { spatialJoin } from '../../native/analytics.js';
import { geometriesOf, type Run, windowOf } from './run.js';
import { type Sides, withSides } from './sides.js';
import type { FeatureTable } from './table.js';

type Join = Extract<FeatureProcess, { kind: 'join' }>;

const COUNT = 'matchCount';

/** Features with what they meet in another source, which is projected to the CRS of the input. */
export function joinFeatures(run: Run, join: Join): Promise<number> {
  const carries = join.mode !== 'count';
  const extra = carries ? [] : [{ name: COUNT, type: 'integer' } as const];
  return withSides(run, { carries, extra }, (sides, table) => fill(run, join, sides, table));
}

async function fill(run: Run, join: Join, sides: Sides, table: FeatureTable): Promise<void> {
  const { left, right } = sides;
  const { crs } = left.source;
  const nothing = new Array(right.fields.length).fill(null);
  for await (const rows of run.rows(left)) {
    const near = await windowOf(run, rows, right);
    const matches = matchesOf(rows, near, crs, join);
    for (const [i, row] of rows.entries()) {
      const met = matches.get(i) ?? [];
      if (met.length === 0 && join.innerOnly) continue;
      if (join.mode === 'count') {
        table.add(row.geometry, [...row.values, met.length]);
        continue;
      }
      const joined = met.length === 0 ? [nothing] : met.map(({ values }) => values);
      for (const values of join.mode === 'first' ? joined.slice(0, 1) : joined)
        table.add(row.geometry, [...row.values, ...values]);
    }
  }
}

/** By the index of the left row, in the order of the right ones. */
function matchesOf(
  rows: readonly FeatureRow[],
  near: readonly FeatureRow[],
  crs: string,
  { predicate }: Join,
): Map<number, FeatureRow[]> {
  const [left, right] = [rows, near].map((side) => ({ blobs: geometriesOf(side), crs }));
  const { pairs } = spatialJoin(left!, right!, predicate, 0, Number.MAX_SAFE_INTEGER);
  const matches = new Map<number, FeatureRow[]>();
  for (let i = 0; i < pairs.length; i += 2) {
    const met = matches.get(pairs[i]!);
    const row = near[pairs[i + 1]!]!;
    if (met) met.push(row);
    else matches.set(pairs[i]!, [row]);
  }
  return matches;
}
