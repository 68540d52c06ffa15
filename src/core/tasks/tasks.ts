/**
 * Every task that a worker can run: its name, input and output.
 *
 * The gateway calls `pools.run(name, input, options)` and does not know on which thread or in which
 * process the task runs. Inputs carry whole source definitions, so workers hold no catalog of their own
 * and a catalog reload can never be half visible.
 */

import type { TableRule } from '../catalog/table-rule.js';
import type { EditResult, EditTask, EmptiedLog } from '../edits/edits.js';
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
} from '../features/features.js';
import type { GeocodingTasks } from '../geocoding/geocoding.js';
import type { Caller } from '../kit/callers.js';
import type { MapTask } from '../maps/maps.js';
import type { FeatureProcessTasks } from '../processes/feature-processes.js';
import type { ImageResult, RasterTasks } from '../rasters/rasters.js';
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
  extends AnalyticsTasks,
    ArchiveTasks,
    FeatureProcessTasks,
    GeocodingTasks,
    TilePackageTasks,
    IngestTasks,
    MergeTasks,
    RasterTasks,
    StacTasks,
    StorageTasks,
    SymbolTasks,
    TableTasks {
  /** Lists the feature tables of a GeoPackage. */
  'vector.inspect': { input: InspectTask; output: VectorLayerInfo[] };
  /**
   * Tables of a GeoPackage that hold tiles, those that hold neither tiles nor geometries, and why feature tables are not among
   * those that `vector.inspect` found.
   */
  'vector.otherTables': {
    input: { kind: string; path: string; inspected: readonly string[] };
    output: { tiles: string[]; plain: string[]; problems: { layer: string; reason: string }[] };
  };
  /** Names of the views of a SQLite file that cannot be read to their end in time. */
  'vector.slowViews': { input: { path: string }; output: string[] };
  /** Lists what a PostGIS database can publish. */
  'vector.discover': {
    input: { database: string; patience?: Patience; tables?: TableRule };
    output: DiscoveredDatabase;
  };
  /** Makes or removes the triggers that tell edits by others. */
  'vector.capture': { input: CaptureTask; output: CaptureResult };
  /** Resolves when the database answers. */
  'vector.ping': { input: { database: string }; output: null };
  'vector.tile': { input: VectorTileTask; output: VectorTileResult };
  /** Builds the overview of one layer's table; the number of its levels. */
  'vector.overview': { input: { layers: [TileLayer] }; output: number };
  /** Whether anything may lie in each box. */
  'vector.occupied': { input: OccupiedTask; output: boolean[] };
  'vector.items': { input: ItemsTask; output: ItemsResult };
  /** One feature, or null when there is none of that id. */
  'vector.item': { input: ItemTask; output: ItemResult | null };
  /** Extent as the rows have it now. */
  'vector.extent': { input: FeatureQuery; output: ExtentResult };
  'vector.count': { input: CountTask; output: number };
  /** Counts the values that features are written without. */
  'vector.losses': { input: LossesTask; output: Losses };
  'vector.groups': { input: GroupsTask; output: GroupsResult };
  'vector.classBreaks': { input: ClassBreaksTask; output: ClassBreaksResult };
  'vector.bins': { input: BinsTask; output: BinsResult };
  'vector.top': { input: TopTask; output: TopResult };
  'vector.groupCount': { input: GroupCountTask; output: number };
  /** Parses a request body: a large one would hold up the event loop. The memory of the parts moves to the thread. */
  'vector.body': { input: { parts: Uint8Array<ArrayBuffer>[]; reading: BodyReadOptions }; output: unknown };
  /** Reads a style in SLD: a large one would hold up the event loop. */
  'vector.sld': { input: SldTask; output: SldTaskResult };
  /** What is wrong with the layers of a style, which are JSON. */
  'vector.styleProblems': { input: { json: string }; output: StyleProblem[] };
  /** Changes features; once it has begun it runs to its end, whatever becomes of the caller. */
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
  /** One outcome for each tile, in their order: a tile that cannot be read does not harm the others. */
  'vector.archiveTiles': { input: ArchiveTilesTask; output: ArchiveTilesResult };
  /** A stored vector tile in the other encoding. */
  'vector.transcode': { input: TranscodeTask; output: ArchiveTile };
  /** Second half of an import: staging file into the store, one transaction, Hilbert order, rtree. */
  'vector.load': { input: LoadTask; output: LoadResult };
  /** Removes a table of features from a store; nothing when it is gone. */
  'vector.drop': { input: DropTask; output: null };
  /** Keeps styles beside a table of a store, each in the place of one of its name. */
  'vector.layerStyles': { input: LayerStylesTask; output: null };
  /** First half of an import: any OGR file into a staging GeoPackage, with progress. */
  'ogr.stage': { input: StageTask; output: StagedLayer | StageProblem };
  /** Any OGR file into a GeoPackage or a file of another format, with progress. */
  'ogr.translate': { input: TranslateTask; output: TranslateResult };
  'ogr.inspect': { input: { path: string }; output: OgrLayerInfo[] };
  /** Layers of a foreign file, and attributes of the first feature of the one that an import would read. */
  'ogr.preview': { input: { path: string }; output: OgrPreview };
  /** How a CSV file is read, and why. */
  'ogr.inspectCsv': { input: { path: string }; output: CsvInspection };
  'ogr.unpack': { input: UnpackTask; output: UnpackResult };
  'map.render': { input: MapTask; output: ImageResult };
}

export type TaskName = keyof Tasks;
export type TaskInput<N extends TaskName> = Tasks[N]['input'];
export type TaskOutput<N extends TaskName> = Tasks[N]['output'];

export interface TaskOptions {
  /** On whose behalf; `BACKGROUND` when absent. */
  caller?: Caller;
  /** It is estimated to take much time or memory: set by the pools. */
  heavy?: boolean;
  /** Aborting drops a queued task at once; a running one stops at its next safe point. */
  signal?: AbortSignal;
  /** Aborting asks a running task to end early; its answer is waited for all the same. */
  stop?: AbortSignal;
  /** Milliseconds from now; past it the caller gets a `deadline-exceeded` failure. */
  deadlineMs?: number;
  /** The answer has begun: the task is taken, however many wait. */
  begun?: boolean;
  /** Called with 0..1 by tasks that report progress. */
  onProgress?: (fraction: number) => void;
  onUsage?: (usage: TaskUsage) => void;
  /** Context of the trace that the task belongs to (W3C Trace Context); nothing is measured without it. */
  traceparent?: string;
  /** Told when and where the work of a traced task was done, before its answer. */
  onWork?: (work: TaskWork) => void;
}

/** Work as the thread or process that did it saw it: the time in queues is not in it. Milliseconds since 1970. */
export interface TaskWork {
  startMs: number;
  endMs: number;
  /** Process, and thread within it. */
  pid: number;
  thread: number;
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

/** What a task of a job tells of itself, now and then and at its end. */
export interface TaskUsage {
  /** Features that it has read so far. */
  count: number;
  /** Memory of the process that does it: of now, and at the end the most that it had. */
  memoryBytes: number;
}

/** Where tasks run. Rejects with `TaskFailure` only. */
export interface Pools {
  run<N extends TaskName>(name: N, input: TaskInput<N>, options?: TaskOptions): Promise<TaskOutput<N>>;
  status(): PoolStatus[];
  close(): Promise<void>;
}
