import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CatalogSnapshot } from '../core/collection.js';
import type { Config, Setting } from '../core/config.js';
import type { Pools } from '../core/tasks.js';
import { useMatrixSets } from '../core/tile-matrix.js';
import { version } from '../core/version.js';
import { defaultPolicy } from '../services/access/access.js';
import type { FirstKey, LostSecret } from '../services/access/api-keys.js';
import { endHeld, type Held, watchHeldKeys } from '../services/access/held-keys.js';
import { permits } from '../services/access/permissions.js';
import { AlertStream, type Alerts } from '../services/alerts.js';
import { configuredBasemap } from '../services/basemap.js';
import { DataVersions } from '../services/cache/data-versions.js';
import { startCaching } from '../services/cache/index.js';
import { ItemReplies } from '../services/cache/item-replies.js';
import { captureEdits } from '../services/capture.js';
import { Catalog } from '../services/catalog.js';
import { Databases } from '../services/databases.js';
import { Edits } from '../services/edits.js';
import { SessionDirectory } from '../services/events/directory.js';
import { startEvents } from '../services/events/index.js';
import { ExtentRefresh } from '../services/extents.js';
import { Idempotency } from '../services/idempotency.js';
import type { Note } from '../services/notes.js';
import { Peers } from '../services/peers.js';
import { Places } from '../services/places.js';
import { requireStatedCrs } from '../services/publish/sidecar-crs.js';
import { registeredIn } from '../services/rasters/registered.js';
import { SourceRecoveries } from '../services/source-recoveries.js';
import { StacItems } from '../services/stac/items.js';
import { Styles } from '../services/styles/index.js';
import { tellLostStyles } from '../services/styles/of-files.js';
import type { Log } from '../services/telemetry/log.js';
import { exception } from '../services/telemetry/log.js';
import { createRegistry, watchEventLoop, watchPools } from '../services/telemetry/metrics.js';
import { errorRecovery, watchCollections, watchResources } from '../services/telemetry/process-metrics.js';
import { labelLayers } from '../services/telemetry/task-metrics.js';
import { readAreas } from '../services/tiles/extent.js';
import { configuredMatrixSets } from '../services/tiles/matrix-sets.js';
import { requireTileSettings } from '../services/tiles/settings.js';
import { VisibleCatalog } from '../services/visible-catalog.js';
import { startWebhooks } from '../services/webhooks/index.js';
import { instanceName } from '../stores/instance.js';
import { openState } from '../stores/state.js';
import { createPools } from '../workers/pools.js';
import { AllowedHosts } from '../workers/remote/allowed.js';
import { auditTrail } from './admin/audit-trail.js';
import { createAuthenticator } from './auth/authenticator.js';
import { Dispatcher } from './http/dispatch.js';
import { Forwarding } from './http/forwarding.js';
import { HttpServer } from './http/server.js';
import { startManagement } from './management.js';
import { surfaceOperations } from './operations.js';
import { useBasemap } from './pages/basemap.js';
import { jsonPage, pageHeaders, problemPage } from './pages/for-browsers.js';

export interface GatewayOptions {
  config: Config;
  settings: readonly Setting[];
  /** Directory of the engine sockets. */
  runDir: string;
  log: Log;
  /** True in one gateway of a server: it makes the first key and talks to the person at the terminal. */
  first: boolean;
  /** Told how much of a file is converted, from 0 to 1. */
  onConversion?(file: string, fraction: number): void;
  /** Asks for a reload of the catalog in every gateway. */
  requestReload(reason: string): void;
  /** Tells the other gateways of this server. */
  tell(note: Note): void;
}

/** A running gateway: one process, one event loop, one port. */
export interface Gateway {
  readonly port: number;
  readonly catalog: Catalog;
  readonly firstKey: FirstKey;
  /** Takes over what another gateway tells. */
  hear(note: Note): void;
  /** Answers what runs, takes nothing new, releases everything. */
  close(graceMs: number): Promise<void>;
}

/** Topic of secrets that were revoked or replaced. */
const LOST_SECRET = 'keys.lost-secret';

const PUBLIC_DIR = fileURLToPath(new URL('../public', import.meta.url));
const PLACES_FILE = fileURLToPath(new URL('../places.json', import.meta.url));
const BASEMAP_FILE = fileURLToPath(new URL('../basemap.mbtiles', import.meta.url));

