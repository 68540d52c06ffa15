import { join } from 'node:path';
import { CatalogSnapshot } from '../../../src/core/catalog/collection.js';
import type { CacheScope } from '../../../src/core/cluster/notes.js';
import { loadConfig, type Setting } from '../../../src/core/config/config.js';
import { ApiError } from '../../../src/core/errors/errors.js';
import type { AdminDeps } from '../../../src/gateway/admin/deps.js';
import type { AdminOperation } from '../../../src/gateway/admin/kit.js';
import { type Authenticator, createAuthenticator } from '../../../src/gateway/auth/authenticator.js';
import { createFieldServices, createForms } from '../../../src/gateway/start/forms.js';
import { adminOperations, extensionOperations } from '../../../src/gateway/start/management-groups.js';
import { createScenes } from '../../../src/gateway/start/scenes.js';
import { CertificateTrust } from '../../../src/services/access/certificates/trust.js';
import { Bearers } from '../../../src/services/access/identity/bearers.js';
import { EndedTokens } from '../../../src/services/access/identity/ended-tokens.js';
import type { IdentityParts } from '../../../src/services/access/identity/identity-parts.js';
import { OAuthClients } from '../../../src/services/access/identity/oauth-clients.js';
import { SigningKeys } from '../../../src/services/access/identity/signing-keys.js';
import { EmbedKeys } from '../../../src/services/access/keys/embed-keys.js';
import { SealKeys } from '../../../src/services/access/keys/seal-keys.js';
import { SecretKeys } from '../../../src/services/access/keys/secret-keys.js';
import { StateCipher } from '../../../src/services/access/keys/state-cipher.js';
import { providerFetch } from '../../../src/services/access/oidc/provider-fetch.js';
import { OidcProviders } from '../../../src/services/access/oidc/providers.js';
import { SignIns } from '../../../src/services/access/oidc/sign-ins.js';
import { RateLimits } from '../../../src/services/access/rate-limits.js';
import { Derivations } from '../../../src/services/access/rules/derivations.js';
import { defaultPolicy } from '../../../src/services/access/rules/policy.js';
import { AccessRules, NO_RULES } from '../../../src/services/access/rules/rules.js';
import { Tenants } from '../../../src/services/access/tenants.js';
import { AlertDispatch } from '../../../src/services/alerts/dispatch.js';
import { AlertRules } from '../../../src/services/alerts/rules.js';
import { AlertStream } from '../../../src/services/alerts/stream.js';
import { AuditCheckpoints } from '../../../src/services/audit/checkpoints.js';
import { LayerFinder } from '../../../src/services/catalog/copies/shown-layers.js';
import { ChosenCrsStore } from '../../../src/services/catalog/crs/chosen-crs.js';
import { CrsList } from '../../../src/services/catalog/crs/crs-list.js';
import { SourceCrs } from '../../../src/services/catalog/crs/source-crs.js';
import { Layers } from '../../../src/services/catalog/layers/layers.js';
import { PublishedLayers } from '../../../src/services/catalog/publish/layers.js';
import { SourceLayers } from '../../../src/services/catalog/publish/source-layers.js';
import { manageRasters } from '../../../src/services/catalog/rasters/raster-management.js';
import { SourceStates } from '../../../src/services/catalog/source-states.js';
import { Peers } from '../../../src/services/cluster/peers.js';
import { Compliance } from '../../../src/services/compliance/compliance.js';
import { Connections } from '../../../src/services/connections/connections.js';
import { createDeployActuator } from '../../../src/services/deploy/actuator.js';
import { Deployments } from '../../../src/services/deploy/deployments.js';
import { DiagnosticBundles } from '../../../src/services/diagnostics/bundles.js';
import { Edits } from '../../../src/services/edits/edits.js';
import { LayerCopies } from '../../../src/services/exchange/copies/copies.js';
import { Exports } from '../../../src/services/exchange/exports/service.js';
import { ImportService } from '../../../src/services/exchange/import.js';
import type { ImportedCollection } from '../../../src/services/exchange/import-input.js';
import { MigrationBatches } from '../../../src/services/exchange/migrations/batches.js';
import { LayerMetadataWriter } from '../../../src/services/exchange/migrations/geoserver/metadata-writer.js';
import { GeoServerMigrations } from '../../../src/services/exchange/migrations/geoserver/migrations.js';
import { CoverageImports } from '../../../src/services/exchange/remote/coverages.js';
import { ResumableUploads } from '../../../src/services/exchange/resumable-uploads.js';
import { TilePackages } from '../../../src/services/exchange/tiles/packages.js';
import { Tilesets } from '../../../src/services/exchange/tiles/tilesets.js';
import { WmtsImports } from '../../../src/services/exchange/tiles/wmts.js';
import { Uploads } from '../../../src/services/exchange/uploads.js';
import { Federation } from '../../../src/services/federation/federation.js';
import { Geocoding } from '../../../src/services/geocoding/service.js';
import { JobEngine } from '../../../src/services/jobs/engine.js';
import { Capacity } from '../../../src/services/licensing/capacity.js';
import { Licences } from '../../../src/services/licensing/licences.js';
import { OpsHealth } from '../../../src/services/observability/health/ops-health.js';
import { HealthMinutes } from '../../../src/services/observability/latency/health-minutes.js';
import { LatencyRecorder } from '../../../src/services/observability/latency/latencies.js';
import { StateClock } from '../../../src/services/observability/latency/state-clock.js';
import { Observer } from '../../../src/services/observability/observer.js';
import { ProcessReports } from '../../../src/services/observability/process-reports.js';
import { RequestRecords } from '../../../src/services/observability/request-records.js';
import { Autonomy } from '../../../src/services/operate/autonomy/autonomy.js';
import { FindingActions } from '../../../src/services/operate/findings/finding-actions.js';
import { Findings } from '../../../src/services/operate/findings/findings.js';
import { Ledger } from '../../../src/services/operate/ledger.js';
import { PackageReviews } from '../../../src/services/packages/reviews.js';
import { Replicas } from '../../../src/services/replicas/service.js';
import { FolderStorage } from '../../../src/services/storage/folder.js';
import { objectUrl } from '../../../src/services/storage/places.js';
import { SessionDirectory } from '../../../src/services/streams/directory.js';
import { Feed } from '../../../src/services/streams/feed.js';
import { Hub } from '../../../src/services/streams/hub.js';
import { Styles } from '../../../src/services/styles/index.js';
import type { Log } from '../../../src/services/telemetry/log.js';
import { TileJobs } from '../../../src/services/tiles/jobs/service.js';
import type { State } from '../../../src/stores/state/state.js';
import { AllowedHosts } from '../../../src/workers/storage/remote/allowed-hosts.js';
import { GOOD_FACTS, readersOf } from '../../compliance/support/facts.js';
import { temporaryState } from '../../support/state.js';
import { type Call, type CallResult, call } from './call.js';
import { FakePools } from './fake-pools.js';

