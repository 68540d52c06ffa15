/**
 * All tasks of workers: their names, inputs and outputs. The gateway calls `pools.run(name, input, options)` and does
 * not know in which thread or process the task runs. Inputs contain complete source definitions, so workers have no
 * catalog, and a reload of the catalog is never partly visible to them.
 */

import type { AlertTasks } from '../alerts/tasks.js';
import type { TableRule } from '../catalog/table-rule.js';
import type { ReportTasks } from '../compliance/compliance.js';
import type { DiagnosticsTasks } from '../diagnostics/bundle.js';
import type { EditResult, EditTask } from '../edits/edits.js';
import type { EmptiedLog } from '../edits/file-writes.js';
import type { MergeTasks } from '../edits/merges.js';
import type { IngestTasks } from '../exchange/ingest.js';
import type {
  OgrLayerInfo,
  OgrPreview,
  StagedLayer,
  StageProblem,
  StageTask,
  TranslateResult,
  TranslateTask,
  UnpackResult,
  UnpackTask,
} from '../exchange/ogr.js';
import type { AnalyticsTasks } from '../features/analytics.js';
import type { ClassBreaksResult, ClassBreaksTask } from '../features/class-breaks.js';
import type { BinsResult, BinsTask } from '../features/feature-bins.js';
import type {
  GroupCountTask,
  GroupsResult,
  GroupsTask,
  TopResult,
  TopTask,
} from '../features/feature-groups.js';
import type {
  CountTask,
  ExtentResult,
  FeatureQuery,
  ItemResult,
  ItemsResult,
  ItemsTask,
  ItemTask,
  Losses,
  LossesTask,
  TimedCount,
  TimedCountTask,
} from '../features/features.js';
import type { PushedQuery } from '../federation/push-down.js';
import type { GeocodingTasks } from '../geocoding/geocoding.js';
import type { CrsEntry } from '../geometry/crs.js';
import type { Caller } from '../kit/callers.js';
import type { MapTask } from '../maps/maps.js';
import type { NetworkTasks } from '../networks/networks.js';
import type { WorkerReport } from '../observability/worker-report.js';
import type { FeatureProcessTasks } from '../processes/feature-processes.js';
import type { ElevationTasks } from '../rasters/elevations.js';
import type { ImageResult, RasterTasks } from '../rasters/rasters.js';
import type { SceneTasks } from '../scenes/scene-tiles.js';
import type { ConnectionTotals } from '../sources/connection-counts.js';
import type { FileFinding } from '../sources/file-findings.js';
import type { StorageTasks } from '../sources/storage.js';
import type { StacTasks } from '../stac/stac.js';
import type { EventsResult, EventsTask, MatchResult, MatchTask } from '../streams/events.js';
import type { StyleProblem } from '../styles/bounds.js';
import type { SldTask, SldTaskResult } from '../styles/sld/task.js';
import type { SymbolTasks } from '../styles/symbols.js';
import type {
  ArchiveContainer,
  ArchiveInfo,
  ArchiveTasks,
  ArchiveTile,
  ArchiveTilesResult,
  ArchiveTilesTask,
} from '../tiles/archives.js';
import type { TilePackageTasks } from '../tiles/tile-packages.js';
import type { CsvInspection } from '../values/csv.js';
import type { BodyReadOptions } from '../values/json-bounds.js';
import type { TableTasks } from './table-tasks.js';
import type {
  CaptureResult,
  CaptureTask,
  DiscoveredDatabase,
  DropTask,
  FederatedTask,
  InspectTask,
  LayerStylesTask,
  LoadResult,
  LoadTask,
  OccupiedTask,
  Patience,
  TileLayer,
  TranscodeTask,
  VectorLayerInfo,
  VectorTileResult,
  VectorTileTask,
} from './vector-tasks.js';

