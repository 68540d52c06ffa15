import { workerData } from 'piscina';
import { TaskFailure } from '../../core/errors/failure.js';
import type { AnalyticsQuery, AnalyticsResult } from '../../core/features/analytics.js';
import { createFeatureSet } from '../../core/features/feature-set.js';
import { type FeatureQuery, NO_LOSSES } from '../../core/features/features.js';
import { FEDERATED_STORE, type FederatedSource } from '../../core/federation/federated-source.js';
import { BodyError, readBody } from '../../core/http/body.js';
import { statements } from '../../core/observability/statements.js';
import { inTaskScope, TaskScope } from '../../core/observability/task-scope.js';
import type { Retention } from '../../core/streams/events.js';
import type { TaskInput, TaskName, TaskOutput } from '../../core/tasks/tasks.js';
import { listCrs } from '../../native/index.js';
import Database from '../../native/sqlite.js';
import { computeZoneArea } from '../alerts/zone-area.js';
import { matchZones } from '../alerts/zone-match.js';
import { keepEvents } from '../edits/retention.js';
import { mergeRows } from '../exchange/merges/rows.js';
import { computeBufferAggregate } from '../features/analytics/buffer-aggregate.js';
import { computeClusters } from '../features/analytics/clusters.js';
import { computeDensityCells } from '../features/analytics/density.js';
import { computeH3Cells } from '../features/analytics/h3.js';
import { computeSpatialJoin } from '../features/analytics/spatial-join.js';
import { bins } from '../features/bins/bins.js';
import { classBreaks } from '../features/bins/class-breaks.js';
import { readItems } from '../features/items.js';
import { match } from '../features/match.js';
import { unpacked } from '../features/sources.js';
import { fieldStatistics } from '../features/statistics/field-statistics.js';
import { countWithin } from '../features/timed-count.js';
import { describeFederatedSource } from '../federation/describe.js';
import { pushToSource } from '../federation/source-pages.js';
import { createFederatedStore } from '../federation/store.js';
import { geocodeFeatures } from '../geocoding/features.js';
import { geocode } from '../geocoding/find.js';
import { locatorInfo } from '../geocoding/index-file.js';
import { placeById, reverseGeocode } from '../geocoding/reverse.js';
import { suggest } from '../geocoding/suggest.js';
import { allowHosts } from '../providers/archive/remote.js';
import type { FeatureStore } from '../providers/feature-store.js';
import { closeAll, countPreparedInFiles } from '../providers/geopackage/connection.js';
import { readStoreId } from '../providers/geopackage/edits/outbox.js';
import { closeWriters, emptyWriteAheadLog } from '../providers/geopackage/edits/writer.js';
import { findSlowViews } from '../providers/geopackage/schema/slow-views.js';
import { keepLedgerIn, takeFindings } from '../providers/kept-sqlite.js';
import { keepOverviewsIn } from '../providers/overviews/file.js';
import { tableActivity } from '../providers/postgis/connections/activity.js';
import { countPreparedInDatabases, limitConnections } from '../providers/postgis/connections/database.js';
import { capture } from '../providers/postgis/edits/capture.js';
import { validateTable } from '../providers/postgis/edits/validate.js';
import { discoverTables, ping } from '../providers/postgis/schema/discover.js';
import { tableLayers } from '../providers/postgis/schema/table-layers.js';
import { tableStatistics } from '../providers/postgis/schema/table-statistics.js';
import { databaseTables, fingerprints, tableIdentities } from '../providers/postgis/schema/tables.js';
import { getFeatureStore, inspectTables, listOtherTables, registerStore } from '../providers/store.js';
import { countSceneCells, encodeSceneTile } from '../scenes/scene-tile.js';
import { stacIndex, stacState } from '../stac/index.js';
import { stacIngest } from '../stac/ingest/index.js';
import { stacFile, stacSearch } from '../stac/search.js';
import { AllowedHosts } from '../storage/remote/allowed-hosts.js';
import { Cancellation, type CancellationFlag } from '../threads/cancellation.js';
import { preciseNow, runTaskBody, toFailure, workSince } from '../threads/failure.js';
import { reportThread } from '../threads/look.js';
import { lowerPriority } from '../threads/niceness.js';
import { moved } from '../threads/thread.js';
import { archive, archiveTiles } from '../tiles/archive.js';
import { dropStoreTable, keepLayerStyles, load } from '../tiles/load.js';
import { findOccupiedBoxes } from '../tiles/occupancy.js';
import { buildOverview } from '../tiles/overviews/build.js';
import { vectorTile } from '../tiles/tile.js';
import { transcode } from '../tiles/transcode.js';

