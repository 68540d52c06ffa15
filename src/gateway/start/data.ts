import { join } from 'node:path';
import { DEFAULT_ACCESS } from '../../core/access/access.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { AccessPolicy } from '../../services/access/access.js';
import { SecretKeys } from '../../services/access/keys/secret-keys.js';
import { StateCipher } from '../../services/access/keys/state-cipher.js';
import { Derivations } from '../../services/access/rules/derivations.js';
import { FindingWatch, LossWatch, RenameWatch } from '../../services/access/rules/findings.js';
import {
  computeAudience,
  isKeptFromStrangers,
  mayReadSome,
  rulePolicy,
} from '../../services/access/rules/policy.js';
import { AccessRules, DERIVATION_KIND, isRule } from '../../services/access/rules/rules.js';
import { Attachments } from '../../services/attachments/service.js';
import {
  forgetFeatures,
  type SweepDeps,
  sweepAttachments,
  sweepCollection,
} from '../../services/attachments/sweep.js';
import { Catalog } from '../../services/catalog/catalog.js';
import { SecondNames } from '../../services/catalog/copies/second-names.js';
import { ChosenCrsStore } from '../../services/catalog/crs/chosen-crs.js';
import { CrsList } from '../../services/catalog/crs/crs-list.js';
import { SourceCrs } from '../../services/catalog/crs/source-crs.js';
import { DataVersions } from '../../services/catalog/data-versions.js';
import { Databases } from '../../services/catalog/databases.js';
import { ExtentRefresh } from '../../services/catalog/extents.js';
import type { FolderNames } from '../../services/catalog/folder-names.js';
import { nameInspectingCode } from '../../services/catalog/inspections/inspecting-code.js';
import { INSPECTIONS_FOLDER, InspectionFiles } from '../../services/catalog/inspections/inspection-files.js';
import { Inspections } from '../../services/catalog/inspections/inspections.js';
import type { SourceChange } from '../../services/catalog/inspections/readings.js';
import { Layers } from '../../services/catalog/layers/layers.js';
import { MARKER_FILE, MarkerFile } from '../../services/catalog/marker-file.js';
import { LayerDisplay } from '../../services/catalog/publish/layer-display.js';
import { PublishedLayers } from '../../services/catalog/publish/layers.js';
import { parseHolder } from '../../services/catalog/publish/names.js';
import { readRemote } from '../../services/catalog/publish/remote.js';
import { SourceIdentities } from '../../services/catalog/publish/source-identities.js';
import { SourceLayers } from '../../services/catalog/publish/source-layers.js';
import { findConnectionId } from '../../services/catalog/rasters/connection-rasters.js';
import { registeredIn } from '../../services/catalog/rasters/registered-rasters.js';
import { findRelatedNotes } from '../../services/catalog/related-layers.js';
import { isInOwnFolder, listOwnFolders } from '../../services/catalog/snapshots.js';
import { SourceRecoveries } from '../../services/catalog/source-recoveries.js';
import { SourceStates } from '../../services/catalog/source-states.js';
import { TableActivity } from '../../services/catalog/table-activity.js';
import { VisibleCatalog } from '../../services/catalog/visible-catalog.js';
import { CONNECTION_KIND } from '../../services/connections/connection.js';
import { Connections } from '../../services/connections/connections.js';
import { captureEdits } from '../../services/edits/capture.js';
import { Edits } from '../../services/edits/edits.js';
import { storageExtent } from '../../services/features/storage-extent.js';
import { Geocoding } from '../../services/geocoding/service.js';
import { StacImagery } from '../../services/rasters/stac-imagery/searches.js';
import { Replicas } from '../../services/replicas/service.js';
import { StacItems } from '../../services/stac/items.js';
import { SessionDirectory } from '../../services/streams/directory.js';
import { type Events, startEvents } from '../../services/streams/index.js';
import { Styles } from '../../services/styles/index.js';
import { tellLostStyles } from '../../services/styles/of-files.js';
import { exception } from '../../services/telemetry/log.js';
import { rememberLayerLabels } from '../../services/telemetry/task-metrics.js';
import { type GatewayCache, startCaching } from '../../services/tiles/cache/index.js';
import { folderName } from '../../stores/database/private-files.js';
import { FileLedger } from '../../workers/files/file-ledger.js';
import { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import { ItemReplies } from '../features/item-replies.js';
import { reportFindings } from './findings.js';
import { type Foundation, readRetention } from './foundation.js';
import { tellQuarantined } from './quarantine.js';
import { createScenes, type SceneServices } from './scenes.js';

/** The published data, and the services that read, store, edit and follow it. */
export interface Data {
  readonly databases: Databases;
  readonly imagery: StacImagery;
  readonly catalog: Catalog;
  readonly rules: AccessRules;
  /** The collections that published copies were made of. */
  readonly derivations: Derivations;
  /** Permissions of a principal for a collection, under the current rules. */
  readonly access: AccessPolicy;
  /** The catalog as a principal may read it. */
  readonly visible: VisibleCatalog;
  readonly caching: GatewayCache;
  /** Reports writes to a file by other processes. */
  readonly versions: DataVersions;
  readonly items: ItemReplies;
  readonly extents: ExtentRefresh;
  readonly activity: TableActivity;
  readonly events: Events;
  readonly streams: SessionDirectory;
  readonly stac: StacItems;
  readonly styles: Styles;
  readonly layers: Layers;
  readonly edits: Edits;
  /** Offline copies of layers. */
  readonly replicas: Replicas;
  readonly attachments: Attachments;
  readonly geocoding: Geocoding;
  /** Removes attachments of deleted features, and unreferenced bytes. */
  readonly sweepAttachments: () => Promise<void>;
  /** Databases that operators connected, the tables that they publish, and how these are shown. */
  readonly connections: Connections;
  readonly sourceLayers: SourceLayers;
  readonly sourceStates: SourceStates;
  readonly chosenCrs: ChosenCrsStore;
  readonly sourceCrs: SourceCrs;
  readonly crsList: CrsList;
  readonly publishedLayers: PublishedLayers;
  readonly display: LayerDisplay;
  readonly scenes: SceneServices;
}

/** Makes these parts and has them follow the catalog, which is empty yet. */
export async function startData(foundation: Foundation): Promise<Data> {
  const { config, dataDir, storage, log, pools, state, cluster, peers, tell, onConversion } = foundation;
  const databases = new Databases(pools, config.postgis.startWaitMs);
  const imagery = new StacImagery(pools);
  const ledger = new FileLedger(dataDir, 0);
  const sealing = new StateCipher(config.security.stateKey);
  const identities = new SourceIdentities(listOwnFolders(dataDir));
  const marker = new MarkerFile({
    published: {
      all: () => catalog.published.collections,
      find: (id) => catalog.published.byId(id),
      identify: (collection) => identities.of(collection),
    },
    path: join(dataDir, MARKER_FILE),
    sealing,
    documents: state.documents,
    collections: state.collections,
    onError: (error) => log.write('access.marker.failed', exception(error)),
  });
  const chosenCrs = new ChosenCrsStore(state.documents);
  const catalog = new Catalog({
    chosenCrsOf: (path) => chosenCrs.of(path),
    contentOf: (path) => ledger.contentOf(path),
    pools,
    inspections: new Inspections(
      pools,
      new InspectionFiles(join(dataDir, INSPECTIONS_FOLDER), nameInspectingCode()),
    ),
    imagery,
    ...(onConversion ? { onConversion } : {}),
    databases,
    dataDir,
    storage,
    ...namesFollowedBy(state.collections, marker, {
      names: foundation.names,
      isOwn: (holder) => isInOwnFolder(dataDir, parseHolder(holder).file),
    }),
    async recordCopies(collections) {
      await identities.learn(collections);
      await secondNames.record(collections);
    },
    registered: () => registeredIn(state, (id) => published.connections.storeFinder(id)),
  });
  const current = () => catalog.current;
  const rules = new AccessRules(state.documents, cluster.announcements, sealing, {
    marker,
    defaultAccess: DEFAULT_ACCESS[config.access.default],
  });
  const secondNames = new SecondNames({
    documents: state.documents.announcing('access'),
    load: (id) => rules.load([{ kind: DERIVATION_KIND, id }]),
  });
  const access = rulePolicy(
    () => rules.current,
    (id) => catalog.current.byId(id),
    (id) => layers.settingsOf({ id }),
  );
  const layers = new Layers({
    documents: state.documents,
    announcements: cluster.announcements,
    catalog,
    pools,
    settle: () => cluster.settle(),
    changed: () => rules.mark(),
  });
  const visible = new VisibleCatalog(
    current,
    {
      policy: access,
      version: () => rules.current.version,
      audienceOf: (principal) => computeAudience(principal, rules.current),
      sourcesOf: (id) => rules.current.sourcesOf(id),
      awaited: (principal, collection) => {
        const { enabled = true, service = collection.service } = layers.settingsOf(collection);
        if (!enabled) return 'hidden';
        const layer = { ...collection, ...(service === undefined ? {} : { service }) };
        return mayReadSome(principal, layer, rules.current) ? 'shown' : 'refused';
      },
    },
    pools,
  );
  const caching = await startCaching({
    config: config.cache,
    dataDir,
    log,
    catalog,
    cluster,
    announcements: state.announcements,
    tell,
  });
  const versions = new DataVersions(undefined, (path) => void ledger.settle(path));
  const events = await startDataEvents(foundation, { catalog, visible, versions, caching });
  const allowed = new AllowedHosts(config.remote.allow);
  const attachmentParts = {
    store: state.attachments,
    storage,
    pools,
    catalog: current,
    folder: storage.folder === undefined || config.state.url === '' ? '' : folderName(dataDir),
  };
  const edits = new Edits(
    pools,
    (note) => {
      const collection = current().byId(note.collection);
      caching.edited(note);
      if (hasFeatures(collection))
        for (const related of findRelatedNotes(collection, note.change, current().vectors))
          caching.edited(related);
      events.edited(note.collection);
    },
    (id, ids) => forgetDeleted(attachmentParts, log, id, ids),
    (note) => caching.rested(note),
  );
  const derivations = new Derivations(
    state.documents,
    () => rules.current,
    async () => void (await cluster.settle()),
  );
  const published = publishing(foundation, { catalog, databases, imagery, allowed, derivations });
  const extents = new ExtentRefresh({ catalog, pools, log });
  const crsList = new CrsList(pools);
  const data: Data = {
    ...published,
    databases,
    imagery,
    catalog,
    rules,
    derivations,
    access,
    visible,
    caching,
    versions,
    items: new ItemReplies(versions),
    sourceStates: new SourceStates({
      catalog: current,
      async publish(reason, changes) {
        await state.announcements.add('catalog', { reason, changes });
        await cluster.settle();
      },
    }),
    chosenCrs,
    sourceCrs: new SourceCrs({
      pools,
      crsList,
      store: chosenCrs,
      catalog: current,
      configured: () => catalog.configuredCrs,
      extentOf: storageExtent,
      settle: () => cluster.settle(),
    }),
    crsList,
    extents,
    activity: new TableActivity({ catalog, pools, extents }),
    events,
    streams: new SessionDirectory(events.hub, peers),
    stac: new StacItems({ pools, path: join(dataDir, 'stac', 'items.gpkg'), log }),
    styles: new Styles({
      store: state.styles,
      pools,
      catalog: current,
      restyle: (changed) => catalog.restyle(changed),
      announcements: cluster.announcements,
      settle: () => cluster.settle(),
      allowed: { urlProblem: (url) => allowed.problemOf(url) },
    }),
    layers,
    edits,
    geocoding: new Geocoding({
      pools,
      dataDir,
      settings: config.geocoding,
      visible: (principal) => visible.of(principal).onEarth.serving('FeatureServer'),
    }),
    scenes: createScenes(state, catalog, pools),
    sweepAttachments: () => sweepAttachments(attachmentParts),
    attachments: new Attachments({
      ...attachmentParts,
      access,
      edits,
      visible: (principal) => visible.of(principal).onEarth.serving('FeatureServer'),
    }),
    replicas: new Replicas({
      pools,
      access,
      edits,
      catalog: current,
      visible: (principal) => visible.of(principal).onEarth.serving('FeatureServer'),
      feed: events.feed,
      feedStore: state.feed,
      replicas: state.replicas,
      conflicts: state.replicaConflicts,
      edited: (id) => events.edited(id),
    }),
  };
  rules.follow(() => {
    catalog.judge(isKeptFromStrangers(access));
    events.hub.rejudge();
  }, isRule);
  catalog.follow({
    replaced({ changed }) {
      if (marker.hasNews(changed))
        rules.mark().catch((error: unknown) => log.write('access.marker.failed', exception(error)));
    },
  });
  followCatalog(foundation, data, ledger);
  cluster.announcements.on('catalog', async (subjects) => {
    await chosenCrs.load();
    await catalog.refresh(changesIn(subjects));
  });
  return data;
}

/** The changes that announcements of the catalog contain; undefined if one of them does not name its changes. */
function changesIn(subjects: 'all' | readonly unknown[]): readonly SourceChange[] | undefined {
  if (subjects === 'all') return undefined;
  const changes: SourceChange[] = [];
  for (const subject of subjects) {
    // A connection has no sources itself: the rasters in its buckets are registered separately.
    if ((subject as { kind?: string }).kind === CONNECTION_KIND) continue;
    const { changes: named } = subject as { changes?: readonly SourceChange[] };
    if (!named) return undefined;
    changes.push(...named);
  }
  return changes;
}

/** Names of collections; the marker learns where they come from before they are published. */
function namesFollowedBy(
  collections: Foundation['state']['collections'],
  marker: MarkerFile,
  { names, isOwn }: { names: FolderNames; isOwn: (holder: string) => boolean },
) {
  return {
    async layerIdOf(id: string, holder?: string) {
      if (holder !== undefined) marker.learnSource(id, holder);
      const layerId = await collections.idOf(id, holder);
      if (holder !== undefined && isOwn(holder)) await names.keep(id);
      return layerId;
    },
    listElsewhere: () => names.listElsewhere(),
    async findNames(holders?: readonly string[]) {
      const names = await collections.findNames(holders);
      for (const [holder, { id }] of names) marker.learnSource(id, holder);
      return names;
    },
    async holders() {
      const held = await collections.holders();
      for (const [holder, id] of held) marker.learnSource(id, holder);
      return held;
    },
  };
}

/** If the state does not respond during an edit, the next sweep removes the attachments. */
async function forgetDeleted(
  attachmentParts: SweepDeps,
  log: Foundation['log'],
  id: string,
  ids: readonly string[] | undefined,
): Promise<void> {
  try {
    if (ids) await forgetFeatures(attachmentParts, id, ids);
    else await sweepCollection(attachmentParts, id);
  } catch (error) {
    log.write('attachments.left', { Collection: id, ...exception(error) });
  }
}

/** Milliseconds within which a tested database must respond. */
const PING_MS = 10_000;

/** Services that publish through the management API. */
function publishing(
  { config, dataDir, state, pools, cluster, log, names }: Foundation,
  {
    catalog,
    databases,
    imagery,
    allowed,
    derivations,
  }: Pick<Data, 'catalog' | 'databases' | 'imagery' | 'derivations'> & { allowed: AllowedHosts },
): Pick<Data, 'connections' | 'sourceLayers' | 'publishedLayers' | 'display'> {
  const { documents, collections, rasters, attachments } = state;
  const settle = async () => void (await cluster.settle());
  const keys = new SecretKeys(documents, new StateCipher(config.security.stateKey));
  const connections = new Connections({
    documents,
    keys,
    settings: config.connections,
    settle,
    sources: () => (catalog.current.generation > 0 ? catalog.sources : config.data.sources),
    ping: (database) => pools.run('vector.ping', { database }, { deadlineMs: PING_MS }),
    listObjects: (store, query) => pools.run('ingest.objects', { store, ...query, timeoutMs: PING_MS }),
    describe: (kind, request) => pools.run('ingest.service', { ...request, kind }),
    readProblem: (url) => allowed.problemOf(url),
    rastersOf: async (id) =>
      (await rasters.list({ kind: 'cloud' })).filter((one) => findConnectionId(one) === id).length,
    read: async (url) => {
      const { collections: found, quarantined } = await readRemote(url, { pools, imagery });
      return found.length > 0 ? undefined : quarantined[0]?.reason;
    },
  });
  const sourceLayers = new SourceLayers({
    documents,
    rasters,
    connections,
    ownFolders: listOwnFolders(dataDir),
    catalog: () => catalog.current,
  });
  const publishedLayers = new PublishedLayers({
    documents,
    collections,
    connections,
    pools,
    settle,
    derivations,
    names,
    sources: sourceLayers,
    forget: (id) => attachments.forgetAll(id),
    catalog: () => catalog.current,
  });
  const display = new LayerDisplay({
    documents,
    connections,
    pools,
    announcements: cluster.announcements,
    show: (shown) => catalog.layLayers(shown),
    connect: (urls) => databases.connect(urls),
    onError: (error) => log.write('catalog.layers.failed', exception(error)),
  });
  return { connections, sourceLayers, publishedLayers, display };
}

function startDataEvents(
  { cluster, config, pools, state, log, alerts, instance, tell }: Foundation,
  { catalog, visible, versions, caching }: Pick<Data, 'catalog' | 'visible' | 'versions' | 'caching'>,
): Promise<Events> {
  const { maxSessions, perAddress, perKey } = config.streaming;
  return startEvents({
    pools,
    store: state.feed,
    versions,
    log,
    notices: alerts,
    instance,
    sessions: { total: maxSessions, perAddress, perKey },
    retention: readRetention(config),
    visible: (principal) => visible.of(principal),
    current: () => cluster.pauses.current(),
    catalog: () => catalog.current,
    tell,
    changed: caching.edited,
  });
}

/** Every gateway reloads. The first one also builds the index of items and logs what was lost. */
function followCatalog(
  { config, first, log, pools, alerts }: Foundation,
  { catalog, caching, events, extents, activity, stac, rules, sourceStates }: Data,
  ledger: FileLedger,
): void {
  const recoveries = new SourceRecoveries();
  const { captureEdits: enabled } = config.postgis;
  catalog.follow(
    caching,
    { replaced: ({ changed }) => rememberLayerLabels(changed) },
    { replaced: ({ after }) => recoveries.follow(after) },
    { replaced: () => void sourceStates.list() },
    { replaced: ({ changed }) => events.follow(changed) },
    { replaced: (change) => void captureEdits(change, { enabled, pools, log }) },
    { changed: (collection, change) => extents.edited(collection, change) },
    {
      changed: (collection, change) => activity.edited(collection, change),
      replaced: ({ changed }) => activity.replaced(changed),
    },
  );
  if (!first) return;
  catalog.follow({ replaced: ({ after }) => void reportFindings(after, { ledger, pools, log }) });
  catalog.follow(
    { replaced: (change) => stac.follow(change) },
    { replaced: ({ before, after }) => tellQuarantined(before, after, alerts) },
    { replaced: ({ changed }) => tellLostStyles(changed, log) },
  );
  const findings = new FindingWatch(({ collection, role, message }) => {
    log.write('access.layer.closed', { Collection: collection, Role: role }, message);
    alerts.notify({ kind: 'layer-closed', severity: 'error', subject: collection, message });
  });
  catalog.follow({ replaced: ({ changed }) => findings.follow(rules.current, changed) });
  rules.follow(({ after }) => findings.look(after, catalog.current), isRule);
  const renames = new RenameWatch((collection, former, message) => {
    log.write('access.layer.renamed', { Collection: collection, Former: former }, message);
    alerts.notify({ kind: 'layer-closed', severity: 'error', subject: collection, message });
  });
  catalog.follow({ replaced: ({ changed }) => renames.follow(rules.current, changed) });
  rules.follow(({ after }) => renames.look(after, catalog.current), isRule);
  const losses = new LossWatch((message) => {
    log.write('access.state.lost', {}, message);
    alerts.notify({ kind: 'layer-closed', severity: 'error', subject: 'state', message });
  });
  rules.follow(({ after }) => losses.look(after.lost), isRule);
}
