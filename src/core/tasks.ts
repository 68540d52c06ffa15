/**
 * Every task that a worker can run: its name, input and output.
 *
 * The gateway calls `pools.run(name, input, options)` and does not know on which thread or in which
 * process the task runs. Inputs carry whole source definitions, so workers hold no catalog of their own
 * and a catalog reload can never be half visible.
 */

import type { AnalyticsTasks } from './analytics.js';
import type { ArchiveTasks, VectorLayerMetadata } from './archives.js';
import type { ConnectionTotals } from './connection-counts.js';
import type { Expression } from './cql2/ast.js';
import type { CsvInspection } from './csv.js';
import type { EditResult, EditTask } from './edits.js';
import type { EventsResult, EventsTask, MatchResult, MatchTask } from './events.js';
import type { CountTask, ItemResult, ItemsResult, ItemsTask, ItemTask } from './features.js';
import type { BodyReading } from './json-bounds.js';
import type { ImageResult, PostgisRaster, RasterTasks, TileSize } from './rasters.js';
import type { StacTasks } from './stac.js';
import type { StyleProblem } from './style/bounds.js';
import type { FileStyle } from './style/model.js';
import type { SldTask, SldTaskResult } from './style/sld/task.js';
import type { SymbolTasks } from './symbols.js';

/** An axis-aligned box: `[minx, miny, maxx, maxy]`, always in x,y (easting/longitude first) order. */
export type Box = readonly [number, number, number, number];

/** `array` is a JSON array of `Field.items`; `json` is any JSON value. */
export type FieldType =
  | 'integer'
  | 'number'
  | 'string'
  | 'boolean'
  | 'date'
  | 'date-time'
  | 'binary'
  | 'json'
  | 'array';

/** One attribute column of a vector source. */
export interface Field {
  name: string;
  type: FieldType;
  nullable: boolean;
  /** Type of the members of an `array`. */
  items?: FieldType;
  /** Name of the column's type in the database, where values must be cast to it: `uuid`, `numeric(8,2)`, `int4[]`. */
  sqlType?: string;
  title?: string;
  description?: string;
  /** All values that the column may hold, where the store says so. */
  enumeration?: (string | number)[];
  /** Least and greatest value that the column may hold, where the store says so. */
  range?: [min: number | null, max: number | null];
  maxLength?: number;
  /** True when the store fills the column itself: never written by clients. */
  generated?: boolean;
}

export type GeometryType =
  | 'Point'
  | 'LineString'
  | 'Polygon'
  | 'MultiPoint'
  | 'MultiLineString'
  | 'MultiPolygon'
  | 'GeometryCollection'
  | 'Geometry';

/** A table of a GeoPackage file: all a worker must know to read it. */
export interface GeoPackageSource {
  kind: 'geopackage';
  path: string;
  table: string;
  geometryColumn: string;
  geometryType: GeometryType;
  hasZ: boolean;
  /** Column of the feature id: the INTEGER PRIMARY KEY, or a unique one where `rowColumn` is that. */
  idColumn: string;
  /** INTEGER PRIMARY KEY column of a copy that stores its rows in another order than that of their ids. */
  rowColumn?: string;
  /** Whether the table has an rtree_<table>_<column> index. */
  hasIndex: boolean;
  /** Anything PROJ reads: `EPSG:4326`, or WKT where the file defines its own CRS. Data is x,y ordered. */
  crs: string;
  /** Attribute columns without id and geometry. */
  fields: Field[];
  /** False when rows cannot be changed: a view, a copy of a foreign file, a file or folder without write permission. */
  writable: boolean;
}

/** A table or view of a PostGIS database. */
export interface PostgisSource {
  kind: 'postgis';
  /** libpq connection URL. May hold a password: it is never logged nor sent to a client. */
  database: string;
  schema: string;
  table: string;
  geometryColumn: string;
  geometryType: GeometryType;
  hasZ: boolean;
  /** True when the column is of type `geography`. */
  geography?: boolean;
  /** True when the column is declared to hold curves. */
  curved?: boolean;
  srid: number;
  /** A single column that is a key, or is taken for one in a view. */
  idColumn: string;
  idType: 'integer' | 'string' | 'uuid';
  /** Whether a GiST (or other spatial) index covers the geometry column. */
  hasIndex: boolean;
  /** Anything PROJ reads. Data is x,y ordered. */
  crs: string;
  fields: Field[];
  writable: boolean;
}

