/** What vector data is read from. */

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
