import type { EditResult, EditTask } from '../../core/edits.js';
import type {
  CountTask,
  FeatureRow,
  ItemResult,
  ItemsResult,
  ItemsTask,
  ItemTask,
  RowsQuery,
} from '../../core/features.js';
import type { TileLayer, VectorSource, VectorTileTask } from '../../core/tasks.js';
import { geopackageStore } from './geopackage/store.js';

/** One encoded layer of a vector tile. */
export interface EncodedLayer {
  /** Length 0 without features. */
  tile: Uint8Array;
  features: number;
}

/** The one interface to vector data. Everything throws `TaskFailure` only for what is known to go wrong. */
export interface FeatureStore {
  items(task: ItemsTask): Promise<ItemsResult>;
  /** Null when there is no feature of that id, or the filter hides it. */
  item(task: ItemTask): Promise<ItemResult | null>;
  count(task: CountTask): Promise<number>;
  tileLayer(task: VectorTileTask, layer: TileLayer): Promise<EncodedLayer>;
  /** Rows in batches; ends the query when the consumer stops early. */
  rows(query: RowsQuery): AsyncIterable<FeatureRow[]>;
  /** Resolves once rows and events are durable; what clients did wrong is in the outcomes. */
  edit(task: EditTask): Promise<EditResult>;
}

/** The store that a source lies in. */
export function storeOf(source: VectorSource): FeatureStore {
  switch (source.kind) {
    case 'geopackage':
      return geopackageStore;
    case 'postgis':
      throw new Error('PostGIS is not built yet');
  }
}
