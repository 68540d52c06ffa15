import type { CatalogSnapshot } from '../../core/collection.js';
import type { TaskName } from '../../core/tasks.js';
import * as metrics from './store-metrics.js';

/** What a task is counted as, beside its name. */

/** Kinds of queries, by the task that makes them. */
const QUERY_TYPES: Partial<Record<TaskName, string>> = {
  'vector.tile': 'tile',
  'vector.items': 'select',
  'vector.item': 'select_by_id',
  'vector.count': 'count',
  'vector.edit': 'edit',
  'vector.events': 'events',
  'vector.occupied': 'exists',
  'vector.h3': 'h3',
  'vector.clusters': 'clusters',
  'vector.density': 'density',
  'vector.spatialJoin': 'spatial_join',
  'vector.bufferAggregate': 'buffer_aggregate',
  'vector.stacSearch': 'stac_search',
};
const SPATIAL: ReadonlySet<string> = new Set([
  'tile',
  'exists',
  'h3',
  'clusters',
  'density',
  'spatial_join',
  'buffer_aggregate',
]);

/** What tasks of any kind say of their sources. */
interface Input {
  source?: { crs?: string };
  layers?: readonly { source?: { crs?: string } }[];
  crs?: string;
}

const layerIds = new WeakMap<object, string>();

/** Remembers the layers' ids by their sources, which is all that tasks name. */
export function labelLayers({ collections }: CatalogSnapshot): void {
  for (const { kind, layerId, ...rest } of collections)
    if (kind === 'vector') layerIds.set((rest as { source: object }).source, String(layerId));
}

/** The id of the layer that a task reads; `several` or nothing where there is not one. */
export function layerOf(input: unknown): string {
  const { source, layers } = input as Input;
  if (layers && layers.length > 1) return 'several';
  const read = source ?? layers?.[0]?.source;
  return (read && layerIds.get(read)) ?? '';
}

/** The kind of query that a task makes; undefined for one that makes none. */
export function queryTypeOf(name: TaskName): string | undefined {
  return QUERY_TYPES[name];
}

export function countTask(name: TaskName, input: unknown, ms: number, ok: boolean): void {
  const type = QUERY_TYPES[name];
  if (type !== undefined) {
    const layer = layerOf(input);
    metrics.databaseQueryDuration.cell(type, layer).observe(ms);
    metrics.databaseQueries.cell(type, layer).inc();
    if (SPATIAL.has(type)) {
      metrics.spatialQueryDuration.cell(type).observe(ms);
      metrics.spatialQueries.cell(type).inc();
    }
  }
  if (name === 'vector.edit') {
    metrics.transactionDuration.cell().observe(ms);
    metrics.transactions.cell(ok ? 'committed' : 'failed').inc();
  }
  if (projects(input as Input)) {
    metrics.transforms.cell(name).inc();
    metrics.transformDuration.cell(name).observe(ms);
  }
}

/** Whether a task answers in another CRS than that of what it reads. */
function projects({ source, layers, crs }: Input): boolean {
  if (crs === undefined) return false;
  if (source?.crs !== undefined) return source.crs !== crs;
  return layers?.some((layer) => layer.source?.crs !== undefined && layer.source.crs !== crs) ?? false;
}
