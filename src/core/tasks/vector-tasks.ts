/** Tasks of vector threads that describe sources, encode tiles and load files. */

import type { Expression } from '../cql2/ast.js';
import type { FederatedSetting } from '../federation/federated-source.js';
import type { LogCommits } from '../files/commit-count.js';
import type { Box } from '../geometry/box.js';
import type { PostgisRaster } from '../rasters/rasters.js';
import type { Activity } from '../sources/activity.js';
import type { VectorSource } from '../sources/vector-source.js';
import type { FileStyle } from '../styles/model.js';
import type { ArchiveTile } from '../tiles/archives.js';

/** Result of the inspection of one vector layer. */
export interface VectorLayerInfo {
  source: VectorSource;
  /** The cluster, the database and the table by the numbers that PostgreSQL gave them: the same under another name. */
  identity?: string;
  title?: string;
  description?: string;
  /**
   * Extent in the source CRS, x,y ordered, of the features inside the domain of the CRS; absent if the layer is
   * empty.
   */
  extent?: Box;
  /** Bounding box of all geometries in the source CRS, if some lie outside the domain of the CRS. */
  beyond?: Box;
  /** Extent in CRS84 (degrees, longitude first). */
  extent84?: Box;
  /**
   * Assumed meaning of the coordinates if no CRS is declared: longitude and latitude if the values allow that,
   * otherwise a plane without a position on Earth.
   */
  takenFor?: 'degrees' | 'plane';
  /** Sentences about assumptions on the data, and about unreadable parts. */
  remarks?: string[];
  featureCount: number;
  /** Counters of a table of a database, from before its features were counted. */
  activity?: Activity;
  /** True when `featureCount` is the database's estimate. */
  countEstimated?: boolean;
  /** Cursor of the last edit that the other members contain; 0 if the store has had no edits. */
  cursor: number;
  /** Commits that the other members know of; absent where they cannot be counted. */
  commits?: LogCommits;
  /** Styles that the file brings along. */
  styles?: FileStyle[];
  /** Only for a table of STAC items: the document of their collection, as it was read. */
  stac?: Record<string, unknown>;
}

export interface InspectTask {
  /** Store that reads the file. */
  kind: string;
  path: string;
  /** CRS of tables, whatever the file says; `''` is for all that are not named. */
  crs?: Readonly<Record<string, string>>;
  /** CRS of tables of which the file names none. */
  assumeCrs?: string;
  /** Default: all tables. */
  tables?: readonly string[];
}

export interface FederatedTask {
  /** URL of the other server: the lane of the task. */
  path: string;
  setting: FederatedSetting;
}

export interface CaptureTask {
  database: string;
  /** Tables for which edits by other clients are captured. Capture ends for all other tables. */
  tables: VectorSource[];
}

export interface CaptureResult {
  /** Number of captured tables. */
  captured: number;
  problems: { table: string; reason: string }[];
}

/** Result of the discovery of a database. */
export interface DiscoveredDatabase {
  layers: VectorLayerInfo[];
  rasters: (PostgisRaster & Pick<VectorLayerInfo, 'identity'>)[];
  /** Tables that cannot be published, and the reasons. A problem without a layer concerns the whole database. */
  problems: { layer?: string; reason: string; isSlow?: true }[];
}

/** Time limits in milliseconds: for one view or foreign table, and in total for those that exceed it. */
export interface Patience {
  /** No longer reading follows. */
  isFinal?: true;
  tableMs: number;
  allMs: number;
}

/** One layer of a vector tile. */
export interface TileLayer {
  name: string;
  source: VectorSource;
  /** Names of the attributes in the tile; all if absent. */
  fields?: string[];
  filter: Expression | undefined;
  /** Version of the collection; with it the layer may be read from an overview of its table. */
  version?: string;
  /** The last edit that the layer must contain; 0 if absent. */
  cursor?: number;
  /** Most features of the layer, and most bytes before compression. */
  maxFeatures?: number;
  maxBytes?: number;
}