export type VectorSource = GeoPackageSource | PostgisSource;

/** What inspection of one vector layer found. */
export interface VectorLayerInfo {
  source: VectorSource;
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
  featureCount: number;
  /** True when `featureCount` is the database's estimate. */
  countEstimated?: boolean;
  /** Cursor of the last edit that the other members know of; 0 when the store has had none. */
  cursor: number;
  /** Styles that the file brings along. */
  styles?: FileStyle[];
  /** Of a table of STAC items: the document of their collection, as it was read. */
  stac?: Record<string, unknown>;
}

export interface InspectTask {
  path: string;
  /** CRS of tables, whatever the file says; `''` is for all that are not named. */
  crs?: Readonly<Record<string, string>>;
  /** CRS of tables of which the file names none. */
  assumeCrs?: string;
}

export interface CaptureTask {
  database: string;
  /** Tables of which edits by others are to be told; of all others they are not. */
  tables: PostgisSource[];
}

export interface CaptureResult {
  /** How many tables are captured. */
  captured: number;
  problems: { table: string; reason: string }[];
}

/** What discovery found in a database. */
export interface DiscoveredDatabase {
  layers: VectorLayerInfo[];
  rasters: PostgisRaster[];
  /** What cannot be published, and why; without a layer it concerns the whole database. */
  problems: { layer?: string; reason: string }[];
}

/** One layer of a vector tile. */
export interface TileLayer {
  name: string;
  source: VectorSource;
  /** Attribute names to carry; all when absent. */
  fields?: string[];
  filter?: Expression;
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
  features: number;
  /** Features that were left out because the tile would be too large. */
  dropped: number;
  /** Layers, by index, that were much to read and should get an overview of their table. */
  heavy?: number[];
}

export interface OccupiedTask {
  source: VectorSource;
  /** CRS of the boxes. */
  crs: string;
  /** x,y ordered. */
  boxes: readonly Box[];
}

export type ArchiveContainer = 'mbtiles' | 'pmtiles';
export type ArchiveFormat = 'mvt' | 'png' | 'jpeg' | 'webp';

/** What inspection of a tile archive found. Its tiles are those of WebMercatorQuad. */
export interface ArchiveInfo {
  path: string;
  container: ArchiveContainer;
  format: ArchiveFormat;
  minZoom: number;
  maxZoom: number;
  /** Extent in CRS84, from the metadata or from the tiles. */
  extent84: Box;
  title?: string;
  description?: string;
  attribution?: string;
  /** The layers in vector tiles, as far as the metadata lists them. */
  vectorLayers: VectorLayerMetadata[];
  /** What tells this state of a remote archive from others. */
  revision?: string;
}

/** A tile's place in an archive. */
export interface ArchiveTileAddress {
  zoom: number;
  /** Counted from the top, whatever the container does. */
  row: number;
  column: number;
}

/** Tiles of one archive, read together. Arrays of numbers change threads for less than objects do. */
export interface ArchiveTilesTask {
  path: string;
  container: ArchiveContainer;
  /** Zoom, row and column of each tile. */
  addresses: Int32Array;
}

/** What became of each tile, in the order of the task. */
export interface ArchiveTilesResult {
  /** The stored bytes of all tiles, end to end: one buffer moves for less than many are copied. */
  data: Uint8Array;
  /** Where each tile ends in them. */
  ends: Int32Array;
  /** 1 for each tile that is gzip. */
  gzip: Uint8Array;
  /** By place in the order: tiles that cannot be read. */
  failures: Record<number, FailureMessage>;
}

export interface ArchiveTile {
  /** The stored bytes; length 0 when the archive has no such tile. */
  data: Uint8Array;
  /** `gzip` when the stored bytes are gzip, which has been checked. */
  encoding: 'identity' | 'gzip';
}