/**
 * Thread side of the vector pool: Piscina calls the default export with each task. Tasks that read files use the
 * thread until they are done. Tasks that wait for a database run concurrently.
 */

export type VectorTaskName = Extract<TaskName, `vector.${string}`>;

/** Data that a thread receives at its start. */
export interface VectorThreadData {
  /** Connections that it may open to each database. */
  connections: number;
  /** Shared counts of connections. */
  counts: SharedArrayBuffer;
  /** Folder of the overviews of tables. Default: no overviews. */
  overviews: string | undefined;
  /** Hosts that remote archives may be read from. */
  remoteHosts: readonly string[];
  retention: Retention;
  niceness: number;
  /** Data folder, for the ledger of SQLite files; none is kept without it. */
  dataDir: string | undefined;
  /** Milliseconds from which a statement is slow. */
  slowMs: number;
}

export interface VectorMessage {
  name: VectorTaskName;
  input: unknown;
  /** Correlation id of the request that it runs for. */
  request?: string;
  /** Whether its work is measured. */
  isMeasured?: true;
  /** Set when the task is no longer needed. */
  flag?: CancellationFlag;
}

const { connections, counts, remoteHosts, overviews, retention, niceness, dataDir, slowMs } =
  workerData as VectorThreadData;
limitConnections(connections, counts);
allowHosts(remoteHosts);
const hosts = new AllowedHosts(remoteHosts);
registerStore(FEDERATED_STORE, createFederatedStore(hosts));
keepOverviewsIn(overviews);
keepEvents(retention);
keepLedgerIn(dataDir);
statements.slowMs = slowMs;
statements.countPrepared = () => {
  const [files, databases] = [countPreparedInFiles(), countPreparedInDatabases()];
  const prepared = files.prepared + databases.prepared;
  return { prepared, capacity: files.capacity + databases.capacity };
};

// Linux gives each thread a separate priority: encoding yields to the event loop if cores are short.
lowerPriority(niceness);

const TASKS: {
  [N in VectorTaskName]: (
    input: TaskInput<N>,
    cancellation?: Cancellation,
  ) => TaskOutput<N> | Promise<TaskOutput<N>>;
} = {
  'vector.inspect': inspectTables,
  'vector.federated': (task, cancellation) => describeFederatedSource(task, hosts, cancellation),
  'vector.pushDown': ({ source, filter }) => pushToSource(source as FederatedSource, filter),
  'vector.otherTables': listOtherTables,
  'vector.slowViews': findSlowViews,
  'vector.discover': discoverTables,
  'vector.capture': capture,
  'vector.look': () => reportThread('vector'),
  'vector.ping': ping,
  'vector.crsList': () => listCrs(),
  'vector.tables': databaseTables,
  'vector.validate': validateTable,
  'vector.layers': tableLayers,
  'vector.fingerprints': fingerprints,
  'vector.activity': tableActivity,
  'vector.table-statistics': tableStatistics,
  'vector.table-identities': tableIdentities,
  'vector.tile': vectorTile,
  'vector.sceneTile': encodeSceneTile,
  'vector.sceneCells': countSceneCells,
  'vector.overview': ({ layers: [layer] }, cancellation) => buildOverview(layer, cancellation),
  'vector.occupied': findOccupiedBoxes,
  'vector.items': readItems,
  'vector.item': (task, cancellation) => getFeatureStore(task.source).item(task, cancellation),
  'vector.count': (task, cancellation) => getFeatureStore(task.source).count(task, cancellation),
  'vector.timedCount': countWithin,
  'vector.losses': async (task, cancellation) =>
    (await getFeatureStore(task.source).losses?.(task, cancellation)) ?? NO_LOSSES,
  'vector.groups': (task, cancellation) => grouping(task).groups(task, cancellation),
  'vector.groupCount': (task, cancellation) => grouping(task).groupCount(task, cancellation),
  'vector.classBreaks': (task, cancellation) => classBreaks(task, grouping(task).groups, cancellation),
  'vector.bins': (task, cancellation) => bins(task, grouping(task).groups, cancellation),
  'vector.top': (task, cancellation) => grouping(task).top(task, cancellation),
  'vector.body': body,
  'vector.extent': (query, cancellation) => getFeatureStore(query.source).extent(query, cancellation),
  // The library of styles is large, and most threads never need it.
  'vector.sld': async (task) => (await import('../styles/sld.js')).readSld(task),
  'vector.styleProblems': async ({ json }) =>
    (await import('../../core/styles/check.js')).layerProblems(JSON.parse(json)),
  'vector.edit': (task) => getFeatureStore(task.source).edit(task),
  'vector.emptyLog': ({ path }) => emptyWriteAheadLog(path),
  'vector.fileFindings': takeFindings,
  'vector.mergeRows': mergeRows,
  'vector.merge': merge,
  'vector.events': (task, cancellation) => getFeatureStore(task.source).events(task, cancellation),
  'vector.storeId': readStoreId,
  'vector.match': match,
  'vector.zoneArea': computeZoneArea,
  'vector.zoneMatch': matchZones,
  'vector.archive': archive,
  'vector.archiveTiles': archiveTiles,
  'vector.transcode': transcode,
  'vector.load': load,
  'vector.drop': dropStoreTable,
  'vector.layerStyles': keepLayerStyles,
  'vector.h3': inForm(computeH3Cells),
  'vector.clusters': inForm(computeClusters),
  'vector.spatialJoin': inForm(computeSpatialJoin),
  'vector.bufferAggregate': inForm(computeBufferAggregate),
  'vector.density': inForm(computeDensityCells),
  'vector.statistics': (task, cancellation) => fieldStatistics(task, cancellation),
  'vector.locator': locatorInfo,
  'vector.geocode': geocode,
  'vector.suggest': suggest,
  'vector.geocodeFeatures': geocodeFeatures,
  'vector.reverseGeocode': reverseGeocode,
  'vector.place': placeById,
  'vector.stacIngest': stacIngest,
  'vector.stacState': stacState,
  'vector.stacIndex': stacIndex,
  'vector.stacSearch': stacSearch,
  'vector.stacFile': stacFile,
};

