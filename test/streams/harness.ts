import { CatalogSnapshot, type VectorCollection } from '../../src/core/catalog/collection.js';
import type { Notice } from '../../src/core/cluster/notes.js';
import type { EditOperation, FeatureEvent } from '../../src/core/edits/edits.js';
import { ApiError } from '../../src/core/errors/errors.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import { ANONYMOUS, type Principal } from '../../src/core/http/operation.js';
import { EPOCH_SIZE, type FeedEntry } from '../../src/core/streams/events.js';
import { defaultStyle } from '../../src/core/styles/default-style.js';
import type { Pools } from '../../src/core/tasks/tasks.js';
import { Dispatcher } from '../../src/gateway/http/dispatch.js';
import { ForwardedHeaders } from '../../src/gateway/http/requests/forwarded-headers.js';
import { HttpServer } from '../../src/gateway/http/server.js';
import { streamingOperations } from '../../src/gateway/streams/operations.js';
import type { AccessPolicy } from '../../src/services/access/access.js';
import { defaultPolicy } from '../../src/services/access/rules/policy.js';
import { fixedReading, VisibleCatalog } from '../../src/services/catalog/visible-catalog.js';
import { Feed } from '../../src/services/streams/feed.js';
import { Hub } from '../../src/services/streams/hub.js';
import { createLog } from '../../src/services/telemetry/log.js';
import { match } from '../../src/workers/features/match.js';
import { closeWriters } from '../../src/workers/providers/geopackage/edits/writer.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { getFeatureStore } from '../../src/workers/providers/store.js';
import { geoPackageStore } from '../edits/support.js';
import { NO_AUDIT } from '../support/no-audit.js';
import { StreamClient } from './support.js';

export interface StreamSetup {
  policy?: AccessPolicy;
  /** By API key. */
  principals?: Record<string, Principal>;
  maxSessions?: number;
  perAddress?: number;
  perKey?: number;
  heartbeatMs?: number;
  stallMs?: number;
}

export const LAYERS = { parcels: 1, spots: 2 };
type Layer = keyof typeof LAYERS;

/**
 * Streams over a GeoPackage without the rest of a server: what is edited is in the feed when `edit` resolves, and events
 * can be made up.
 */