export type MapLayer =
  | {
      kind: 'vector';
      /** An uncompressed vector tile of one layer, whose grid covers the map's bbox. */
      tile: Uint8Array;
      /** Layers of a MapLibre style, as JSON. */
      style: string;
    }
  | {
      kind: 'raster';
      /** RGBA pixels of exactly the map's size. */
      rgba: Uint8Array;
    };

export interface MapTask {
  width: number;
  height: number;
  /** CSS colour, or `transparent`. */
  background: string;
  /** Bottom layer first. */
  layers: MapLayer[];
  /** Grid units of the vector tiles along either side of the map. */
  tileExtent: number;
  /** Of MapLibre, as expressions of styles mean it. */
  zoom: number;
  /** 1 for 96 dpi, 2 for @2x. */
  scale: number;
  format: 'png' | 'jpeg' | 'webp' | 'tiff';
  quality?: number;
  cut?: TileSize;
  /** Needed by georeferenced formats. */
  bbox: Box;
  crs: string;
}

/** OGR drivers that write a whole collection into one file. */
export type ExportFormat = 'GPKG' | 'GeoJSON' | 'FlatGeobuf' | 'CSV' | 'KML';

export interface TranslateTask {
  /** Any file that OGR opens. */
  path: string;
  /** Layer to read; absent: the first. */
  layer?: string;
  /** File to create; must not exist. Removed again when the task fails. */
  output: string;
  /** What to write; a staging GeoPackage when absent. */
  format?: ExportFormat;
  table: string;
  /** Column with the ids, where OGR takes another for them: rows are written in its order, and without it. */
  idColumn?: string;
  /** CRS to assume when the file names none. */
  assumeCrs?: string;
  /** A file that names no CRS becomes a table of an undefined one. */
  mayLackCrs?: boolean;
  /** CRS of the coordinates, whatever the file says. */
  sourceCrs?: string;
  /** CRS to project to; absent: that of the source. */
  targetCrs?: string;
}

/** Unpacks the data set of a ZIP archive, or a file that gzip has compressed. */
export interface UnpackTask {
  path: string;
  /** All vector data of the archive, in place of one data set: a shapefile or file geodatabase if there is any. */
  every?: boolean;
  /** Folder to create; must not exist. Removed again when the task fails. */
  output: string;
  /** Which data set, when there are several. */
  layer?: string;
}

export interface UnpackResult {
  /** What OGR opens; the first, when there are several. */
  path: string;
  /** All of them. */
  paths: string[];
  /** Entries of the archive that hold other data, of kinds that are not unpacked. */
  left: string[];
}

export interface TranslateResult {
  features: number;
}

/** What OGR found in a vector file that is not a GeoPackage. */
export interface OgrLayerInfo {
  name: string;
  geometryType: GeometryType;
  /** False for a table of attributes alone. */
  hasGeometry?: boolean;
  /** The name is one of the format, such as `entities`, and says nothing. */
  isUnnamed?: boolean;
  hasZ: boolean;
  featureCount: number;
  crs: string | null;
  extent?: Box;
  fields: Field[];
}

export interface LoadTask {
  /** A GeoPackage with one table, made by `ogr.translate`. Removed after the load. */
  staging: string;
  stagingTable: string;
  /** The file has texts alone: columns get the type that all of their texts have. */
  untyped?: boolean;
  /** GeoPackage store to load into; created when missing. */
  store: string;
  table: string;
  title?: string;
  /** Takes the place of a table of that name in the same transaction. */
  replace?: boolean;
  /** Rows have the ids of the staging table, whatever the order they are stored in. For tables that are only read. */
  keepIds?: boolean;
  /** Nobody reads the store before the caller has written it to the disk and given it its name: it is worth nothing until then. */
  unpublished?: boolean;
  /** Identity of the load: a second load with the same token into the same store changes nothing. */
  token?: string;
}