export interface VectorTileTask {
  layers: TileLayer[];
  /** CRS of the tile matrix set, anything PROJ reads. */
  crs: string;
  /** Extent of the tile in that CRS, x,y ordered. */
  bbox: Box;
  /** Grid units per tile side (4096). */
  extent: number;
  /** Clip buffer in grid units. */
  buffer: number;
  /** Douglas-Peucker tolerance in grid units; 0 keeps every vertex that differs on the grid. */
  simplify: number;
  /** The least important features are dropped beyond these; bytes are those before compression. */
  maxFeatures?: number;
  maxBytes?: number;
  /** Cells along a side in which points are counted. Default: the features. */
  cells?: number;
  /** Mapbox Vector Tile if absent. */
  format?: 'mvt' | 'mlt';
  /** Compresses the tile. */
  encoding: 'identity' | 'gzip';
  /** 1 to 12; a fast level if absent. */
  gzipLevel?: number;
  /** Smaller tiles stay uncompressed. */
  gzipMinBytes?: number;
}

export interface VectorTileResult {
  /** The encoded tile; length 0 when no feature touches it. */
  data: Uint8Array;
  encoding: 'identity' | 'gzip';
  /** Entity tag of the tile before compression, the same for every request and coding. */
  tag: string;
  features: number;
  /** Features that were omitted because the tile would be too large. */
  dropped: number;
  /** Layers, by index, that were much to read and should get an overview of their table. */
  heavy?: number[];
}

/** A stored tile to be transcoded into the other vector tile encoding. */
export interface TranscodeTask {
  tile: ArchiveTile;
  to: 'mvt' | 'mlt';
}

export interface OccupiedTask {
  source: VectorSource;
  /** CRS of the boxes. */
  crs: string;
  /** x,y ordered. */
  boxes: readonly Box[];
}

/** A table of a store. */
export interface DropTask {
  /** GeoPackage store. */
  store: string;
  table: string;
}

/** A style in SLD by its name. */
export interface NamedSld {
  readonly name: string;
  /** Text of SLD. */
  readonly sld: string;
}

export interface LayerStylesTask extends DropTask {
  styles: readonly NamedSld[];
}

/** A table of a store by the token of the newest load that made it; null where none did. */
export interface LoadedTable {
  token: string | null;
}

/** `store` is the file that has the table. */
export type LoadResult = { features: number; store: string } | { occupant: LoadedTable };

export interface LoadTask {
  /** A GeoPackage with one table, made by `ogr.translate`. Removed after the load. */
  staging: string;
  /** The staging file stays. */
  keepsStaging?: boolean;
  stagingTable: string;
  /** The file contains only texts: each column gets the type that fits all of its values. */
  untyped?: boolean;
  /** GeoPackage store to load into; created when missing. */
  store: string;
  /**
   * The store is the first file of a series (src/core/tiles/store-series.ts). A new table is created in the first
   * file with fewer tables than this, and table names are unique in the series. Absent if the store is a single file.
   */
  maxTables?: number;
  table: string;
  title?: string;
  /** The columns `begin`, `end` and `timestamp` are those of KML. */
  spans?: boolean;
  /**
   * Replaces an existing table of this name in the same transaction, if it is the table in `replaced`, which the
   * caller has checked. If it is another table, or if this member is `false`, the load keeps the table and returns
   * its identity. If this member is absent, a load under an existing name fails.
   */
  replace?: boolean;
  replaced?: LoadedTable;
  /** Rows have the ids of the staging table, whatever the order they are stored in. For tables that are only read. */
  keepIds?: boolean;
  /** The ids of the staging table become a column `id`, unless a column of that name has the same values. */
  idsAsColumn?: boolean;
  /** The caller flushes and renames the store before anyone reads it, so the load itself does not flush. */
  unpublished?: boolean;
  /** Identity of the load: a second load with the same token into the same store changes nothing. */
  token?: string;
}