export async function streams({
  policy = defaultPolicy,
  principals = {},
  maxSessions = 100,
  perAddress = 100,
  perKey = 100,
  heartbeatMs = 60_000,
  stallMs = 60_000,
}: StreamSetup = {}) {
  const store = geoPackageStore();
  const inspected = inspectGeoPackage(store.file);
  const collections = Object.entries(LAYERS).map(([id, layerId]) => {
    const layer = inspected.find(({ source }) => source.table === id)!;
    return {
      ...layer,
      kind: 'vector',
      style: defaultStyle('Polygon', id),
      id,
      layerId,
      crs: [CRS84],
      file: store.file,
    } as unknown as VectorCollection;
  });
  const run = async (name: string, input: never) => {
    if (name === 'vector.match') return match(input);
    if (name === 'vector.items') return getFeatureStore({ kind: 'geopackage' }).items(input);
    throw new Error(`no ${name} here`);
  };
  const pools = { run } as unknown as Pools;
  const entries: FeedEntry[] = [];
  const first = 7 * EPOCH_SIZE;
  const feed = await Feed.open({
    after: async (cursor, limit) => entries.filter((entry) => entry.cursor > cursor).slice(0, limit),
    bounds: async () => ({ oldest: first + 1, newest: first }),
  });
  let snapshot = new CatalogSnapshot(collections, [], 1);
  const visible = new VisibleCatalog(
    () => snapshot,
    fixedReading((...asked) => policy(...asked)),
  );
  const notices: Notice[] = [];
  const hub = new Hub({
    feed,
    pools,
    visible: (principal) => visible.of(principal),
    sessions: { total: maxSessions, perAddress, perKey },
    heartbeatMs,
    stallMs,
    notices: { notify: (notice) => void notices.push(notice) },
  });
  const dispatcher = new Dispatcher({
    once: (_request, work) => work(),
    operations: streamingOperations({
      catalog: () => snapshot,
      visible: (principal: Principal) => visible.of(principal),
      pools,
      access: policy,
      hub,
      version: '1.0.0',
      permits: () => false,
    } as unknown as Parameters<typeof streamingOperations>[0]),
    pools,
    authenticate({ apiKey }) {
      if (apiKey === undefined) return ANONYMOUS;
      const principal = principals[apiKey];
      if (!principal) throw new ApiError('unauthenticated', 'There is no such key.');
      return principal;
    },
    permits: () => false,
    audit: NO_AUDIT,
  });
  const server = new HttpServer({
    dispatcher,
    log: createLog({ level: 'Fatal', pretty: false, process: 'test' }),
    vendor: 'test',
    forwarding: new ForwardedHeaders({ publicUrl: undefined, trustProxy: [], fallbackHost: 'localhost' }),
  });
  const port = await server.listen('127.0.0.1', 0);
  const url = `http://127.0.0.1:${port}/api/v1/streaming/features`;
  const clients: StreamClient[] = [];
  let read = 0;
  let made = 0;

  const publish = (events: readonly (FeatureEvent | 'gap')[]): void => {
    const added = events.map((event, i): FeedEntry => {
      const cursor = first + entries.length + i + 1;
      if (event !== 'gap') return { kind: 'event', cursor, event };
      return { kind: 'gap', cursor, collections: ['spots'], time: new Date().toISOString() };
    });
    entries.push(...added);
    feed.accept(added);
  };
  return {
    port,
    url,
    hub,
    store,
    notices,
    /** Cursor of the newest event. */
    head: () => feed.head,
    publish,
    /** An update of a made-up spot: its attributes are `name` and as much more as wanted. */
    event(featureId: string, name: string, more: Partial<FeatureEvent> = {}): FeatureEvent {
      made++;
      return {
        cursor: made,
        eventId: `made-up-${made}`,
        time: new Date().toISOString(),
        collection: 'spots',
        layerId: LAYERS.spots,
        protocol: 'OGC-Features',
        requestId: 'r',
        actor: 'a',
        table: 'spots',
        featureId,
        operation: 'update',
        envelopeBefore: [7, 46, 7, 46],
        envelopeAfter: [7, 46, 7, 46],
        geometry: '{"type":"Point","coordinates":[7,46]}',
        attributes: JSON.stringify({ name }),
        changedAttributes: ['name'],
        geometryChanged: false,
        ...more,
      };
    },
    /** Edits features past all access rules; returns the id of the first. */
    async edit(layer: Layer, ...operations: EditOperation[]): Promise<string> {
      const { source } = collections[LAYERS[layer] - 1]!;
      const { outcomes } = await getFeatureStore(source).edit({
        filter: undefined,
        source,
        operations,
        mode: 'atomic',
        crs: CRS84.proj,
        swapAxes: false,
        origin: {
          collection: layer,
          layerId: LAYERS[layer],
          protocol: 'OGC-Features',
          requestId: 'r',
          actor: 'a',
        },
      });
      const [outcome] = outcomes;
      if (!outcome?.ok) throw new Error(JSON.stringify(outcomes));
      const place = { kind: 'geopackage', path: store.file } as const;
      const { events } = await getFeatureStore(source).events({ source: place, from: read + 1, limit: 1000 });
      read = events.at(-1)!.cursor;
      publish(events);
      return outcome.id;
    },
    /** A reload: the catalog is another one, and rules are asked anew. */
    reload(): void {
      snapshot = new CatalogSnapshot(collections, [], snapshot.generation + 1);
    },
    async connect(query = '', headers: Record<string, string> = {}): Promise<StreamClient> {
      const client = new StreamClient(url + query, headers);
      clients.push(client);
      return client.opened();
    },
    async close(): Promise<void> {
      for (const client of clients) client.close();
      hub.close();
      await server.close(100);
      closeWriters();
      await store.release();
    },
  };
}

export type Streams = Awaited<ReturnType<typeof streams>>;
