import { CatalogSnapshot } from '../../src/core/catalog/collection.js';
import { ANONYMOUS } from '../../src/core/http/operation.js';
import type { Pools, TaskName } from '../../src/core/tasks/tasks.js';
import type { VectorLayerInfo } from '../../src/core/tasks/vector-tasks.js';
import { ItemReplies } from '../../src/gateway/features/item-replies.js';
import { featuresOperations } from '../../src/gateway/features/operations.js';
import { Dispatcher } from '../../src/gateway/http/dispatch.js';
import { ForwardedHeaders } from '../../src/gateway/http/requests/forwarded-headers.js';
import { HttpServer } from '../../src/gateway/http/server.js';
import { tilesOperations } from '../../src/gateway/tiles/operations.js';
import { defaultPolicy } from '../../src/services/access/rules/policy.js';
import { vectorCollection } from '../../src/services/catalog/publish/collections.js';
import { fixedReading, VisibleCatalog } from '../../src/services/catalog/visible-catalog.js';
import { Edits } from '../../src/services/edits/edits.js';
import { createLog } from '../../src/services/telemetry/log.js';
import { TileCache } from '../../src/services/tiles/cache/tile-cache.js';
import { computeH3Cells } from '../../src/workers/features/analytics/h3.js';
import { readItems } from '../../src/workers/features/items.js';
import { fieldStatistics } from '../../src/workers/features/statistics/field-statistics.js';
import { getFeatureStore } from '../../src/workers/providers/store.js';
import { vectorTile } from '../../src/workers/tiles/tile.js';
import { NO_AUDIT } from '../support/no-audit.js';

/** The tasks of the vector pool that the surfaces of features and tiles run; here they run in this thread. */
const TASKS: Partial<Record<TaskName, (input: never) => unknown>> = {
  'vector.items': (task: never) => readItems(task),
  'vector.item': (task: never) => getFeatureStore(task['source']).item(task),
  'vector.count': (task: never) => getFeatureStore(task['source']).count(task),
  'vector.edit': (task: never) => getFeatureStore(task['source']).edit(task),
  'vector.tile': (task: never) => vectorTile(task),
  'vector.statistics': (task: never) => fieldStatistics(task),
  'vector.h3': (task: never) => computeH3Cells(task),
};

/** What the store says of a table, as its inspection does. */
export async function described(layer: Partial<VectorLayerInfo> & Pick<VectorLayerInfo, 'source'>) {
  const { source } = layer;
  const store = getFeatureStore(source);
  const { extent84 } = await store.extent({ filter: undefined, source });
  return {
    extent84,
    featureCount: await store.count({ filter: undefined, source }),
    cursor: 0,
    ...layer,
  } as VectorLayerInfo;
}

/** The surfaces of features and tiles over one layer, published as `rows` with number 1, on a port of their own. */
export async function served(layer: VectorLayerInfo): Promise<{ url: string; close(): Promise<void> }> {
  const versions = { version: 'v1', origin: 'v1' };
  const { path, database } = layer.source;
  const collection = vectorCollection(layer, path ?? database ?? layer.source.kind, versions)('rows', 1);
  const snapshot = new CatalogSnapshot([collection], [], 1);
  const visible = new VisibleCatalog(() => snapshot, fixedReading(defaultPolicy));
  const run = async (name: TaskName, input: never) => {
    const task = TASKS[name];
    if (!task) throw new Error(`no ${name} here`);
    return task(input);
  };
  const pools = { run } as unknown as Pools;
  const deps = {
    catalog: () => snapshot,
    visible: visible.of.bind(visible),
    pools,
    access: () => ({ allowed: true }),
    edits: new Edits(pools, () => {}),
    items: new ItemReplies({ of: () => undefined } as never),
    tiles: new TileCache(0),
    licensing: { enabled: false },
  } as unknown as Parameters<typeof featuresOperations>[0] & Parameters<typeof tilesOperations>[0];
  const dispatcher = new Dispatcher({
    once: (_request, work) => work(),
    operations: [...featuresOperations(deps), ...tilesOperations(deps)],
    pools,
    authenticate: () => ({ ...ANONYMOUS, kind: 'api-key' }) as never,
    permits: () => true,
    audit: NO_AUDIT,
  });
  const server = new HttpServer({
    dispatcher,
    log: createLog({ level: 'Fatal', pretty: false, process: 'test' }),
    vendor: 'test',
    forwarding: new ForwardedHeaders({ publicUrl: undefined, trustProxy: [], fallbackHost: 'localhost' }),
  });
  const url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  return { url, close: () => server.close(100) };
}
