import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config, Setting } from '../core/config.js';
import type { CatalogSnapshot } from '../core/collection.js';
import { version } from '../core/version.js';
import { createPools } from '../workers/pools.js';
import { TileCache } from './cache/tile-cache.js';
import { Dispatcher } from './http/dispatch.js';
import { HttpServer } from './http/server.js';
import { surfaceOperations } from './operations.js';
import { Catalog } from './services/catalog.js';
import type { Log } from './telemetry/log.js';
import { createRegistry, watchEventLoop, watchPools } from './telemetry/metrics.js';
import { startOtlp } from './telemetry/otlp.js';

/** Where the console's build puts what browsers load: beside the compiled gateway. */
const PUBLIC_DIR = fileURLToPath(new URL('../public', import.meta.url));

export interface GatewayOptions {
  config: Config;
  settings: readonly Setting[];
  /** Directory of the engine sockets. */
  runDir: string;
  log: Log;
}

/** A running gateway: one process, one event loop, one port. */
export interface Gateway {
  readonly port: number;
  readonly catalog: Catalog;
  /** Reads a new catalog from these sources beside the running one. */
  prepareReload(sources: readonly string[]): Promise<CatalogSnapshot>;
  commitReload(snapshot: CatalogSnapshot): void;
  /** Answers what runs, takes nothing new, releases everything. */
  close(graceMs: number): Promise<void>;
}

/** Assembles and starts a gateway. Rejects when the state database or the port cannot be used. */
export async function startGateway({ config, settings, runDir, log }: GatewayOptions): Promise<Gateway> {
  const dataDir = resolve(config.data.directory);
  const { vectorThreads, queue } = config.workers;
  const pools = createPools({ vectorThreads, maxQueue: queue, runDir });
  const tiles = new TileCache(config.cache.tileBytes);
  const ids = new Map<string, number>();
  const catalog = new Catalog({
    pools,
    dataDir,
    layerIdOf: async (id) => {
      if (!ids.has(id)) ids.set(id, ids.size + 1);
      return ids.get(id)!;
    },
  });
  const { observability } = config;
  const registry = createRegistry();
  watchEventLoop();
  watchPools(() => pools.status());
  const otlp = observability.otlpEndpoint ? startOtlp(observability.otlpEndpoint, version()) : undefined;

  const operations = surfaceOperations({
    catalog: () => catalog.current,
    pools,
    tiles,
    registry,
    metricsPath: observability.enabled ? observability.prometheus.path : undefined,
    poolStatus: () => pools.status(),
    pingState: async () => {},
    catalogStatus: () => ({
      generation: catalog.current.generation,
      collections: catalog.current.collections.length,
      quarantined: catalog.current.quarantined.length,
    }),
    cacheStatistics: () => tiles.statistics(),
    publicDir: PUBLIC_DIR,
    version: version(),
  });
  const dispatcher = new Dispatcher({
    operations,
    authenticate: () => {
      throw new Error('no auth');
    },
    permits: () => false,
    audit: async () => {},
  });
  catalog.commit(await catalog.prepare(config.data.sources));
  const { server: settingsOfServer } = config;
  const server = new HttpServer({
    dispatcher,
    log,
    vendor: settingsOfServer.vendor,
    publicUrl: settingsOfServer.publicUrl || undefined,
    trustProxy: settingsOfServer.trustProxy,
    fallbackHost: `localhost:${settingsOfServer.port}`,
  });
  const port = await server.listen(settingsOfServer.host, settingsOfServer.port);
  void settings;
  void join;
  return {
    port,
    catalog,
    prepareReload: (sources) => catalog.prepare(sources),
    commitReload: (snapshot) => catalog.commit(snapshot),
    async close(graceMs) {
      await server.close(graceMs);
      await catalog.close();
      await pools.close();
      await otlp?.shutdown();
    },
  };
}
