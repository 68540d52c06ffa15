/** What vector data is read from. */

import type { AnyNumber } from '../values/exact-number.js';

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

export type DomainCode = string | AnyNumber;

/** A value that a field may have, and its label. */
export interface CodedValue {
  readonly code: DomainCode;
  readonly name: string;
}

/** One attribute column of a vector source. */
export interface Field {
  name: string;
  type: FieldType;
  nullable: boolean;
  /** Type of the members of an `array`. */
  items?: FieldType;
  /** Name of the column's type in the database, where values must be cast to it: `uuid`, `numeric(8,2)`, `int4[]`. */
  sqlType?: string;
  /** Width in bits of the numbers that the column can hold, or the members of its arrays; 64 if absent. */
  bits?: 8 | 16 | 32;
  title?: string;
  description?: string;
  /** All values that the column may hold, where the store says so. */
  enumeration?: DomainCode[];
  /** What the values of `enumeration` mean, where somebody says so. */
  codedValues?: readonly CodedValue[];
  /** Whether features begin or end at it: `datetime` selects by these instants. */
  bound?: 'start' | 'end';
  /** Least and greatest value that the column may hold, where the store says so. */
  range?: [min: AnyNumber | null, max: AnyNumber | null];
  maxLength?: number;
  /** True when the store fills the column itself: never written by clients. */
  generated?: boolean;
  /** What the store gives in place of the values. Filters read these all the same. */
  mask?: Mask;
  /** True when the values are not those that are stored: they are shown, and neither compared, ordered nor written. */
  isMasked?: boolean;
}

/** `key` is that of the hash, 32 bytes in hexadecimal digits: for stores, never for clients. */
export type Mask =
  | { treatment: 'null' }
  | { treatment: 'hash'; key: string }
  | { treatment: 'truncate'; length: number };

export type GeometryType =
  | 'Point'
  | 'LineString'
  | 'Polygon'
  | 'MultiPoint'
  | 'MultiLineString'
  | 'MultiPolygon'
  | 'GeometryCollection'
  | 'Geometry';

/**
 * A table of a store: all that a worker must know to read it, and what the store declares of it. What a source can do
 * stands in its members, and nobody outside of the store asks which store it is of.
 */
export interface VectorSource {
  /** Name of the store, as it is registered in src/workers/providers/store.ts. */
  kind: string;
  /**
   * File that the table lies in. One task at a time reads it on each thread, its edits wait for each other, and what
   * others write to it is noticed.
   */
  path?: string;
  /**
   * URL of the PostgreSQL database that the table lies in: its tasks wait beside each other, it orders its writers
   * itself, and what others write to it is not noticed, but told if it can be captured. May hold a password: it is never
   * logged nor sent to a client.
   */
  database?: string;
  schema?: string;
  table: string;
  geometryColumn: string;
  geometryType: GeometryType;
  hasZ: boolean;
  /** A single column that is a key, or is taken for one in a view. */
  idColumn: string;
  /** Type of the ids; `integer` when absent. */
  idType?: IdType;
  /** True when ids are the store's to give: a client's are not taken. */
  idGenerated?: boolean;
  /** Whole numbers that stand for ids of another type, where the store keeps such. */
  numbers?: KeyNumbers;
  /** Column of the row numbers, where rows are stored in another order than that of their ids. */
  rowColumn?: string;
  /** Whether a spatial index covers the geometry column. */
  hasIndex: boolean;
  /** Anything PROJ reads: `EPSG:4326`, or WKT where the store defines its own CRS. Data is x,y ordered. */
  crs: string;
  /** Attribute columns without id and geometry. */
  fields: Field[];
  /** Names of the tables whose rows this one shows too: those that a view reads, and children of a table. */
  reads?: readonly string[];
  /** Rows when the table was last described, for estimates; absent where nobody counted them. */
  rows?: number;
  /** False when rows cannot be changed: a view, a copy of a foreign file, no permission to write. */
  writable: boolean;
  /** Why rows cannot be changed, where the store knows: `it is a view`. */
  readOnly?: string;
}

/** A table of the store that gives each key a number, which no other key gets. */
export interface KeyNumbers {
  /** Name of the table. */
  table: string;
  /** What the number is called where it is the id; no column of the source has this name. */
  column: string;
  /** The key as a field. */
  key: Field;
}

export type IdType = 'integer' | 'string' | 'uuid';

/** A table of a GeoPackage file. */
export interface GeoPackageSource extends VectorSource {
  kind: 'geopackage';
  path: string;
}

/** A table or view of a PostGIS database. */
export interface PostgisSource extends VectorSource {
  kind: 'postgis';
  database: string;
  schema: string;
  /** True when the column is of type `geography`. */
  geography?: boolean;
  /** The key of a table whose rows several columns identify. */
  compositeKey?: CompositeKey;
  /** True when the column is declared to hold curves. */
  curved?: boolean;
  /** True when rows have curves or surfaces, as far as was looked. */
  holdsCurves?: boolean;
  /** True when the column may hold polyhedral surfaces, TINs or triangles. */
  mayHoldSurfaces?: boolean;
  /** SRID of the stored geometries; 0 where they have none. */
  srid: number;
  /** SRID that stands for `srid` 0. */
  statedSrid?: number;
  idType: IdType;
}

/** A key of several columns: ids are made of their values. */
export interface CompositeKey {
  /** Name of the ids; no column of the table has it. */
  name: string;
  parts: readonly Field[];
}

/** Names the file or schema that a table lies in. Not for clients, nor for the log. */
export function formatSourceLocation({ path, database, schema }: VectorSource): string {
  return path ?? `${database} ${schema}`;
}

/** Name of a table within its file or database. */
export function formatTableName({ schema, table }: VectorSource): string {
  return schema === undefined ? table : `${schema}.${table}`;
}

/** The named fields of a source in its own order; all when no names are given. */
export function fieldsNamed({ fields }: VectorSource, names: readonly string[] | undefined): Field[] {
  return names ? fields.filter((field) => names.includes(field.name)) : fields;
}

/** Whether a field keeps decimals digit by digit. */
export const isDecimal = ({ type, sqlType }: Field): boolean =>
  type === 'number' && (sqlType?.startsWith('numeric') ?? false);

/** Whether ids are integers, which tiles carry as the ids of their features. */
export function hasIntegerIds({ idType }: VectorSource): boolean {
  return idType === undefined || idType === 'integer';
}
