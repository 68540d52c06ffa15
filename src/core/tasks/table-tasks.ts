/** Tasks of vector threads that describe the tables of a database, so that an operator can choose among them. */

import type { Activity } from '../sources/activity.js';
import type { FieldType } from '../sources/vector-source.js';
import type { VectorLayerInfo } from './vector-tasks.js';

export interface TableName {
  schema: string;
  table: string;
}

/** Choices for publishing a table that override what the table declares. */
export interface TableChoice extends TableName {
  geometryColumn?: string;
  /** Column that identifies rows. */
  key?: string;
  /** SRID for a column that declares none. */
  srid?: number;
  /** Geometry type for a column that declares none. */
  geometryType?: string;
  /** Published fields; all if absent. */
  fields?: readonly string[];
}

export interface ColumnInfo {
  name: string;
  dataType: string;
  isNullable: boolean;
  isPrimaryKey: boolean;
  maxLength: number | null;
}

/** A table or view that the user may read something of. */
export interface TableInfo extends TableName {
  kind: 'table' | 'view' | 'materialized view' | 'partitioned table' | 'foreign table';
  /** The first of its geometry columns. */
  geometryColumn: string | null;
  geometryType: string | null;
  srid: number | null;
  geometryColumns: string[];
  hasSpatialIndex: boolean;
  estimatedRows: number | null;
  comment: string | null;
  columns: ColumnInfo[];
}

export interface DatabaseTables {
  /** Version of the extension; null where it is not installed. */
  postgis: string | null;
  tables: TableInfo[];
}

/** Result of one check. */
export interface TableCheck {
  code: string;
  severity: 'pass' | 'warning' | 'error';
  message: string;
  expected?: string;
  actual?: string;
}

export interface ReportedField extends ColumnInfo {
  fieldType: FieldType;
  isSelected: boolean;
}

/** Reasons for and against publishing a table. */
export interface TableReport {
  checks: TableCheck[];
  fields: ReportedField[];
  geometryColumn: string | null;
  geometryType: string | null;
  primaryKey: string | null;
  /** Identification of rows. */
  identity: 'primaryKey' | 'uniqueColumn' | 'statedColumn' | 'unresolved';
  sourceSrid: number | null;
  estimatedRows: number | null;
  featureCount: number | null;
  /** Counted in the inspected rows. */
  nullGeometries: number | null;
  invalidGeometries: number | null;
}

/** The layer, or why it cannot be one now. */
export type TableLayer = { layer: VectorLayerInfo } | { problem: string };

/** Counters of a table since they were reset, and its last analysis. */
export interface TableStatistics {
  /** False for views, and for partitioned and foreign tables. */
  isTable: boolean;
  hasSpatialIndex: boolean;
  /** Estimated number of rows. */
  rows: number;
  bytes: number;
  /** Rows at the last analysis. Null: it was never analysed. */
  analysedRows: number | null;
  /** Milliseconds since 1970. */
  analysedAt: number | null;
  changesSinceAnalysis: number;
  sequentialScans: number;
  rowsReadBySequentialScans: number;
  /** Inserted, updated and deleted rows. */
  writes: number;
}

export interface TableTasks {
  /** All tables and views of a database. */
  'vector.tables': { input: { database: string }; output: DatabaseTables };
  /** Reasons for and against publishing a table. */
  'vector.validate': { input: { database: string; choice: TableChoice }; output: TableReport };
  /** Tables as layers, in the order of the choices. */
  'vector.layers': { input: { database: string; choices: TableChoice[] }; output: TableLayer[] };
  /** A fingerprint for each table that changes with its columns and privileges; null if the table does not exist. */
  'vector.fingerprints': { input: { database: string; tables: TableName[] }; output: (string | null)[] };
  /** Counters of the writes to tables, with schema-qualified names; null if a table does not exist. */
  'vector.activity': { input: { database: string; tables: string[] }; output: (Activity | null)[] };
  /** Statistics of tables with their geometry columns; null if a table does not exist. */
  'vector.table-statistics': {
    input: { database: string; tables: (TableName & { geometryColumn: string })[] };
    output: (TableStatistics | null)[];
  };
  /**
   * Identifiers that are the same whenever the same table is inspected, whatever the address of its database; empty
   * if there are none.
   */
  'vector.table-identities': { input: { database: string; tables: TableName[] }; output: string[][] };
}