interface Tasks
  extends AlertTasks,
    AnalyticsTasks,
    ArchiveTasks,
    DiagnosticsTasks,
    FeatureProcessTasks,
    GeocodingTasks,
    TilePackageTasks,
    IngestTasks,
    MergeTasks,
    NetworkTasks,
    RasterTasks,
    ElevationTasks,
    ReportTasks,
    SceneTasks,
    StacTasks,
    StorageTasks,
    SymbolTasks,
    TableTasks {
  /** Lists the feature tables of a GeoPackage. */
  'vector.inspect': { input: InspectTask; output: VectorLayerInfo[] };
  /** Describes a layer of another server by its own documents. */
  'vector.federated': { input: FederatedTask; output: VectorLayerInfo };
  /** The part of a filter that its federated source evaluates. */
  'vector.pushDown': { input: FeatureQuery; output: PushedQuery };
  /**
   * Tables of a GeoPackage with tiles, tables with neither tiles nor geometries, and the reasons why `vector.inspect`
   * omitted feature tables.
   */
  'vector.otherTables': {
    input: { kind: string; path: string; inspected: readonly string[] };
    output: { tiles: string[]; plain: string[]; problems: { layer: string; reason: string }[] };
  };
  /** Names of the views of a SQLite file that cannot be read to their end in time. */
  'vector.slowViews': { input: { path: string }; output: string[] };
  /** Lists the tables that a PostGIS database can publish. */
  'vector.discover': {
    input: { database: string; patience?: Patience; tables?: TableRule };
    output: DiscoveredDatabase;
  };
  /** Creates or drops the triggers that record edits by other clients. */
  'vector.capture': { input: CaptureTask; output: CaptureResult };
  /** Statements of the thread since its start, and its open resources. */
  'vector.look': { input: Record<string, never>; output: WorkerReport };
  /** Resolves when the database responds. */
  'vector.ping': { input: { database: string }; output: null };
  'vector.tile': { input: VectorTileTask; output: VectorTileResult };
  /** Builds the overview of one layer's table; the number of its levels. */
  'vector.overview': { input: { layers: [TileLayer] }; output: number };
  /** Whether each box may contain any features. */
  'vector.occupied': { input: OccupiedTask; output: boolean[] };
  'vector.items': { input: ItemsTask; output: ItemsResult };
  /** One feature, or null when there is none of that id. */
  'vector.item': { input: ItemTask; output: ItemResult | null };
  /** Extent as the rows have it now. */
  'vector.extent': { input: FeatureQuery; output: ExtentResult };
  'vector.count': { input: CountTask; output: number };
  'vector.timedCount': { input: TimedCountTask; output: TimedCount };
  /** Counts the values that features are written without. */
  'vector.losses': { input: LossesTask; output: Losses };
  'vector.groups': { input: GroupsTask; output: GroupsResult };
  'vector.classBreaks': { input: ClassBreaksTask; output: ClassBreaksResult };
  'vector.bins': { input: BinsTask; output: BinsResult };
  'vector.top': { input: TopTask; output: TopResult };
  'vector.groupCount': { input: GroupCountTask; output: number };
  /**
   * Parses a request body outside the event loop, which a large body would block. The memory of the parts is
   * transferred to the thread.
   */
  'vector.body': { input: { parts: Uint8Array<ArrayBuffer>[]; reading: BodyReadOptions }; output: unknown };
  /** Geographic and projected CRSs of EPSG, in the order of their codes. */
  'vector.crsList': { input: Record<string, never>; output: CrsEntry[] };
  /** Translates an SLD outside the event loop, which a large style would block. */
  'vector.sld': { input: SldTask; output: SldTaskResult };
  /** Problems in the layers of a style, which are given as JSON. */
  'vector.styleProblems': { input: { json: string }; output: StyleProblem[] };
  /** Edits features. Once started, it completes even if the caller is gone. */
  'vector.edit': { input: EditTask; output: EditResult };
  /** Moves the write-ahead log of an edited file into the file. */
  'vector.emptyLog': { input: { path: string }; output: EmptiedLog };
  /** Logs that did not belong to their files, since the last call. */
  'vector.fileFindings': { input: Record<string, never>; output: FileFinding[] };
  /** Events of an outbox, oldest first. */
  /** Names a file that this server has edited; null for another one. */
  'vector.storeId': { input: { path: string }; output: string | null };
  'vector.events': { input: EventsTask; output: EventsResult };
  /** Tells which features of events pass which filters. */
  'vector.match': { input: MatchTask; output: MatchResult };
  /** Metadata of a tile archive. */
  'vector.archive': { input: { path: string; container: ArchiveContainer }; output: ArchiveInfo };
  /** One result for each tile, in the same order. An unreadable tile does not affect the others. */
  'vector.archiveTiles': { input: ArchiveTilesTask; output: ArchiveTilesResult };
  /** A stored vector tile in the other encoding. */
  'vector.transcode': { input: TranscodeTask; output: ArchiveTile };
  /** Second half of an import: staging file into the store, one transaction, Hilbert order, rtree. */
  'vector.load': { input: LoadTask; output: LoadResult };
  /** Drops a feature table of a store; does nothing if the table does not exist. */
  'vector.drop': { input: DropTask; output: null };
  /** Stores styles next to a table of a store. Each replaces a style of the same name. */
  'vector.layerStyles': { input: LayerStylesTask; output: null };
  /** First half of an import: any OGR file into a staging GeoPackage, with progress. */
  'ogr.stage': { input: StageTask; output: StagedLayer | StageProblem };
  /** Any OGR file into a GeoPackage or a file of another format, with progress. */
  'ogr.translate': { input: TranslateTask; output: TranslateResult };
  'ogr.inspect': { input: { path: string }; output: OgrLayerInfo[] };
  /** Layers of a foreign file, and attributes of the first feature of the one that an import would read. */
  'ogr.preview': { input: { path: string }; output: OgrPreview };
  /** How a CSV file is read, and the reasons. */
  'ogr.inspectCsv': { input: { path: string }; output: CsvInspection };
  'ogr.unpack': { input: UnpackTask; output: UnpackResult };
  'map.render': { input: MapTask; output: ImageResult };
  /** The same for the threads of an engine. */
  'engine.look': { input: Record<string, never>; output: readonly WorkerReport[] };
}