/** Assembles and starts a gateway. Rejects when the state database or the port cannot be used. */
export async function startGateway({
  config,
  settings,
  runDir,
  log,
  requestReload,
  tell,
  first,
  onConversion,
}: GatewayOptions): Promise<Gateway> {
  useMatrixSets(configuredMatrixSets(config.tiles.matrixSets));
  useBasemap(configuredBasemap(config.pages));
  requireTileSettings(config.tiles.collections);
  requireStatedCrs(config.data.crs);
  readAreas();
  const dataDir = resolve(config.data.directory);
  const state = await openState(join(dataDir, 'state.db'));
  const peers = new Peers(config.server.processes - 1, tell);
  const authenticator = createAuthenticator(state, {
    tellLost: async (lost) => void (await peers.ask(LOST_SECRET, lost)),
    onError: (error) => log.write('key.use.failed', exception(error)),
  });
  const { keys } = authenticator;
  /** Connections that outlive the request that they were opened with. */
  let heldConnections = (): Iterable<Held> => [];
  peers.answer(LOST_SECRET, (about) => {
    const { hash, keyId } = about as LostSecret;
    authenticator.forget(hash);
    endHeld(heldConnections(), keyId);
    return null;
  });
  const firstKey: FirstKey = first
    ? await keys.ensureFirst(config.security.adminKey || undefined)
    : { from: 'stored' };
  const instance = instanceName();
  const { count, hours } = config.events.retention;
  const retention = { count, ageMs: hours * 3_600_000 };
  const pools = createPools({
    vectorThreads: config.workers.vectorThreads,
    maxQueue: config.workers.queue,
    maxWaitMs: config.workers.waitMs,
    connections: config.postgis.connections,
    remoteHosts: config.remote.allow,
    retention,
    runDir,
    overviews: join(dataDir, 'overviews'),
    onEnginesBack: (absenceMs) => errorRecovery.cell('engine').observe(absenceMs),
  });
  const caching = await startCaching({ config: config.cache, dataDir, log, catalog: () => catalog, tell });
  const { tiles, control: cache } = caching;
  const versions = new DataVersions();
  const items = new ItemReplies(versions);
  const databases = new Databases(pools);
  let refreshedAt = new Date();
  const recoveries = new SourceRecoveries();
  const catalog: Catalog = new Catalog({
    pools,
    ...(onConversion ? { onConversion } : {}),
    databases,
    dataDir,
    layerIdOf: (id) => state.collections.idOf(id),
    registered: () => registeredIn(state),
    edited: (collection, change) => extents.edited(collection, change),
    replaced(before, after) {
      caching.replaced(before, after);
      labelLayers(after);
      refreshedAt = new Date();
      recoveries.follow(after);
      events.follow(after);
      // Every gateway reloads; one makes the index.
      if (first) stac.follow(after);
      // Every gateway reloads; one tells.
      if (first) tellQuarantined(before, after, alerts);
      if (first) tellLostStyles(before, after, log);
      void captureEdits(after, { enabled: config.postgis.captureEdits, pools, log });
    },
  });
  const extents = new ExtentRefresh({ catalog: () => catalog, pools, log });
  const visible = new VisibleCatalog(() => catalog.current, defaultPolicy);
  const alerts = new AlertStream(peers, (alert) => tell({ alert }));
  const events = await startEvents({
    pools,
    store: state.feed,
    versions,
    log,
    alerts,
    instance,
    sessions: {
      total: config.streaming.maxSessions,
      perAddress: config.streaming.perAddress,
      perKey: config.streaming.perKey,
    },
    retention,
    visible: (principal) => visible.of(principal),
    catalog: () => catalog.current,
    tell,
    changed: caching.edited,
  });
  const stac = new StacItems({
    pools,
    path: join(dataDir, 'stac', 'items.gpkg'),
    log,
  });
  const linked = new AllowedHosts(config.remote.allow);
  const styles = new Styles({
    store: state.styles,
    pools,
    catalog: () => catalog.current,
    restyle: (changed) => catalog.restyle(changed),
    peers,
    allowed: { urlProblem: (url) => linked.problemOf(url) },
  });
  const edits = new Edits(pools, (note) => {
    caching.edited(note);
    events.edited(note.collection);
  });
  heldConnections = () => [...events.hub.held(), ...alerts.held()];
  const forgetKeys = watchHeldKeys(heldConnections, (id) => state.apiKeys.get(id));
  const otlp = await startTelemetry(config, pools, log);

  const management = startManagement({
    config,
    settings,
    dataDir,
    state,
    keys,
    pools,
    tiles,
    cache,
    catalog,
    log,
    alerts,
    streams: new SessionDirectory(events.hub, peers),
    styles,
    requestReload,
  });
  const operations = [
    ...surfaceOperations({
      catalog: () => catalog.current,
      visible: (principal) => visible.of(principal),
      pools,
      access: defaultPolicy,
      edits,
      licensing: config.licensing,
      tiles,
      items,
      stac,
      publicDir: PUBLIC_DIR,
      basemapFile: BASEMAP_FILE,
      places: Places.read(PLACES_FILE),
      popupInfo: async (layerId) => (await styles.current(layerId))?.popupInfo ?? null,
      version: version(),
      hub: events.hub,
      permits,
      registry: createRegistry(),
      metricsPath: config.observability.enabled ? config.observability.prometheus.path : undefined,
      poolStatus: () => pools.status(),
      pingState: () => state.check(),
      databaseStatus: () => databases.status(),
      outboxStatus: () => events.outboxStatus(),
      catalogStatus: () => statusOf(catalog.current),
      cacheRefresh: () => ({
        generation: catalog.current.generation,
        lastRefreshedAt: refreshedAt.toISOString(),
      }),
      license: () => ({
        validationState: config.licensing.enabled ? 'configured' : 'not_required',
        activeEntitlements: config.licensing.enabled ? config.licensing.entitlements : [],
      }),
      cacheStatistics: () => ({ ...tiles.statistics(), collections: cache.collections() }),
    }),
    ...management.operations,
  ];
  const idempotency = new Idempotency(state.replies, instance, log);
  const dispatcher = new Dispatcher({
    once: (request, work) => idempotency.once(request, work),
    operations,
    pools,
    authenticate: (credentials) => authenticator.authenticate(credentials),
    permits,
    audit: auditTrail({
      state,
      onError: (error) => log.write('audit.failed', { Error: String(error) }),
    }),
  });
  await styles.load();
  catalog.commit(await catalog.prepare(config.data.sources, config.tiles.collections, config.data.crs));
  databases.watch((name) => requestReload(`${name} answers`));
  catalog.retry((path) => requestReload(`${path.replace(/\?.*$/, '')} is tried again`));
  management.start();
  const webhooks = startWebhooks({
    webhooks: config.events.webhooks,
    allow: config.remote.allow,
    pools,
    store: state.deliveries,
    feed: events.feed,
    log,
    alerts,
    instance,
    catalog: () => catalog.current,
  });
  const server = new HttpServer({
    dispatcher,
    log,
    vendor: config.server.vendor,
    pages: { headers: pageHeaders(), jsonPage, problemPage },
    forwarding: new Forwarding({
      publicUrl: config.server.publicUrl || undefined,
      trustProxy: config.server.trustProxy,
      fallbackHost: `localhost:${config.server.port}`,
    }),
  });
  const port = await server.listen(config.server.host, config.server.port);
  return {
    port,
    catalog,
    hear(note) {
      if ('fed' in note) return events.fed();
      if ('alert' in note) return alerts.hear(note.alert);
      if ('ask' in note || 'answerTo' in note) return peers.hear(note);
      caching.hear(note);
      if ('change' in note) events.edited(note.collection);
    },
    firstKey,
    async close(graceMs) {
      forgetKeys();
      extents.close();
      idempotency.close();
      alerts.close();
      await webhooks.close();
      await events.close();
      await server.close(graceMs);
      await management.close();
      databases.close();
      versions.close();
      await catalog.close();
      await caching.close();
      await pools.close();
      await authenticator.close();
      await state.close();
      await otlp?.shutdown();
    },
  };
}

