import { join } from 'node:path';
import { CatalogSnapshot } from '../../../src/core/collection.js';
import type { Setting } from '../../../src/core/config.js';
import { adminOperations } from '../../../src/gateway/admin/index.js';
import type { AdminOperation } from '../../../src/gateway/admin/kit.js';
import { createAuthenticator } from '../../../src/gateway/auth/authenticator.js';
import { AlertStream } from '../../../src/services/alerts.js';
import type { CacheScope } from '../../../src/services/cache/cache-control.js';
import { SessionDirectory } from '../../../src/services/events/directory.js';
import { Feed } from '../../../src/services/events/feed.js';
import { Hub } from '../../../src/services/events/hub.js';
import { type ImportedCollection, ImportService } from '../../../src/services/import.js';
import { JobEngine } from '../../../src/services/jobs/engine.js';
import { Peers } from '../../../src/services/peers.js';
import { manageRasters } from '../../../src/services/rasters/managed.js';
import { objectUrl } from '../../../src/services/rasters/places.js';
import { FolderStorage } from '../../../src/services/storage/folder.js';
import { Styles } from '../../../src/services/styles/index.js';
import { TileJobs } from '../../../src/services/tile-jobs/service.js';
import { temporaryState } from '../../support/state.js';
import { type Call, type Called, call } from './call.js';
import { FakePools } from './fake-pools.js';

const setting = (path: string, value: unknown, extra: Partial<Setting> = {}): Setting => ({
  path,
  type: typeof value,
  description: `About ${path}.`,
  default: '',
  value,
  source: 'default',
  env: `SVC_${path.toUpperCase().replaceAll('.', '__')}`,
  secret: false,
  ...extra,
});

/** The whole management API over a real state database, with fakes at its outer seams. */
export async function adminHarness(temporary = () => temporaryState()) {
  const t = await temporary();
  const auth = createAuthenticator(t.state);
  const jobs = new JobEngine(t.state.jobs, { leaseMs: 400, pollMs: 30 });
  const pools = new FakePools();
  const dataDir = join(t.directory, 'data');
  const published: ImportedCollection[] = [];
  const imports = new ImportService({
    pools,
    jobs,
    dataDir,
    publish: async (collection) => void published.push(collection),
    isPublished: (id) => published.some((collection) => collection.id === id),
  });
  const tileJobs = new TileJobs({
    pools,
    jobs,
    dataDir,
    catalog: () => new CatalogSnapshot([], [], 0),
    storage: new FolderStorage(dataDir),
    cacheReach: 'process',
    warm: () => Promise.reject(new Error('no tiles here')),
    drop: async () => 5,
    reload: async () => {},
  });
  const rasters = manageRasters({
    state: t.state,
    catalog: () => new CatalogSnapshot([], [], 0),
    dataDir,
    storage: new FolderStorage(dataDir),
    settle: async () => {},
    pools,
    jobs,
    urlOf: objectUrl({}),
    folders: () => [],
  });
  const invalidated: CacheScope[] = [];
  const use = {
    key: 'mvt/roads',
    accessCount: 3,
    hitRatio: 0.75,
    avgExecutionTimeMs: 20,
    memoryBytes: 300,
    lastAccessed: Date.UTC(2026, 0, 2, 3, 4, 5),
  };
  const figures = {
    enabled: true,
    entries: 3,
    bytes: 900,
    maxBytes: 1000,
    hits: 3,
    misses: 1,
    evictions: 0,
    expirations: 2,
    deletions: 3,
    meanMakingMs: 20,
    ttlSeconds: 0,
  };
  const peers = new Peers(
    () => 0,
    () => {},
  );
  const alerts = new AlertStream(peers, () => {});
  const hub = new Hub({
    feed: await Feed.open(t.state.feed),
    pools,
    visible: () => new CatalogSnapshot([], [], 0),
    sessions: { total: 10, perAddress: 10, perKey: 10 },
    alerts,
  });
  const operations = adminOperations({
    server: { version: '2026.3.0', releaseChannel: 'preview' },
    state: t.state,
    keys: auth.keys,
    jobs,
    imports,
    tileJobs,
    rasters,
    alerts,
    streams: new SessionDirectory(hub, peers),
    pools,
    styles: new Styles({
      store: t.state.styles,
      pools,
      catalog: () => new CatalogSnapshot([], [], 0),
      restyle: () => {},
      announcements: { on: () => {} },
      settle: async () => {},
      allowed: {},
    }),
    cache: {
      status: () => figures,
      uses: async () => ({ mostUsed: [use], leastUseful: [], largest: [use] }),
      levels: async () => [],
      collections: () => [{ id: 'roads', entries: 3, bytes: 300 }],
      invalidate(scope) {
        invalidated.push(scope);
        return 2;
      },
    },
    config: {
      environment: 'test',
      contentRoot: '/srv',
      settings: [
        setting('server.port', 8080, { source: 'flag' }),
        setting('server.host', '0.0.0.0'),
        setting('security.adminKey', 'topsecret', { secret: true, source: 'environment' }),
      ],
    },
    permissions: () =>
      new Set(['admin:read', 'admin:api-keys:read', 'admin:api-keys:write', 'features:write']),
    openApi: () => ({ openapi: '3.0.3' }),
  });
  return {
    ...t,
    auth,
    jobs,
    pools,
    dataDir,
    imports,
    published,
    invalidated,
    figures,
    operations,
    /** Calls an operation by method and path template below the base path. */
    call(route: string, request?: Call): Promise<Called> {
      return call(find(operations, route), request);
    },
    async close() {
      hub.close();
      alerts.close();
      await jobs.stop();
      await auth.close();
      await t.close();
    },
  };
}

export type AdminHarness = Awaited<ReturnType<typeof adminHarness>>;

function find(operations: readonly AdminOperation[], route: string): AdminOperation {
  const [method, path] = route.split(' ');
  const found = operations.find((o) => o.method === method && o.path === `/api/v1/admin${path}`);
  if (!found) throw new Error(`no operation ${route}`);
  return found;
}