export interface Tasks extends AnalyticsTasks, ArchiveTasks, RasterTasks, StacTasks, SymbolTasks {
  /** Lists the feature tables of a GeoPackage. */
  'vector.inspect': { input: InspectTask; output: VectorLayerInfo[] };
  /** Names of the tables of a GeoPackage that hold tiles, and of those that hold neither tiles nor geometries. */
  'vector.otherTables': { input: { path: string }; output: { tiles: string[]; plain: string[] } };
  /** Lists what a PostGIS database can publish. */
  'vector.discover': { input: { database: string }; output: DiscoveredDatabase };
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
  /** Extent in CRS84 as the rows have it now; undefined when it cannot be told in time. */
  'vector.extent': { input: { source: VectorSource }; output: Box | undefined };
  'vector.count': { input: CountTask; output: number };
  /** Parses a request body: a large one would hold up the event loop. The memory of the parts moves to the thread. */
  'vector.body': { input: { parts: Uint8Array<ArrayBuffer>[]; reading: BodyReading }; output: unknown };
  /** Reads a style in SLD: a large one would hold up the event loop. */
  'vector.sld': { input: SldTask; output: SldTaskResult };
  /** What is wrong with the layers of a style, which are JSON. */
  'vector.styleProblems': { input: { json: string }; output: StyleProblem[] };
  /** Changes features; once it has begun it runs to its end, whatever becomes of the caller. */
  'vector.edit': { input: EditTask; output: EditResult };
  /** Events of an outbox, oldest first. */
  'vector.events': { input: EventsTask; output: EventsResult };
  /** Tells which features of events pass which filters. */
  'vector.match': { input: MatchTask; output: MatchResult };
  /** Metadata of a tile archive. */
  'vector.archive': { input: { path: string; container: ArchiveContainer }; output: ArchiveInfo };
  /** One outcome for each tile, in their order: a tile that cannot be read does not harm the others. */
  'vector.archiveTiles': { input: ArchiveTilesTask; output: ArchiveTilesResult };
  /** Second half of an import: staging file into the store, one transaction, Hilbert order, rtree. */
  'vector.load': { input: LoadTask; output: { features: number } };
  /** First half of an import: any OGR file into a staging GeoPackage, with progress. */
  'ogr.translate': { input: TranslateTask; output: TranslateResult };
  'ogr.inspect': { input: { path: string }; output: OgrLayerInfo[] };
  /** How a CSV file is read, and why. */
  'ogr.inspectCsv': { input: { path: string }; output: CsvInspection };
  'ogr.unpack': { input: UnpackTask; output: UnpackResult };
  'map.render': { input: MapTask; output: ImageResult };
}

export type TaskName = keyof Tasks;
export type TaskInput<N extends TaskName> = Tasks[N]['input'];
export type TaskOutput<N extends TaskName> = Tasks[N]['output'];

export interface TaskOptions {
  /** Aborting drops a queued task at once; a running one stops at its next safe point. */
  signal?: AbortSignal;
  /** Milliseconds from now; past it the caller gets a `deadline-exceeded` failure. */
  deadlineMs?: number;
  /** The answer has begun: the task is taken, however many wait. */
  begun?: boolean;
  /** Called with 0..1 by tasks that report progress. */
  onProgress?: (fraction: number) => void;
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

/** Where tasks run. Rejects with `TaskFailure` only. */
export interface Pools {
  run<N extends TaskName>(name: N, input: TaskInput<N>, options?: TaskOptions): Promise<TaskOutput<N>>;
  status(): PoolStatus[];
  close(): Promise<void>;
}

/** Why a task failed, as a meaning; the gateway maps meanings to status codes. */
export type TaskFailureCode =
  | 'invalid-input'
  | 'source-unreadable'
  | 'source-missing'
  | 'store-unavailable'
  | 'storage-full'
  | 'too-large'
  | 'no-data'
  | 'cancelled'
  | 'deadline-exceeded'
  | 'queue-full'
  | 'worker-lost'
  | 'internal';

/** A `TaskFailure` as plain data. */
export interface FailureMessage {
  code: TaskFailureCode;
  message: string;
  /** For the log only. */
  cause?: string;
}

/** The one error that crosses a thread or process boundary. `message` may be shown to a client. */
export class TaskFailure extends Error {
  override readonly name = 'TaskFailure';
  constructor(
    readonly code: TaskFailureCode,
    message: string,
    /** For the log only: never sent to a client. */
    readonly cause_?: string,
    /** When it is worth to try again, as far as that is known. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }
}
