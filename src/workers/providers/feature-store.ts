import type { EditResult, EditTask } from '../../core/edits/edits.js';
import type { MergeResult, MergeTask } from '../../core/edits/merges.js';
import type {
  GroupCountTask,
  GroupsResult,
  GroupsTask,
  TopResult,
  TopTask,
} from '../../core/features/feature-groups.js';
import type {
  CountTask,
  ExtentResult,
  FeatureQuery,
  FeatureRow,
  ItemResult,
  ItemsResult,
  ItemsTask,
  ItemTask,
  Losses,
  LossesTask,
  RowsQuery,
} from '../../core/features/features.js';
import type { Box } from '../../core/geometry/box.js';
import type { FeatureProcessTask } from '../../core/processes/feature-processes.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import type { EventsResult, EventsTask } from '../../core/streams/events.js';
import type {
  InspectTask,
  TileLayer,
  VectorLayerInfo,
  VectorTileTask,
} from '../../core/tasks/vector-tasks.js';
import type { Cancellation } from '../threads/cancellation.js';
import type { OverviewRows } from './overviews/overview-rows.js';

/** Names of the tables of a file that are no features, and why feature tables cannot be published. */
export interface OtherTables {
  tiles: string[];
  plain: string[];
  problems: { layer: string; reason: string }[];
}

/** One encoded layer of a vector tile. */
export interface EncodedLayer {
  /** Length 0 without features. */
  tile: Uint8Array;
  features: number;
  /** Features that were left out because the layer would be too large. */
  dropped: number;
  /** What was read for it: bytes of geometries, and 256 per row. */
  work: number;
}

/** A table of a SQLite file, and SQL of what its rows show; its alias is `t`. */
export interface SqliteColumns {
  path: string;
  table: string;
  id: string;
  geometry: string;
  values: string[];
}

/**
 * The one interface to vector data. Everything throws `TaskFailure` only for what is known to go wrong. A store that
 * waits for a database ends the wait when the cancellation is requested.
 */
export interface FeatureStore {
  /** What the tables of a file are, of a store of files. */
  inspect?(path: string, named: Omit<InspectTask, 'kind' | 'path'>): VectorLayerInfo[];
  /** What else is in such a file: tables of tiles, and those without geometries. */
  otherTables?(path: string, inspected: readonly string[]): OtherTables;
  items(task: ItemsTask, cancellation?: Cancellation): Promise<ItemsResult>;
  /** Null when there is no feature of that id, or the filter hides it. */
  item(task: ItemTask, cancellation?: Cancellation): Promise<ItemResult | null>;
  count(task: CountTask, cancellation?: Cancellation): Promise<number>;
  /** Counts the values that features are written without; a store without this has none. */
  losses?(task: LossesTask, cancellation?: Cancellation): Promise<Losses>;
  /** Statistics of groups of features. */
  groups?(task: GroupsTask, cancellation?: Cancellation): Promise<GroupsResult>;
  groupCount?(task: GroupCountTask, cancellation?: Cancellation): Promise<number>;
  top?(task: TopTask, cancellation?: Cancellation): Promise<TopResult>;
  tileLayer(task: VectorTileTask, layer: TileLayer, cancellation?: Cancellation): Promise<EncodedLayer>;
  /** Whether the envelope of any feature touches each box (in the source's CRS), by the spatial index. */
  occupied(source: VectorSource, boxes: readonly Box[], cancellation?: Cancellation): Promise<boolean[]>;
  /** Extent of what lies in the domain of the CRS. */
  extent(query: FeatureQuery, cancellation?: Cancellation): Promise<ExtentResult>;
  /** Rows in batches; ends the query when the consumer stops early. */
  rows(query: RowsQuery, cancellation?: Cancellation): AsyncIterable<FeatureRow[]>;
  /**
   * The same for a statement of SQLite that has the file of the source attached; undefined where the rows lie elsewhere,
   * are filtered, or have no integer ids.
   */
  columns?(query: RowsQuery): SqliteColumns | undefined;
  /**
   * The rows of what a process makes of features of one database, computed there by one statement: the id of the input,
   * the geometry, the values of the result. Throws `TaskFailure` for what the database cannot compute.
   */
  process?(task: FeatureProcessTask, cancellation?: Cancellation): AsyncIterable<FeatureRow[]>;
  /** The rows of a table for its overview; a store without this has tiles made of all rows at every level. */
  overviewRows?(source: VectorSource): OverviewRows;
  /** Resolves once rows and events are durable; what clients did wrong is in the outcomes. */
  edit(task: EditTask): Promise<EditResult>;
  /** Writes rows of a file, all or nothing; a store that edits has it. */
  merge?(task: MergeTask, cancellation?: Cancellation): Promise<MergeResult>;
  /** Events of the store's outbox, oldest first. */
  events(task: EventsTask, cancellation?: Cancellation): Promise<EventsResult>;
}
