import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { Config, Setting } from '../../core/config/config.js';
import type { Operation, Principal } from '../../core/http/operation.js';
import { version } from '../../core/kit/version.js';
import type { HeldResource } from '../../core/observability/held.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { type AccessPolicy, isUnrestricted } from '../../services/access/access.js';
import type { CertificateTrust } from '../../services/access/certificates/trust.js';
import type { IdentityParts } from '../../services/access/identity/identity-parts.js';
import type { Users } from '../../services/access/identity/users.js';
import type { ApiKeys } from '../../services/access/keys/api-keys.js';
import type { EmbedKeys } from '../../services/access/keys/embed-keys.js';
import { SealKeys } from '../../services/access/keys/seal-keys.js';
import { StateCipher } from '../../services/access/keys/state-cipher.js';
import type { RateLimits } from '../../services/access/rate-limits.js';
import type { Derivations } from '../../services/access/rules/derivations.js';
import { listPermissions } from '../../services/access/rules/policy.js';
import type { PresentRights } from '../../services/access/rules/present-rights.js';
import { type AccessRules, givesRights } from '../../services/access/rules/rules.js';
import type { Tenants } from '../../services/access/tenants.js';
import type { AlertDispatch } from '../../services/alerts/dispatch.js';
import type { AlertRules } from '../../services/alerts/rules.js';
import type { AlertStream } from '../../services/alerts/stream.js';
import type { Attachments } from '../../services/attachments/service.js';
import { repeatSweeps } from '../../services/attachments/sweep.js';
import { AuditCheckpoints } from '../../services/audit/checkpoints.js';
import type { Catalog } from '../../services/catalog/catalog.js';
import { LayerFinder } from '../../services/catalog/copies/shown-layers.js';
import type { CrsList } from '../../services/catalog/crs/crs-list.js';
import type { SourceCrs } from '../../services/catalog/crs/source-crs.js';
import type { FolderNames } from '../../services/catalog/folder-names.js';
import type { SourceChange } from '../../services/catalog/inspections/readings.js';
import type { Layers } from '../../services/catalog/layers/layers.js';
import type { PublishedLayers } from '../../services/catalog/publish/layers.js';
import type { SourceLayers } from '../../services/catalog/publish/source-layers.js';
import { manageRasters } from '../../services/catalog/rasters/raster-management.js';
import type { SourceStates } from '../../services/catalog/source-states.js';
import type { Cluster } from '../../services/cluster/cluster.js';
import { createSharedTurns } from '../../services/cluster/turns.js';
import type { Connections } from '../../services/connections/connections.js';
import { Deployments } from '../../services/deploy/deployments.js';
import { DiagnosticBundles } from '../../services/diagnostics/bundles.js';
import type { Edits } from '../../services/edits/edits.js';
import { Merges } from '../../services/edits/merges.js';
import { LayerCopies } from '../../services/exchange/copies/copies.js';
import { ReaderExports } from '../../services/exchange/exports/reader-exports.js';
import { Exports } from '../../services/exchange/exports/service.js';
import { ImportService } from '../../services/exchange/import.js';
import { MigrationBatches } from '../../services/exchange/migrations/batches.js';
import { LayerMetadataWriter } from '../../services/exchange/migrations/geoserver/metadata-writer.js';
import { GeoServerMigrations } from '../../services/exchange/migrations/geoserver/migrations.js';
import { BatchRelationships } from '../../services/exchange/migrations/relationships.js';
import { CoverageImports } from '../../services/exchange/remote/coverages.js';
import { geoServices } from '../../services/exchange/remote/geoservices.js';
import { AttachmentImport } from '../../services/exchange/remote/geoservices-attachments.js';
import { GeoServicesSettings } from '../../services/exchange/remote/geoservices-settings.js';
import { createObjectImport } from '../../services/exchange/remote/objects.js';
import { ogcFeatures } from '../../services/exchange/remote/ogc-features.js';
import type { SecretSource } from '../../services/exchange/remote/secret-references.js';
import { wfs } from '../../services/exchange/remote/wfs.js';
import { ResumableUploads } from '../../services/exchange/resumable-uploads.js';
import { findStoreFile } from '../../services/exchange/store-file.js';
import { TilePackages } from '../../services/exchange/tiles/packages.js';
import { Tilesets } from '../../services/exchange/tiles/tilesets.js';
import { WmtsImports } from '../../services/exchange/tiles/wmts.js';
import { Uploads } from '../../services/exchange/uploads.js';
import type { Geocoding } from '../../services/geocoding/service.js';
import { waitForJob } from '../../services/jobs/bounded-wait.js';
import { createJobEngine } from '../../services/jobs/configured-engine.js';
import type { JobEngine } from '../../services/jobs/engine.js';
import type { Capacity } from '../../services/licensing/capacity.js';
import type { Licences } from '../../services/licensing/licences.js';
import type { OpsHealth } from '../../services/observability/health/ops-health.js';
import type { HostChecks } from '../../services/observability/host-checks.js';
import type { Observer } from '../../services/observability/observer.js';
import type { CacheFigures, ProcessReports } from '../../services/observability/process-reports.js';
import type { RequestRecords } from '../../services/observability/request-records.js';
import type { Findings } from '../../services/operate/findings/findings.js';
import { Callbacks } from '../../services/processes/callbacks.js';
import { Processes } from '../../services/processes/service.js';
import type { Replicas } from '../../services/replicas/service.js';
import { objectUrl } from '../../services/storage/places.js';
import type { Storage } from '../../services/storage/storage.js';
import type { SessionDirectory } from '../../services/streams/directory.js';
import type { Styles } from '../../services/styles/index.js';
import type { Log } from '../../services/telemetry/log.js';
import { exception } from '../../services/telemetry/log.js';
import type { CacheControl } from '../../services/tiles/cache/cache-control.js';
import type { TileCache } from '../../services/tiles/cache/tile-cache.js';
import { TileJobs } from '../../services/tiles/jobs/service.js';
import { warmTile } from '../../services/tiles/load.js';
import { folderName } from '../../stores/database/private-files.js';
import type { JobRow } from '../../stores/jobs/jobs.js';
import type { State } from '../../stores/state/state.js';
import { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import { createConfigDocument } from '../admin/config-document.js';
import type { AdminDeps } from '../admin/deps.js';
import { managementDocument } from '../admin/management-document.js';
import type { RunServices } from '../admin/row-run.js';
import { exportDownload } from '../catalog/admin/export-download.js';
import { rejectedRowsDownload } from '../exchange/admin/rejected-rows.js';
import { sealKeysOperation } from '../operate/seal-keys.js';
import { statusInfo } from '../processes/documents.js';
import { resultLinks } from '../processes/results.js';
import { tileDownload } from '../tiles/admin/tile-download.js';
import { createFieldServices, createForms, type FieldServices } from './forms.js';
import { createCompliance, keepEvidence } from './governance/compliance.js';
import { createLedger, createWorkflow, proposeExecution, registerActuators } from './governance/operate.js';
import { createReviews } from './governance/packages.js';
import { adminOperations, extensionOperations } from './management-groups.js';
import type { SceneServices } from './scenes.js';

export interface ManagementOptions {
  config: Config;
  settings: readonly Setting[];
  dataDir: string;
  state: State;
  cluster: Cluster;
  keys: ApiKeys;
  users: Users;
  tenants: Tenants;
  limits: RateLimits;
  embedKeys: EmbedKeys;
  identity: IdentityParts;
  certificates: CertificateTrust;
  presentRights: PresentRights;
  rules: AccessRules;
  derivations: Derivations;
  names: FolderNames;
  pools: Pools;
  storage: Storage;
  cache: CacheControl;
  tiles: TileCache;
  catalog: Catalog;
  /** The catalog as a principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
  log: Log;
  alerts: AlertStream;
  alertDispatch: AlertDispatch;
  observer: Observer;
  requestRecords: RequestRecords;
  opsHealth: OpsHealth;
  /** True in one gateway of a server. */
  first: boolean;
  /** Findings of all servers, from facts that include those of the audit trail. */
  createFindings(audit: Pick<AuditCheckpoints, 'verify'>): Findings;
  hostChecks: HostChecks;
  licences: Licences;
  capacity: Capacity;
  reports: ProcessReports;
  alertRules: AlertRules;
  streams: SessionDirectory;
  replicas: Replicas;
  styles: Styles;
  layers: Layers;
  connections: Connections;
  publishedLayers: PublishedLayers;
  sourceLayers: SourceLayers;
  sourceStates: SourceStates;
  sourceCrs: SourceCrs;
  crsList: CrsList;
  edits: Edits;
  attachments: Attachments;
  geocoding: Geocoding;
  scenes: SceneServices;
  /** Removes attachments of deleted features, and unreferenced bytes. */
  sweepAttachments(): Promise<void>;
  /** Permissions of a principal for a collection. */
  access: AccessPolicy;
}

export interface Management {
  readonly processes: Processes;
  readonly readerExports: ReaderExports;
  readonly submissions: FieldServices['submissions'];
  /**
   * Resolves with a job when it ends. Resolves earlier with its current state after `ms`, when the signal is aborted,
   * or when the server stops.
   */
  waitFor(job: JobRow, ms: number, signal?: AbortSignal): Promise<JobRow>;
  readonly operations: readonly Operation[];
  /** Ends the waits of requests for jobs. */
  endWaits(): void;
  /** True once requests wait for no job. */
  isStopping(): boolean;
  /** Starts executing jobs. */
  start(): void;
  close(): Promise<void>;
}

/** The management API with everything it acts on: jobs, imports, cache, configuration. */
export function startManagement(options: ManagementOptions): Management {
  const { config, state, cluster, keys, pools, catalog, log, derivations, names } = options;
  const jobs = createJobEngine(state.jobs, config.jobs, {
    folder: config.state.url === '' ? undefined : folderName(options.dataDir),
    requireCaller: (caller) => options.presentRights.requireCaller(caller),
    onError: (error: unknown) => log.write('job.engine.failed', exception(error)),
  });
  options.reports.setCache(() => readCacheFigures(options.cache));
  options.reports.addResources(() => listSessions(options.streams, jobs));
  /** Before a job succeeds, all processes show the data that it created. */
  const publish = async (reason: string, changes: readonly SourceChange[] = []) => {
    await state.announcements.add('catalog', { reason, changes });
    await cluster.settle();
  };
  const merges = new Merges({
    pools,
    edits: options.edits,
    dataDir: options.dataDir,
    catalog: () => catalog.current,
    callers: { visible: options.visible, access: options.access },
  });
  const readMs = config.jobs.importSeconds * 1000;
  const imports = new ImportService({
    pools,
    readMs,
    jobs,
    dataDir: options.dataDir,
    publish: ({ id, store }) => publish(`${id} was imported`, [{ source: store, table: id }]),
    isPublished: (id) => catalog.current.byId(id) !== undefined,
    names,
    neighbours: () => catalog.current.collections,
    storeOf: (id, first) => findStoreFile(catalog.current.byId(id), first),
    mayReplace(id, principal) {
      const replaced = catalog.current.byId(id);
      return replaced === undefined || isUnrestricted(options.access(principal, replaced, 'write'));
    },
    forget: (id, job) => state.attachments.forgetAll(id, job),
    recordSources: (id, sources) => derivations.record(id, sources, 'system'),
    withdraw: ({ id, file, source }) => publish(`${id} was removed`, [{ source: file, table: source.table }]),
    merges,
  });
  const sealing = new StateCipher(config.security.stateKey);
  const sealKeys = new SealKeys(state.documents, sealing);
  const ledger = createLedger({ state, jobs, keys: sealKeys, presentRights: options.presentRights, log });
  const { connections } = options;
  const secrets: SecretSource = {
    allowed: config.connections.secrets,
    credentialsOf: (id, url) => connections.credentialsOf(id, url),
  };
  imports.addRemote(ogcFeatures(pools, secrets));
  imports.addRemote(wfs(pools, sealing, secrets));
  imports.addRemote(createObjectImport(pools, connections.activeStore));
  const settings = new GeoServicesSettings(options.layers, options.styles, () => catalog.current);
  const attachmentImport = new AttachmentImport({
    pools,
    attachments: options.attachments,
    store: state.attachments,
    catalog: () => catalog.current,
  });
  imports.addRemote(geoServices(pools, secrets, settings, attachmentImport));
  imports.trim().catch((error: unknown) => log.write('job.engine.failed', exception(error)));
  const { cache, tiles, visible } = options;
  const readerExports = new ReaderExports({
    pools,
    jobs,
    dataDir: options.dataDir,
    catalog: () => catalog.current,
    visible,
  });
  const exports = new Exports({ pools, jobs, dataDir: options.dataDir, visible });
  // Files of a bucket are in no data folder.
  const archiveNames = options.storage.folder === undefined ? {} : { names };
  const processes = new Processes({
    pools,
    jobs,
    imports,
    visible,
    dataDir: options.dataDir,
    storage: options.storage,
    reload: publish,
    derivations,
    ...archiveNames,
    approval: config.processes.approval,
    propose: (parameters, requester) => proposeExecution(ledger, parameters, requester),
    spoolBytes: config.processes.spool,
    pushDown: config.processes.pushDown,
    memoryBytes: config.processes.memory,
    callbacks: new Callbacks({
      jobs,
      allowed: new AllowedHosts(config.remote.allow),
      documents: { status: (job, baseUrl) => statusInfo({ baseUrl }, job), results: resultLinks },
    }),
  });
  const resumableUploads = new ResumableUploads(options.dataDir, imports);
  const tileJobs = new TileJobs({
    pools,
    jobs,
    dataDir: options.dataDir,
    storage: options.storage,
    catalog: () => catalog.current,
    visible,
    derivations,
    ...archiveNames,
    cacheReach: tiles.reach,
    warm: async (request) => warmTile({ tiles, pools }, request),
    drop: async (layerId) =>
      cache.invalidate(layerId === undefined ? { kind: 'all' } : { kind: 'layer', layerId }),
    reload: publish,
  });
  const tilesets = new Tilesets({
    dataDir: options.dataDir,
    storage: options.storage,
    collections: () => catalog.current.collections,
    ...archiveNames,
    reload: publish,
  });
  const tilePackages = new TilePackages({ pools, jobs, tilesets });
  const wmtsImports = new WmtsImports({ pools, jobs, tilesets, sealing });
  const shownLayers = new LayerFinder({
    documents: state.documents,
    rasters: state.rasters,
    collections: state.collections,
    derivations,
    catalog: () => catalog.current,
  });
  const rasters = manageRasters({
    state,
    readMs,
    catalog: () => catalog.current,
    dataDir: options.dataDir,
    storage: options.storage,
    settle: async () => void (await cluster.settle()),
    pools,
    jobs,
    urlOf: objectUrl(process.env),
    storeOf: connections.storeFinder,
    folders: () => catalog.sources,
    shownLayers,
    derivations,
    names,
  });
  const coverageImports = new CoverageImports({
    pools,
    imports: rasters.imports,
    collections: state.collections,
    catalog: () => catalog.current,
  });
  const layerCopies = new LayerCopies({
    connections,
    pools,
    jobs,
    imports,
    layers: options.layers,
    shownLayers,
    derivations,
    documents: state.documents,
    collections: state.collections,
    catalog: () => catalog.current,
  });
  const bundles = new DiagnosticBundles({
    store: state.diagnosticBundles,
    audit: state.audit,
    sealing,
    pools,
    ...config.diagnostics.bundles,
  });
  const checkpoints = new AuditCheckpoints({
    audit: state.audit,
    store: state.auditCheckpoints,
    keys: sealKeys,
    log,
  });
  const findings = options.createFindings(checkpoints);
  const workflow = createWorkflow({ findings, ledger, state, log, hasOwnKey: sealing.encrypts });
  const compliance = createCompliance({ ...options, checkpoints }, () => operations);
  const forms = createForms(state, options.catalog);
  const fields = createFieldServices(state, forms, {
    ...{ pools, visible, sealing },
    ...{ access: options.access, edits: options.edits, presentRights: options.presentRights },
    catalog: () => catalog.current,
  });
  const deps: AdminDeps = {
    findings,
    findingActions: workflow.actions,
    autonomy: workflow.autonomy,
    compliance,
    deployments: new Deployments({ state, ledger, settings: config.deploy }),
    ...createReviews(options, processes),
    forms,
    ...fields,
    scenes: options.scenes.scenes,
    liveScenes: options.scenes.liveScenes,
    bundles,
    checkpoints,
    access: options.access,
    server: { version: version(), releaseChannel: 'preview' },
    state,
    keys,
    rules: options.rules,
    users: options.users,
    tenants: options.tenants,
    limits: options.limits,
    embedKeys: options.embedKeys,
    identity: options.identity,
    certificates: options.certificates,
    settle: async () => void (await cluster.settle()),
    catalog: () => catalog.current,
    jobs,
    imports,
    exports,
    visible,
    uploads: new Uploads(cluster.peers, jobs, resumableUploads),
    resumableUploads,
    sealing,
    tileJobs,
    tilePackages,
    tilesets,
    wmtsImports,
    rasters,
    coverageImports,
    migrationBatches: new MigrationBatches({
      jobs,
      imports,
      relationships: new BatchRelationships(options.layers, () => catalog.current),
    }),
    replicas: options.replicas,
    geoServerMigrations: new GeoServerMigrations({
      pools,
      jobs,
      imports,
      coverages: coverageImports,
      dataDir: options.dataDir,
      catalog: () => catalog.current,
      words: new LayerMetadataWriter(
        options.layers,
        options.styles,
        pools,
        () => catalog.current,
        imports,
        rasters.imports,
      ),
      secrets,
      key: config.releases.key,
    }),
    styles: options.styles,
    connections,
    layers: options.layers,
    geocoding: options.geocoding,
    publishedLayers: options.publishedLayers,
    derivations,
    layerCopies,
    ledger,
    sourceLayers: options.sourceLayers,
    sources: options.sourceStates,
    sourceCrs: options.sourceCrs,
    crsList: options.crsList,
    pools,
    cache,
    alerts: options.alerts,
    alertDispatch: options.alertDispatch,
    observer: options.observer,
    requestRecords: options.requestRecords,
    opsHealth: options.opsHealth,
    licences: options.licences,
    capacity: options.capacity,
    reports: options.reports,
    alertRules: options.alertRules,
    streams: options.streams,
    config: createConfigDocument(options.settings),
    releases: config.releases,
    permissions: () => listPermissions(operations),
    openApi: (prefix) => managementDocument(operations, config.server, prefix),
  };
  registerActuators(ledger, deps, { processes, presentRights: options.presentRights, config });
  const { turns, announcements: store } = state;
  const runs: RunServices = {
    turns: createSharedTurns(config, { turns, store, announcements: cluster.announcements }),
    catalog: deps.catalog,
  };
  const operations: Operation[] = [
    ...adminOperations(deps, runs),
    ...extensionOperations(deps, runs),
    tileDownload(tileJobs),
    exportDownload(
      async (id, owner) =>
        (await deps.geoServerMigrations.evidence(id, owner)) ?? (await exports.file(id, owner)),
    ),
    rejectedRowsDownload(imports, merges),
  ];
  let stopSweeps: (() => void) | undefined;
  let stopEvidence: (() => void) | undefined;
  const closing = new AbortController();
  const start = () => {
    jobs.start();
    checkpoints.start();
    if (options.first) workflow.loop.start();
    stopEvidence = keepEvidence(compliance, log);
    const sweep = async () => {
      await Promise.all([
        options.sweepAttachments(),
        readerExports.trim(),
        bundles.expire(),
        fields.fieldReviews.trim(),
      ]);
    };
    stopSweeps = repeatSweeps(sweep, (error) => log.write('attachments.left', exception(error)));
    Promise.all([
      rasters.imports.sweep(),
      imports.trim(),
      resumableUploads.trim(),
      options.geocoding.locators.sweep(),
      exports.trim(),
      readerExports.trim(),
      processes.trim(),
      layerCopies.takeUp(closing.signal),
      options.publishedLayers.takeUp(),
    ]).catch((error: unknown) => {
      if (!closing.signal.aborted) log.write('import.files.left', exception(error));
    });
  };
  const lookAtCallers = () => void jobs.lookAtCallers();
  const unfollow = options.rules.follow(lookAtCallers, givesRights);
  cluster.announcements.on('lost-secret', lookAtCallers);
  const close = () => {
    closing.abort();
    unfollow();
    stopSweeps?.();
    stopEvidence?.();
    checkpoints.stop();
    return Promise.all([jobs.stop(), workflow.loop.stop()]).then(() => {});
  };
  return {
    operations: [...operations, sealKeysOperation(sealKeys)],
    processes,
    readerExports,
    submissions: fields.submissions,
    start,
    close,
    waitFor: (job, ms, signal) => waitForJob(jobs, job, ms, signal),
    endWaits: () => jobs.endWaits(),
    isStopping: () => jobs.isStopping,
  };
}

/** Sessions and leases of this process. The client, or the job, keeps them on purpose. */
function listSessions(streams: SessionDirectory, jobs: JobEngine): HeldResource[] {
  const sessions = streams.own.map(({ sessionId, transport, connectedAt }) => ({
    ...{ id: sessionId, kind: 'stream-session' as const, label: transport, isAlive: true },
    ...{ since: Date.parse(connectedAt), keptBy: 'client' },
  }));
  const leases = jobs.leases.map(({ id, kind, since }) => ({
    ...{ id, kind: 'job-lease' as const, label: kind, isAlive: true, since, keptBy: 'job' },
  }));
  return [...sessions, ...leases];
}

async function readCacheFigures(cache: CacheControl): Promise<CacheFigures> {
  const { entries, bytes, hits, misses, evictions, expirations, deletions, meanMakingMs } = cache.status();
  const levels = Object.fromEntries((await cache.levels()).map(({ name, lookUps }) => [name, lookUps]));
  return { entries, bytes, hits, misses, evictions, expirations, deletions, meanMakingMs, levels };
}
