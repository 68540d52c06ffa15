import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import { featureText } from '../../core/edits/feature-text.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { mapInLanes } from '../../core/values/lanes.js';
import type { FeatureState } from '../../stores/replicas/replica-conflicts.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { parseRowState } from './states.js';

/** The present state of a stored row. */
export interface StoredRow {
  /** Key of the content. An edit can require it. */
  readonly name: string;
  readonly state: FeatureState;
}

/** Places of degrees, as events have them. */
const PRECISION = 7;

/** The row of an id, with all its fields; null where there is none that passes the filter. */
export async function readRow(
  x: TaskContext,
  pools: Pools,
  { source }: VectorCollection,
  { id, filter }: { id: string; filter: Expression | undefined },
): Promise<StoredRow | null> {
  const item = await runTask(x, pools, 'vector.item', {
    source,
    id,
    format: 'geojson',
    crs: CRS84.proj,
    swapAxes: false,
    precision: PRECISION,
    filter,
  });
  return item && { name: item.row, state: parseRowState(featureText(item.data)) };
}

/** Number of rows read at the same time. */
const AT_ONCE = 8;

export async function readRows(
  x: TaskContext,
  pools: Pools,
  collection: VectorCollection,
  { ids, filter }: { ids: readonly string[]; filter: Expression | undefined },
): Promise<Map<string, StoredRow | null>> {
  const rows = await mapInLanes(ids, AT_ONCE, (id) => readRow(x, pools, collection, { id, filter }));
  return new Map(ids.map((id, i) => [id, rows[i]!]));
}
