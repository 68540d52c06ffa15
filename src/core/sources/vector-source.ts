/** Sources of vector data. */

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
  /** Bits of the numbers that the column, or the members of its arrays, can store. Default: 64. */
  bits?: 8 | 16 | 32;
  title?: string;
  description?: string;
  /** Allowed values of the column, if the store declares them. */
  enumeration?: DomainCode[];
  /** Names of the values in `enumeration`. */
  codedValues?: readonly CodedValue[];
  /** Whether the field is the start or end time of features, which `datetime` uses. */
  bound?: 'start' | 'end';
  /** Minimum and maximum of the column, if the store declares them. */
  range?: [min: AnyNumber | null, max: AnyNumber | null];
  maxLength?: number;
  /** True when the store fills the column itself: never written by clients. */
  generated?: boolean;
  /** Mask that the store applies to the values. Row filters use the unmasked values. */
  mask?: Mask;
  /** True if the returned values are masked: they cannot be compared, sorted or written. */
  isMasked?: boolean;
}

/** Mask of a field. `key` is the hash key, 32 bytes in hexadecimal digits: for stores, never for clients. */
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
 * Table of a store: all that a worker needs to read it, with its declared abilities. Code outside the store uses
 * these members and never the kind of store.
 */
export interface VectorSource {
  /** Name of the store in src/workers/providers/store.ts. */
  kind: string;
  /**
   * File of the table. Each thread reads it with one task at a time, its edits are serialised, and changes by other
   * programs are detected.
   */
  path?: string;
  /**
   * URL of the PostgreSQL database of the table. Its tasks run concurrently, and the database serialises edits.
   * Changes by other programs are not detected unless they are captured. The URL can contain a password, so it is
   * never logged or sent to a client.
   */
  database?: string;
  /** URL of the server that has the features. Its tasks wait for responses, and run concurrently. */
  remote?: string;
  schema?: string;
  table: string;
  geometryColumn: string;
  geometryType: GeometryType;
  hasZ: boolean;
  /** A single column that is the key, or is used as the key of a view. */
  idColumn: string;
  /** Type of the ids. Default: `integer`. */
  idType?: IdType;
  /** True if the store generates ids, and ignores ids of clients. */
  idGenerated?: boolean;
  /** Generated integers for ids of another type. */
  generatedIds?: GeneratedIds;
  /** Column of row numbers, if rows are not stored in the order of their ids. */
  rowColumn?: string;
  /** Whether a spatial index covers the geometry column. */
  hasIndex: boolean;
  /** Anything PROJ reads: `EPSG:4326`, or WKT where the store defines its own CRS. Data is x,y ordered. */
  crs: string;
  /** Attribute columns without id and geometry. */
  fields: Field[];
  /** Names of the tables whose rows this table also shows: tables that a view reads, and child tables. */
  reads?: readonly string[];
  /** Number of rows at the last description, for estimates; absent if unknown. */
  rows?: number;
  /** False when rows cannot be changed: a view, a copy of a foreign file, no permission to write. */
  writable: boolean;
  /** Why rows cannot be changed, where the store knows: `it is a view`. */
  readOnly?: string;
}

/** A table of the store with a unique integer for each key. */
export interface GeneratedIds {
  /** Name of the table. */
  table: string;
  /** Name of the id column with the integers. No column of the source has this name. */
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
  /** Whether the column is declared as curve type. */
  curved?: boolean;
  /** Whether the inspected rows contain curves or surfaces. */
  holdsCurves?: boolean;
  /** Whether the column can hold polyhedral surfaces, TINs or triangles. */
  mayHoldSurfaces?: boolean;
  /** SRID of the stored geometries; 0 if undefined. */
  srid: number;
  /** SRID that is assigned in place of `srid` 0. */
  statedSrid?: number;
  idType: IdType;
}

/** A key of several columns: ids are made of their values. */
export interface CompositeKey {
  /** Name of the ids; no column of the table has it. */
  name: string;
  parts: readonly Field[];
}

/** Location of a table: its file or schema. Not for clients or the log. */
export function formatSourceLocation({ path, database, remote, schema }: VectorSource): string {
  return path ?? remote ?? `${database} ${schema}`;
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
