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
import type { LicensingServices } from './governance/licensing.js';
import { createReadiness } from './health.js';
import type { Management } from './management.js';
import { type AllSurfacesDeps, surfaceOperations } from './operation-list.js';
import { catalogStatus } from './quarantine.js';

const PUBLIC_DIR = fileURLToPath(new URL('../../public', import.meta.url));
const MANUAL_DIR = fileURLToPath(new URL('../../manual', import.meta.url));
const PLACES_FILE = fileURLToPath(new URL('../../places.json', import.meta.url));
const BASEMAP_FILE = fileURLToPath(new URL('../../basemap.mbtiles', import.meta.url));

type JobMembers = 'processes' | 'readerExports' | 'submissions' | 'waitFor' | 'isStopping';

/** Every operation but those of the management API. */
export function dataOperations(
  foundation: Foundation,
  data: Data,
  access: AccessServices,
  services: Pick<Management, JobMembers> & Pick<LicensingServices, 'licences'>,
): Operation[] {
  const { processes, readerExports, submissions, waitFor, isStopping } = services;
  return surfaceOperations({
    ...surfaceDeps(foundation, data, access, services),
    processes,
    readerExports,
    submissions,
    waitFor,
    isStopping,
  });
}

/** The operations that a worker process serves. */
export function workerOperations(
  foundation: Foundation,
  data: Data,
  access: AccessServices,
  licensing: Pick<LicensingServices, 'licences'>,
): Operation[] {
  return probeOperations(surfaceDeps(foundation, data, access, licensing));
}

function surfaceDeps(
  foundation: Foundation,
  data: Data,
  { authenticator, identity }: AccessServices,
  { licences }: Pick<LicensingServices, 'licences'>,
): Omit<AllSurfacesDeps, JobMembers> {
  const { config, pools, dataDir, hostChecks } = foundation;
  const { catalog, visible, caching, events, rules, styles, sourceStates } = data;
  const { observability } = config;
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
    ...data.scenes,
    dataDir,
    uploads: join(dataDir, 'uploads'),
    licensing: licences,
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
    ...createReadiness(foundation, data),
    catalogStatus: () => catalogStatus(catalog.current, rules.current),
    hostChecks: () => hostChecks.list(),
    cacheRefresh: () => ({
      generation: catalog.current.generation,
      lastRefreshedAt: catalog.replacedAt.toISOString(),
    }),
    license: () => ({
      validationState: licences.enabled ? licences.status().validationState : 'not_required',
      activeEntitlements: licences.enabled ? licences.entitlements : [],
    }),
    cacheStatistics: () => ({
      ...caching.tiles.statistics(),
      collections: caching.control.collections(),
    }),
  };
}