export type TaskName = keyof Tasks;
export type TaskInput<N extends TaskName> = Tasks[N]['input'];
export type TaskOutput<N extends TaskName> = Tasks[N]['output'];

export interface TaskOptions {
  /** The caller for whom the task runs; `BACKGROUND` if absent. */
  caller?: Caller;
  /** It is estimated to take much time or memory: set by the pools. */
  heavy?: boolean;
  /** Abort drops a queued task at once. A running task stops at its next safe point. */
  signal?: AbortSignal;
  /** Abort asks a running task to finish early. The caller still waits for its result. */
  stop?: AbortSignal;
  /** Milliseconds from now; past it the caller gets a `deadline-exceeded` failure. */
  deadlineMs?: number;
  /** The response has started, so the task is accepted regardless of the queue length. */
  begun?: boolean;
  /** Called with 0..1 by tasks that report progress. */
  onProgress?: (fraction: number) => void;
  onUsage?: (usage: TaskUsage) => void;
  /** Correlation id of the request that it runs for. */
  request?: string;
  /** Trace context of the task (W3C Trace Context). */
  traceparent?: string;
  /** Called with the time and place of the work, before its result. Work is measured only with it. */
  onWork?: (work: TaskWork) => void;
}

/** Work as the thread or process that did it saw it: the time in queues is not in it. Milliseconds since 1970. */
export interface TaskWork {
  startMs: number;
  endMs: number;
  /** Process, and thread within it. */
  pid: number;
  thread: number;
  /** Milliseconds of its statements, in threads that read databases and SQLite files. */
  databaseMs?: number;
}

export interface PoolStatus {
  name: string;
  /** Threads or processes that take tasks now. */
  workers: number;
  queued: number;
  running: number;
  healthy: boolean;
  /** Connections to databases, of the pool that has them. */
  connections?: ConnectionTotals;
}

/** Resource usage that a task of a job reports at intervals and at its end. */
export interface TaskUsage {
  /** Features that it has read so far. */
  count: number;
  /** Memory of the process that does it: of now, and at the end the most that it had. */
  memoryBytes: number;
}

/** Runs tasks. Rejects only with `TaskFailure`. */
export interface Pools {
  run<N extends TaskName>(name: N, input: TaskInput<N>, options?: TaskOptions): Promise<TaskOutput<N>>;
  status(): PoolStatus[];
  close(): Promise<void>;
}

/** Pools whose threads report their statements and open resources. */
export interface ReportingPools extends Pools {
  /** Reports of all threads that run; of a busy thread the last one that it gave. */
  look(): Promise<readonly WorkerReport[]>;
}
