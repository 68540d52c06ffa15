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
import type { SceneEncoding } from './scene-options.js';

/**
 * Names of the tables of a file that do not contain features, and the reasons why feature tables cannot be published.
 */
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
  /** Number of features that were omitted because the layer would be too large. */
  dropped: number;
  /** Amount of data that was read for the layer: bytes of geometries, and 256 per row. */
  work: number;
}

/** Table of a SQLite file, with the SQL of the values that its rows show. Its alias is `t`. */
export interface SqliteColumns {
  path: string;
  table: string;
  id: string;
  geometry: string;
  values: string[];
}

/**
 * Interface of all stores of vector data. Methods throw `TaskFailure` only for known problems. A store that waits for
 * a database stops waiting when cancellation is requested.
 */
export interface FeatureStore {
  /** Returns the tables of a file. Only for file stores. */
  inspect?(path: string, named: Omit<InspectTask, 'kind' | 'path'>): VectorLayerInfo[];
  /** Returns the other tables of such a file: tile tables and tables without geometries. */
  otherTables?(path: string, inspected: readonly string[]): OtherTables;
  items(task: ItemsTask, cancellation?: Cancellation): Promise<ItemsResult>;
  /** Null when there is no feature of that id, or the filter hides it. */
  item(task: ItemTask, cancellation?: Cancellation): Promise<ItemResult | null>;
  count(task: CountTask, cancellation?: Cancellation): Promise<number>;
  /** Counts the values that written features lack. Default: the store loses no values. */
  losses?(task: LossesTask, cancellation?: Cancellation): Promise<Losses>;
  /** Statistics of groups of features. */
  groups?(task: GroupsTask, cancellation?: Cancellation): Promise<GroupsResult>;
  groupCount?(task: GroupCountTask, cancellation?: Cancellation): Promise<number>;
  top?(task: TopTask, cancellation?: Cancellation): Promise<TopResult>;
  tileLayer(task: VectorTileTask, layer: TileLayer, cancellation?: Cancellation): Promise<EncodedLayer>;
  /**
   * Encodes a tile of a 3D scene as binary glTF, or the cells of its features as doubles. The result has length 0 if no
   * row was read.
   */
  encodeScene?(task: SceneEncoding, cancellation?: Cancellation): Promise<Uint8Array>;
  /** Whether the envelope of any feature touches each box (in the source's CRS), by the spatial index. */
  occupied(source: VectorSource, boxes: readonly Box[], cancellation?: Cancellation): Promise<boolean[]>;
  /** Returns the extent of the data within the domain of the CRS. */
  extent(query: FeatureQuery, cancellation?: Cancellation): Promise<ExtentResult>;
  /** Rows in batches; ends the query when the consumer stops early. */
  rows(query: RowsQuery, cancellation?: Cancellation): AsyncIterable<FeatureRow[]>;
  /**
   * The same rows for a SQLite statement that has the source's file attached. Undefined if the rows are stored
   * elsewhere, are filtered, or do not have integer ids.
   */
  columns?(query: RowsQuery): SqliteColumns | undefined;
  /**
   * Returns the rows that a process computes from features of one database with one statement there: the input's id,
   * the geometry, the result's values. Throws `TaskFailure` if the database cannot compute them.
   */
  process?(task: FeatureProcessTask, cancellation?: Cancellation): AsyncIterable<FeatureRow[]>;
  /**
   * Returns the rows of a table for its overview. In stores without it, tiles are generated from all rows at every
   * level.
   */
  overviewRows?(source: VectorSource): OverviewRows;
  /** Resolves when rows and events are durable. Client errors are in the outcomes. */
  edit(task: EditTask): Promise<EditResult>;
  /** Writes rows of a file, all or none. Only for stores that support edits. */
  merge?(task: MergeTask, cancellation?: Cancellation): Promise<MergeResult>;
  /** Events of the store's outbox, oldest first. */
  events(task: EventsTask, cancellation?: Cancellation): Promise<EventsResult>;
}
