import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import { and, equalsAny } from '../../core/cql2/index.js';
import { featureTexts } from '../../core/edits/feature-text.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { exactInteger } from '../../core/values/exact-number.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Number of features that one task searches. */
const PAGE = 500;

/** The features among these numbers that exist and pass a filter. */
export async function featuresThere(
  x: TaskContext,
  pools: Pick<Pools, 'run'>,
  { source }: VectorCollection,
  { ids, filter }: { ids: readonly string[]; filter: Expression | undefined },
): Promise<Set<string>> {
  const there = new Set<string>();
  for (let from = 0; from < ids.length; from += PAGE) {
    const page = ids.slice(from, from + PAGE);
    const { features } = await runTask(x, pools as Pools, 'vector.items', {
      source,
      filter: and(filter, equalsAny(source.idColumn, page.map(exactInteger)))!,
      format: 'geojson',
      crs: CRS84.proj,
      swapAxes: false,
      precision: 7,
      fields: [],
      skipGeometry: true,
      limit: page.length,
      offset: 0,
    });
    for (const { id } of featureTexts(features)) there.add(id);
  }
  return there;
}
