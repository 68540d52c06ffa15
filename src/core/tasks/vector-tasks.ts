/** Tasks of vector threads that describe sources, encode tiles and load files. */

import type { Expression } from '../cql2/ast.js';
import type { LogCommits } from '../files/commit-count.js';
import type { Box } from '../geometry/box.js';
import type { PostgisRaster } from '../rasters/rasters.js';
import type { Activity } from '../sources/activity.js';
import type { VectorSource } from '../sources/vector-source.js';
import type { FileStyle } from '../styles/model.js';
import type { ArchiveTile } from '../tiles/archives.js';

/** What inspection of one vector layer found. */
export interface VectorLayerInfo {
  source: VectorSource;
  /** The cluster, the database and the table by the numbers that PostgreSQL gave them: the same under another name. */
  identity?: string;
  title?: string;
  description?: string;
  /** Extent in the source CRS, x,y ordered, of what lies in the domain of the CRS; absent for an empty layer. */
  extent?: Box;
  /** Box around all geometries in the source CRS, where some lie outside of the domain of the CRS. */
  beyond?: Box;
  /** Extent in CRS84 (degrees, longitude first). */
  extent84?: Box;
  /**
   * What the coordinates are taken for when no CRS is named: longitudes and latitudes, if they can be that, or else those of
   * a plane without a place on Earth.
   */
  takenFor?: 'degrees' | 'plane';
  /** Sentences on what was assumed of the data, or cannot be read. */
  remarks?: string[];
  featureCount: number;
  /** Counters of a table of a database, from before its features were counted. */
  activity?: Activity;
  /** True when `featureCount` is the database's estimate. */
  countEstimated?: boolean;
  /** Cursor of the last edit that the other members know of; 0 when the store has had none. */
  cursor: number;
  /** Commits that the other members know of; absent where they cannot be counted. */
  commits?: LogCommits;
  /** Styles that the file brings along. */
  styles?: FileStyle[];
  /** Of a table of STAC items: the document of their collection, as it was read. */
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

export interface CaptureTask {
  database: string;
  /** Tables of which edits by others are to be told; of all others they are not. */
  tables: VectorSource[];
}

export interface CaptureResult {
  /** How many tables are captured. */
  captured: number;
  problems: { table: string; reason: string }[];
}

/** What discovery found in a database. */
export interface DiscoveredDatabase {
  layers: VectorLayerInfo[];
  rasters: (PostgisRaster & Pick<VectorLayerInfo, 'identity'>)[];
  /** What cannot be published, and why; without a layer it concerns the whole database. */
  problems: { layer?: string; reason: string; isSlow?: true }[];
}

/** Milliseconds for one view or foreign table, and for all of those that take too long. */
export interface Patience {
  tableMs: number;
  allMs: number;
}

/** One layer of a vector tile. */
export interface TileLayer {
  name: string;
  source: VectorSource;
  /** Attribute names to carry; all when absent. */
  fields?: string[];
  filter: Expression | undefined;
  /** Version of the collection; with it the layer may be read from an overview of its table. */
  version?: string;
  /** The last edit that the layer must show; 0 when absent. */
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
  /** Mapbox Vector Tile when absent. */
  format?: 'mvt' | 'mlt';
  /** Compress the answer. */
  encoding: 'identity' | 'gzip';
  /** 1 to 12; a fast one when absent. */
  gzipLevel?: number;
  /** Smaller tiles stay uncompressed. */
  gzipMinBytes?: number;
}

export interface VectorTileResult {
  /** The encoded tile; length 0 when no feature touches it. */
  data: Uint8Array;
  encoding: 'identity' | 'gzip';
  /** Names the encoded tile before its compression: the same whoever asks first, and in which coding. */
  tag: string;
  features: number;
  /** Features that were left out because the tile would be too large. */
  dropped: number;
  /** Layers, by index, that were much to read and should get an overview of their table. */
  heavy?: number[];
}

/** A stored tile that is asked for in the other encoding of vector tiles. */
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
  /** The file has texts alone: columns get the type that all of their texts have. */
  untyped?: boolean;
  /** GeoPackage store to load into; created when missing. */
  store: string;
  /**
   * The store is the first file of a series (src/core/tiles/store-series.ts): a new table goes into the first file that has fewer
   * tables, and no two files have tables of the same name. Absent for a store that is one file.
   */
  maxTables?: number;
  table: string;
  title?: string;
  /** The columns `begin`, `end` and `timestamp` are those of KML. */
  spans?: boolean;
  /**
   * Takes the place of a table of that name in the same transaction, if that is the one which `replaced` names: the caller
   * has judged it. Another table stays, and the load answers which one it is; so does a load with `false`. Without it, a
   * load of a name that is taken fails.
   */
  replace?: boolean;
  replaced?: LoadedTable;
  /** Rows have the ids of the staging table, whatever the order they are stored in. For tables that are only read. */
  keepIds?: boolean;
  /** The ids of the staging table become a column `id`, unless a column of that name has the same values. */
  idsAsColumn?: boolean;
  /** Nobody reads the store before the caller has written it to the disk and given it its name: it is worth nothing until then. */
  unpublished?: boolean;
  /** Identity of the load: a second load with the same token into the same store changes nothing. */
  token?: string;
}
