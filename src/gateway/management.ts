import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { hasFeatures } from '../core/abilities.js';
import type { Collection } from '../core/collection.js';
import type { Config, Setting } from '../core/config.js';
import type { Operation } from '../core/operation.js';
import type { Pools } from '../core/tasks.js';
import { version } from '../core/version.js';
import { WRITE_FEATURES } from '../services/access/access.js';
import type { ApiKeys } from '../services/access/api-keys.js';
import type { AlertStream } from '../services/alerts.js';
import type { CacheControl } from '../services/cache/cache-control.js';
import type { TileCache } from '../services/cache/tile-cache.js';
import type { Catalog } from '../services/catalog.js';
import type { Cluster } from '../services/cluster/cluster.js';
import type { SessionDirectory } from '../services/events/directory.js';
import { ImportService } from '../services/import.js';
import { JobEngine } from '../services/jobs/engine.js';
import { manageRasters } from '../services/rasters/managed.js';
import { objectUrl } from '../services/rasters/places.js';
import type { Storage } from '../services/storage/storage.js';
import type { Styles } from '../services/styles/index.js';
import type { Log } from '../services/telemetry/log.js';
import { exception } from '../services/telemetry/log.js';
import { TileJobs } from '../services/tile-jobs/service.js';
import { warmTile } from '../services/tiles/load.js';
import { folderName } from '../stores/private-files.js';
import type { State } from '../stores/state.js';
import type { ConfigDocument } from './admin/config-document.js';
import { adminOperations } from './admin/index.js';
import { tileDownload } from './admin/tile-download.js';
import { openApiDocument } from './http/openapi.js';

export interface ManagementOptions {
  config: Config;
  settings: readonly Setting[];
  dataDir: string;
  state: State;
  cluster: Cluster;
  keys: ApiKeys;
  pools: Pools;
  storage: Storage;
  cache: CacheControl;
  tiles: TileCache;
  catalog: Catalog;
  log: Log;
  alerts: AlertStream;
  streams: SessionDirectory;
  styles: Styles;
}

export interface Management {
  readonly operations: readonly Operation[];
  /** Begins to run jobs. */
  start(): void;
  close(): Promise<void>;
}

/** The management API with everything it acts on: jobs, imports, cache, configuration. */
export function startManagement(options: ManagementOptions): Management {
  const { config, state, cluster, keys, pools, catalog, log } = options;
  const jobs = new JobEngine(state.jobs, {
    concurrency: config.jobs.atOnce,
    limits: config.jobs.limits,
    folder: config.state.url === '' ? undefined : folderName(options.dataDir),
    onError: (error: unknown) => log.write('job.engine.failed', exception(error)),
  });
  /** All processes show what was made before its job succeeds. */
  const publish = async (reason: string) => {
    await state.announcements.add('catalog', reason);
    await cluster.settle();
  };
  const imports = new ImportService({
    pools,
    jobs,
    dataDir: options.dataDir,
    publish: (collection) => publish(`${collection.id} was imported`),
    isPublished: (id) => catalog.current.byId(id) !== undefined,
    isIn: (id, store) => isTableOf(catalog.current.byId(id), store),
  });
  imports.trim().catch((error: unknown) => log.write('job.engine.failed', exception(error)));
  const { cache, tiles } = options;
  const tileJobs = new TileJobs({
    pools,
    jobs,
    dataDir: options.dataDir,
    storage: options.storage,
    catalog: () => catalog.current,
    cacheReach: tiles.reach,
    warm: async (request) => warmTile({ tiles, pools }, request),
    drop: async (layerId) =>
      cache.invalidate(layerId === undefined ? { kind: 'all' } : { kind: 'layer', layerId }),
    reload: publish,
  });
  const rasters = manageRasters({
    state,
    catalog: () => catalog.current,
    dataDir: options.dataDir,
    storage: options.storage,
    settle: async () => void (await cluster.settle()),
    pools,
    jobs,
    urlOf: objectUrl(process.env),
    folders: () => catalog.sources,
  });
  const operations: Operation[] = adminOperations({
    server: { version: version(), releaseChannel: 'preview' },
    state,
    keys,
    jobs,
    imports,
    tileJobs,
    rasters,
    styles: options.styles,
    pools,
    cache,
    alerts: options.alerts,
    streams: options.streams,
    config: configDocument(options.settings),
    permissions: () => new Set([...operations.map(({ permission }) => permission), WRITE_FEATURES]),
    openApi: () =>
      openApiDocument(
        {
          title: 'Graticule management',
          description: 'Management API',
          serverUrl: config.server.publicUrl || '/',
        },
        operations,
      ),
  });
  operations.push(tileDownload(tileJobs));
  const start = () => {
    jobs.start();
    Promise.all([rasters.imports.sweep(), imports.trim()]).catch((error: unknown) =>
      log.write('import.files.left', exception(error)),
    );
  };
  return { operations, start, close: () => jobs.stop() };
}

function isTableOf(collection: Collection | undefined, store: string): boolean {
  if (!hasFeatures(collection) || collection.source.path === undefined) return false;
  return !collection.stac && realpathSync(store) === realpathSync(collection.source.path);
}

function configDocument(settings: readonly Setting[]): ConfigDocument {
  return {
    environment: process.env['NODE_ENV'] ?? 'production',
    contentRoot: resolve('.'),
    settings,
  };
}