const setting = (path: string, value: unknown, extra: Partial<Setting> = {}): Setting => ({
  path,
  names: path.split('.'),
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
  /** Rights to what was imported, for tests to take away. */
  const rights = { isImported: false, mayReplace: true };
  const imports = new ImportService({
    pools,
    jobs,
    dataDir,
    publish: async (collection) => void published.push(collection),
    isPublished: (id) => published.some((collection) => collection.id === id),
    storeOf: (_id, first) => (rights.isImported ? first : undefined),
    mayReplace: () => rights.mayReplace,
  });
  const resumableUploads = new ResumableUploads(dataDir, imports);
  const derivations = new Derivations(
    t.state.documents,
    () => NO_RULES,
    async () => {},
  );
  const tileJobs = new TileJobs({
    pools,
    jobs,
    dataDir,
    catalog: () => new CatalogSnapshot([], [], 0),
    visible: () => new CatalogSnapshot([], [], 0),
    derivations: new Derivations(
      t.state.documents,
      () => NO_RULES,
      async () => {},
    ),
    storage: new FolderStorage(dataDir),
    cacheReach: 'process',
    warm: () => Promise.reject(new Error('no tiles here')),
    drop: async () => 5,
    reload: async () => {},
  });
  const tilesets = new Tilesets({
    dataDir,
    storage: new FolderStorage(dataDir),
    collections: () => [],
    reload: async () => {},
  });
  const tilePackages = new TilePackages({ pools, jobs, tilesets });
  const wmtsImports = new WmtsImports({ pools, jobs, tilesets, sealing: new StateCipher('') });
  const shownLayers = new LayerFinder({
    ...{ documents: t.state.documents, rasters: t.state.rasters, collections: t.state.collections },
    ...{ derivations, catalog: () => new CatalogSnapshot([], [], 0) },
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
    storeOf: async () => undefined,
    folders: () => [],
    ...{ shownLayers, derivations },
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
    'test',
    () => [],
    () => {},
  );
  const alerts = new AlertStream(peers, {
    tell() {},
    tellAlert() {},
    events: t.state.alertEvents,
    current: () => undefined,
  });
  const feed = await Feed.open(t.state.feed);
  const hub = new Hub({
    feed,
    pools,
    visible: () => new CatalogSnapshot([], [], 0),
    sessions: { total: 10, perAddress: 10, perKey: 10 },
    notices: alerts,
  });
  const connections = new Connections({
    documents: t.state.documents,
    keys: new SecretKeys(t.state.documents, new StateCipher('')),
    settings: { allow: ['*'], secrets: [], certificates: '' },
    sources: () => [],
    ping: async () => {},
    read: async () => undefined,
    listObjects: async () => ({ objects: [] }),
    describe: async () => ({ problem: { reason: 'refused', message: 'There are no services here.' } }),
    readProblem: () => undefined,
    rastersOf: async () => 0,
    settle: async () => {},
  });
  const visible = () => new CatalogSnapshot([], [], 0);
  const coverageImports = new CoverageImports({
    ...{ pools, imports: rasters.imports, collections: t.state.collections, catalog: visible },
  });
  const layers = new Layers({
    documents: t.state.documents,
    announcements: { on: () => {} },
    catalog: { settle: () => {} },
    pools,
    settle: async () => {},
  });
  const styles = new Styles({
    store: t.state.styles,
    pools,
    catalog: () => new CatalogSnapshot([], [], 0),
    restyle: () => {},
    announcements: { on: () => {} },
    settle: async () => {},
    allowed: {},
  });
  const sourceLayers = new SourceLayers({
    ...{ documents: t.state.documents, rasters: t.state.rasters, connections },
    ownFolders: [],
    catalog: visible,
  });
  const sealing = new StateCipher('');
  const sealKeys = new SealKeys(t.state.documents, sealing);
  const ledger = new Ledger({
    ...{ state: t.state, jobs, keys: sealKeys, onError: () => {} },
    presentRights: { of: async (principal) => principal },
    sharesOrigin: async (decider, author) => decider === author,
  });
  ledger.register(createDeployActuator(t.state));
  const findings = new Findings({ rules: [], store: t.state.findings });
  const licences = new Licences({
    config: { enabled: false, keys: '', file: '' },
    store: t.state.licences,
    announcements: { on() {} },
    clock: new StateClock(() => t.state.instances.readTime()),
    log: { write() {} },
    settle: async () => {},
  });
  const capacity = new Capacity({
    ...{ licences, store: t.state.capacity, instances: t.state.instances, log: { write() {} } },
    ...{ role: 'production', topology: 'single-node', localUnits: 2, hasRedis: false },
  });
  const reports = new ProcessReports({
    ...{ instance: 'test', peers, state: t.state.statements.recorder },
    pools: { look: async () => [] },
  });
  reports.setCache(async () => ({ ...figures, levels: {} }));
  const deps: AdminDeps = {
    licences,
    capacity,
    compliance: new Compliance({
      ...{ facts: readersOf(GOOD_FACTS), store: t.state.complianceEvidence, pools, version: '2026.3.0' },
      encryption: () => Promise.reject(new Error('no keys here')),
      residency: { enforced: false, primaryRegion: 'eu-central-1', allowedRegions: ['eu-central-1'] },
      now: Date.now,
    }),
    forms: createForms(t.state, { current: visible() }),
    ...createFieldServices(t.state, createForms(t.state, { current: visible() }), {
      ...{ pools, access: defaultPolicy, catalog: visible, visible, sealing: new StateCipher('') },
      edits: new Edits(pools, () => {}),
      presentRights: { of: async (principal) => principal },
    }),
    ...createScenes(t.state, { sources: [] }, pools),
    federation: new Federation({ sources: [], pools, catalog: visible }),
    packageReviews: new PackageReviews({
      ...{ catalog: visible, visible, access: defaultPolicy, styles, formats: [] },
      processes: { listRead: () => [], review: async () => undefined },
      checkQuery: () => {},
      readExecution: () => {
        throw new ApiError('not-found', 'There are no processes here.');
      },
    }),
    deployments: new Deployments({ state: t.state, ledger, settings: loadConfig({}).config.deploy }),
    bundles: new DiagnosticBundles({
      ...{ store: t.state.diagnosticBundles, audit: t.state.audit, pools, sealing, days: 30, count: 10 },
    }),
    checkpoints: new AuditCheckpoints({
      ...{ audit: t.state.audit, store: t.state.auditCheckpoints, keys: sealKeys },
      log: { write: () => {} },
    }),
    access: defaultPolicy,
    sources: new SourceStates({ catalog: visible, publish: async () => {} }),
    sourceCrs: new SourceCrs({
      pools,
      store: new ChosenCrsStore(t.state.documents),
      crsList: new CrsList(pools),
      catalog: visible,
      configured: () => ({}),
      extentOf: () => undefined,
      settle: async () => {},
    }),
    crsList: new CrsList(pools),
    sourceLayers,
    exports: new Exports({ pools, jobs, dataDir, visible }),
    visible,
    connections,
    publishedLayers: new PublishedLayers({
      ...{ documents: t.state.documents, collections: t.state.collections, connections, pools },
      sources: sourceLayers,
      derivations,
      forget: (id) => t.state.attachments.forgetAll(id),
      catalog: () => new CatalogSnapshot([], [], 0),
      settle: async () => {},
    }),
    derivations,
    layerCopies: new LayerCopies({
      ...{ connections, pools, jobs, imports, layers, shownLayers, derivations },
      ...{ documents: t.state.documents, collections: t.state.collections, catalog: visible },
    }),
    server: { version: '2026.3.0', releaseChannel: 'preview' },
    state: t.state,
    keys: auth.keys,
    users: auth.users,
    tenants: new Tenants(
      t.state.documents,
      t.state.tenantUsage,
      async () => {},
      () => {},
    ),
    identity: identityOf(t.state, auth),
    certificates: new CertificateTrust(
      t.state.documents,
      { mode: 'Disabled', environmentId: 'default', header: '' },
      async () => {},
    ),
    embedKeys: new EmbedKeys(
      t.state.documents,
      t.state.embedUsage,
      async () => {},
      () => {},
    ),
    limits: new RateLimits({
      documents: t.state.documents,
      buckets: t.state.rateBuckets,
      planOf: () => undefined,
      onError: () => {},
    }),
    rules: new AccessRules(t.state.documents, { on: () => {} }, new StateCipher('')),
    layers,
    settle: async () => {},
    catalog: () => new CatalogSnapshot([], [], 0),
    jobs,
    imports,
    geocoding: new Geocoding({ pools, dataDir, settings: loadConfig({}).config.geocoding, visible }),
    uploads: new Uploads(peers, jobs, resumableUploads),
    resumableUploads,
    sealing: new StateCipher(''),
    tileJobs,
    tilePackages,
    tilesets,
    wmtsImports,
    rasters,
    coverageImports,
    geoServerMigrations: new GeoServerMigrations({
      ...{ pools, jobs, imports, coverages: coverageImports, dataDir, catalog: visible },
      secrets: { allowed: [], credentialsOf: async () => ({}) },
      ...{
        words: new LayerMetadataWriter(layers, styles, pools, visible, imports, rasters.imports),
        key: '',
      },
    }),
    migrationBatches: new MigrationBatches({ jobs, imports, relationships: { apply: async () => [] } }),
    alerts,
    observer: new Observer('test', peers),
    requestRecords: new RequestRecords('test', peers),
    opsHealth: createOpsHealth(t.state, peers),
    reports,
    alertDispatch: new AlertDispatch({
      ...{ config: loadConfig({}).config, store: t.state.deliveries, log: { write() {} } as unknown as Log },
      ...{ stream: alerts, instance: 'test' },
    }),
    alertRules: new AlertRules({
      ...{ zones: t.state.alertZones, rules: t.state.alertRules, pools, visible },
      hasEvents: () => true,
      simulation: { feed, pools, catalog: visible },
      isConfigured: () => false,
    }),
    streams: new SessionDirectory(hub, peers),
    pools,
    replicas: new Replicas({
      ...{ pools, feed, visible, catalog: visible },
      access: () => ({ allowed: true }),
      edits: new Edits(pools, () => {}),
      feedStore: t.state.feed,
      replicas: t.state.replicas,
      conflicts: t.state.replicaConflicts,
      edited: () => {},
    }),
    styles,
    ledger,
    findings,
    findingActions: new FindingActions({
      ...{ findings, ledger, autonomy: t.state.autonomy, onError: () => {} },
    }),
    autonomy: new Autonomy({
      ...{ store: t.state.autonomy, rules: findings.rules, hasOwnKey: false },
      countByRule: () => t.state.proposals.countByRule(),
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
    releases: { environment: 'default', key: '' },
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
  };
  const operations = [...adminOperations(deps, deps), ...extensionOperations(deps, deps)];
  return {
    ...t,
    auth,
    jobs,
    pools,
    dataDir,
    imports,
    published,
    rights,
    invalidated,
    figures,
    operations,
    /** Calls an operation by method and path template below the base path. */
    call(route: string, request?: Call): Promise<CallResult> {
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

function createOpsHealth(state: State, peers: Peers): OpsHealth {
  const clock = new StateClock(() => state.instances.readTime());
  const opsHealth = new OpsHealth({
    ...{
      instance: 'test',
      release: '2026.3.0',
      declaredRelease: '',
      peers,
      clock,
      store: state.healthPeriods,
    },
    poolStatus: () => [],
    pingState: () => state.check(),
    dataFolder: () => ({}),
    databaseStatus: async () => [],
    outboxStatus: () => [],
    connections: () => undefined,
    cache: () => ({ hits: 3, misses: 1 }),
    hostChecks: () => [],
    quarantined: () => 0,
    openJobs: async () => [],
    channels: async () => [],
    receivers: async () => [],
    dispatch: () => ({ isEnabled: false, isRunning: true, isFailing: false, at: undefined }),
    pendingMigrations: async () => ({ count: 0, removals: 0 }),
    releases: async () => [],
  });
  opsHealth.serve(
    new HealthMinutes({
      ...{ store: state.healthPeriods, recorder: new LatencyRecorder(), clock, replica: 'test' },
      observe: () => opsHealth.observe(),
      onError() {},
    }),
  );
  return opsHealth;
}

export type AdminHarness = Awaited<ReturnType<typeof adminHarness>>;

function find(operations: readonly AdminOperation[], route: string): AdminOperation {
  const [method, path] = route.split(' ');
  const found = operations.find((o) => o.method === method && o.path === `/api/v1/admin${path}`);
  if (!found) throw new Error(`no operation ${route}`);
  return found;
}

function identityOf({ documents }: State, { users, sessions }: Authenticator): IdentityParts {
  const sealing = new StateCipher('');
  const settle = async () => {};
  const clients = new OAuthClients(documents, settle);
  const signing = new SigningKeys(documents, sealing, settle);
  const providers = new OidcProviders(documents, sealing, providerFetch(new AllowedHosts([])), settle);
  return {
    ...{ providers, sessions, clients, signing },
    tokens: new Bearers({
      ...{ keys: signing, clients, sessions, users: { get: async () => undefined } },
      ended: new EndedTokens(documents, settle),
      isProvider: async () => true,
      rules: () => NO_RULES,
    }),
    signIns: new SignIns({
      ...{ providers, documents, sealing, users: () => users, sessions: () => sessions },
      rules: () => NO_RULES,
    }),
  };
}
