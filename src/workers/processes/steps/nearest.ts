import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { MemoryLayer } from '../layers.js';
import type { ProcessRun } from '../run.js';
import type { Attribute, FeatureTable } from '../table.js';
import { NearestAmong, type NearestFeatures, NearestWindows } from './near.js';
import { joinLayers, type LayerPair } from './sides.js';

export const NEAREST_ATTRIBUTES: readonly Attribute[] = [
  { name: 'distance', type: 'number' },
  { name: 'rank', type: 'integer' },
];

type Nearest = Extract<FeatureProcess, { kind: 'nearest' }>;

/** Writes a feature for each of the nearest features of the second layer, which are projected to the input's CRS. */
export function nearestFeatures(run: ProcessRun, process: Nearest): Promise<number> {
  return joinLayers(run, { carries: true, extra: NEAREST_ATTRIBUTES }, (sides, table) =>
    fill(run, process, sides, table),
  );
}

async function fill(
  run: ProcessRun,
  process: Nearest,
  { left, right }: LayerPair,
  table: FeatureTable,
): Promise<void> {
  const { count, measure, reach = Number.POSITIVE_INFINITY, innerOnly } = process;
  const query = { count, reach, ground: measure.ground };
  const others: NearestFeatures =
    right instanceof MemoryLayer
      ? new NearestAmong(right, query)
      : new NearestWindows(run, right.copy, query);
  const nothing = new Array(right.attributes.length + 2).fill(null);
  for await (const rows of left.rows()) {
    const all = await others.neighbours(rows);
    for (const [i, { geometry, values }] of rows.entries()) {
      all[i]!.forEach(({ row, distance }, rank) => {
        table.add(geometry, [...values, ...row.values, distance / measure.perUnit, rank + 1]);
      });
      if (all[i]!.length === 0 && !innerOnly) table.add(geometry, [...values, ...nothing]);
    }
  }
}