/** Analytics whose features can be returned as a feature set. */
function inForm<T extends AnalyticsQuery>(
  run: (task: T, cancellation?: Cancellation) => Promise<AnalyticsResult>,
) {
  return async (task: T, cancellation?: Cancellation): Promise<AnalyticsResult> => {
    const result = await run(task, cancellation);
    return task.asFeatureSet ? createFeatureSet(result) : result;
  };
}

function merge(task: TaskInput<'vector.merge'>, cancellation?: Cancellation) {
  const store = getFeatureStore(task.source);
  if (!store.merge)
    throw new TaskFailure('invalid-input', 'The store of this collection does not support imports of files.');
  return store.merge(task, cancellation);
}

/** Store that can compute all results of groups. */
type GroupStore = Required<Pick<FeatureStore, 'groups' | 'groupCount' | 'top'>>;

function grouping({ source }: Pick<FeatureQuery, 'source'>): GroupStore {
  const { groups, groupCount, top } = getFeatureStore(source);
  if (!groups || !groupCount || !top)
    throw new TaskFailure('invalid-input', 'The store of this collection computes no statistics of groups.');
  return { groups, groupCount, top };
}

function body({ parts, reading }: TaskInput<'vector.body'>): unknown {
  try {
    return readBody(Buffer.concat(parts), reading);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    throw new TaskFailure(error.tooLarge ? 'too-large' : 'invalid-input', error.message);
  }
}

export default async function runTask({ name, input, flag, request, isMeasured }: VectorMessage) {
  const start = isMeasured ? preciseNow() : 0;
  const task = new TaskScope(name, request);
  const work = () => attempt(name, unpacked(input), flag && new Cancellation(flag));
  const result = await runTaskBody(() => inTaskScope(task, work));
  if (task.remoteReads.length > 0) result.remoteReads = task.remoteReads;
  if (isMeasured) result.work = { ...workSince(start), databaseMs: task.databaseMs };
  return moved(result, readBuffers);
}

async function attempt(name: VectorTaskName, input: unknown, cancellation?: Cancellation): Promise<unknown> {
  try {
    return await TASKS[name](input as never, cancellation);
  } catch (error) {
    const failure = createFailure(error);
    // A connection that read a corrupt page keeps failing after the file is repaired.
    if (failure.code === 'source-unreadable') {
      closeAll();
      closeWriters();
    }
    throw failure;
  }
}

function createFailure(error: unknown): TaskFailure {
  // The time limit of the statement has passed; the server's SQL functions check it for each row.
  if (error instanceof Database.SqliteError && error.code === 'SQLITE_INTERRUPT')
    return new TaskFailure(
      'deadline-exceeded',
      'The query takes too long. Narrow it with bbox or filter.',
      error.stack,
    );
  return toFailure(error);
}

/** Whole buffers at the top level of a result; parts of Node's shared pool cannot move. */
function readBuffers(value: unknown): ArrayBuffer[] {
  const candidates = value instanceof Uint8Array ? [value] : Object.values(value ?? {});
  return candidates
    .filter((part): part is Uint8Array => part instanceof Uint8Array && part.byteLength > 0)
    .filter((part) => part.byteLength === part.buffer.byteLength)
    .map((part) => part.buffer as ArrayBuffer);
}