async function startTelemetry(config: Config, pools: Pools, log: Log) {
  watchEventLoop();
  watchCollections();
  watchResources();
  watchPools(() => pools.status());
  const { otlpEndpoint } = config.observability;
  if (!otlpEndpoint) return undefined;
  // A fifth of what a gateway loads, for those few that push.
  const { startOtlp } = await import('../services/telemetry/otlp.js');
  return startOtlp(otlpEndpoint, version(), log);
}

/** Operators hear of sources that were published, or unknown, before. */
function tellQuarantined(before: CatalogSnapshot, after: CatalogSnapshot, alerts: Alerts): void {
  const known = new Set(before.quarantined.map(({ path }) => path));
  for (const { path, reason } of after.quarantined)
    if (!known.has(path))
      alerts.notify({ kind: 'source-quarantined', severity: 'error', subject: path, message: reason });
}

/** Quarantined sources that the snapshot of the server names. */
const MAX_PROBLEMS = 100;

function statusOf(snapshot: CatalogSnapshot) {
  const { generation, collections, quarantined } = snapshot;
  return {
    generation,
    collections: collections.length,
    quarantined: quarantined.length,
    warnings: collections.flatMap(({ id, warning }) =>
      warning === undefined ? [] : [{ collection: id, warning }],
    ),
    problems: quarantined.slice(0, MAX_PROBLEMS).map(({ path, layer, reason }) => ({
      source: path,
      ...(layer === undefined ? {} : { layer }),
      reason,
    })),
  };
}
