/** Tasks of vector threads that describe the tables of a database, for those who choose among them. */

import type { Activity } from '../sources/activity.js';
import type { FieldType } from '../sources/vector-source.js';
import type { VectorLayerInfo } from './vector-tasks.js';

export interface TableName {
  schema: string;
  table: string;
}

/** What is to be published of a table, where that is not what the table itself says. */
export interface TableChoice extends TableName {
  geometryColumn?: string;
  /** Column that identifies rows. */
  key?: string;
  /** Of a column that declares none. */
  srid?: number;
  /** Of a column that declares none. */
  geometryType?: string;
  /** Fields that are published; all when absent. */
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

/** One thing that was looked at. */
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

/** What speaks for and against publishing a table. */
export interface TableReport {
  checks: TableCheck[];
  fields: ReportedField[];
  geometryColumn: string | null;
  geometryType: string | null;
  primaryKey: string | null;
  /** How rows are told from each other. */
  identity: 'primaryKey' | 'uniqueColumn' | 'statedColumn' | 'unresolved';
  sourceSrid: number | null;
  estimatedRows: number | null;
  featureCount: number | null;
  /** Among the rows that were looked at. */
  nullGeometries: number | null;
  invalidGeometries: number | null;
}

/** The layer, or why it cannot be one now. */
export type TableLayer = { layer: VectorLayerInfo } | { problem: string };

export interface TableTasks {
  /** All tables and views of a database. */
  'vector.tables': { input: { database: string }; output: DatabaseTables };
  /** Looks at a table from all sides. */
  'vector.validate': { input: { database: string; choice: TableChoice }; output: TableReport };
  /** Tables as layers, in the order of the choices. */
  'vector.layers': { input: { database: string; choices: TableChoice[] }; output: TableLayer[] };
  /** A text for each table that changes with its columns and rights; null for one that is gone. */
  'vector.fingerprints': { input: { database: string; tables: TableName[] }; output: (string | null)[] };
  /** Counters of the writes to tables, which are named with their schemas; null for one that is gone. */
  'vector.activity': { input: { database: string; tables: string[] }; output: (Activity | null)[] };
  /** Texts that two looks at one table share, whatever address its database is reached by; none for one that is gone. */
  'vector.table-identities': { input: { database: string; tables: TableName[] }; output: string[][] };
}
