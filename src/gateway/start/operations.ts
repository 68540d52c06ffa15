import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Operation } from '../../core/http/operation.js';
import { version } from '../../core/kit/version.js';
import { permits } from '../../services/access/permissions.js';
import { RegionBoxes } from '../../services/exchange/places.js';
import { createRegistry } from '../../services/telemetry/metrics.js';
import { probeOperations } from '../probes/operations.js';
import type { AccessServices } from './access.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';
import type { Management } from './management.js';
import { type AllSurfacesDeps, surfaceOperations } from './operation-list.js';
import { catalogStatus } from './quarantine.js';

const PUBLIC_DIR = fileURLToPath(new URL('../../public', import.meta.url));
const MANUAL_DIR = fileURLToPath(new URL('../../manual', import.meta.url));
const PLACES_FILE = fileURLToPath(new URL('../../places.json', import.meta.url));
const BASEMAP_FILE = fileURLToPath(new URL('../../basemap.mbtiles', import.meta.url));

type JobMembers = 'processes' | 'readerExports' | 'waitFor' | 'isStopping';

/** Every operation but those of the management API. */
export function dataOperations(
  foundation: Foundation,
  data: Data,
  access: AccessServices,
  { processes, readerExports, waitFor, isStopping }: Pick<Management, JobMembers>,
): Operation[] {
  return surfaceOperations({
    ...surfaceDeps(foundation, data, access),
    processes,
    readerExports,
    waitFor,
    isStopping,
  });
}

/** The operations that a worker process serves. */
export function workerOperations(foundation: Foundation, data: Data, access: AccessServices): Operation[] {
  return probeOperations(surfaceDeps(foundation, data, access));
}

function surfaceDeps(
  { config, pools, state, dataDir, dataFolder, hostChecks }: Foundation,
  data: Data,
  { authenticator, identity }: AccessServices,
): Omit<AllSurfacesDeps, JobMembers> {
  const { catalog, visible, caching, databases, events, rules, styles, sourceStates } = data;
  const { licensing, observability } = config;
  return {
    catalog: () => catalog.current,
    visible: (principal) => visible.of(principal),
    listSources: () => sourceStates.list(),
    sources: sourceStates,
    sourceCrs: data.sourceCrs,
    crsList: data.crsList,
    pools,
    lookAtTables: (collections) => data.activity.look(collections),
    access: data.access,
    users: authenticator.users,
    sessions: authenticator.sessions,
    userKeys: authenticator.userKeys,
    clients: identity.clients,
    signing: identity.signing,
    tokens: identity.tokens,
    providers: identity.providers,
    rules: () => data.rules.current,
    geocoding: data.geocoding,
    edits: data.edits,
    replicas: data.replicas,
    attachments: data.attachments,
    dataDir,
    uploads: join(dataDir, 'uploads'),
    licensing,
    tiles: caching.tiles,
    items: data.items,
    stac: data.stac,
    publicDir: PUBLIC_DIR,
    manualDir: MANUAL_DIR,
    basemapFile: BASEMAP_FILE,
    places: RegionBoxes.read(PLACES_FILE),
    popupInfo: async (layerId) => (await styles.current(layerId))?.popupInfo ?? null,
    version: version(),
    hub: events.hub,
    permits,
    registry: createRegistry(),
    metricsPath: observability.enabled ? observability.prometheus.path : undefined,
    poolStatus: () => pools.status(),
    pingState: () => state.check(),
    dataFolder: () => dataFolder.problems(),
    databaseStatus: () => databases.status(),
    outboxStatus: () => events.outboxStatus(),
    catalogStatus: () => catalogStatus(catalog.current, rules.current),
    hostChecks: () => hostChecks.list(),
    cacheRefresh: () => ({
      generation: catalog.current.generation,
      lastRefreshedAt: catalog.replacedAt.toISOString(),
    }),
    license: () => ({
      validationState: licensing.enabled ? 'configured' : 'not_required',
      activeEntitlements: licensing.enabled ? licensing.entitlements : [],
    }),
    cacheStatistics: () => ({
      ...caching.tiles.statistics(),
      collections: caching.control.collections(),
    }),
  };
}
