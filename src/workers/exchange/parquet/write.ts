/** Tables of GeoPackages as GeoParquet 1.1, row group by row group. */

import type { SchemaElement } from 'hyparquet';
import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import { noteUtcTimes } from '../../../core/features/value-notes.js';
import { findFreeName, namesInUse } from '../../../core/values/column-names.js';
import { describeCrs } from '../../../native/index.js';
import Database from '../../../native/sqlite.js';
import { quote } from '../../providers/geopackage/connection.js';
import { readWkbTypeName } from './geometry.js';

/** Limits of a row group. One complete group is in memory. */
const GROUP_ROWS = 50_000;
const GROUP_BYTES = 33_554_432;

/** A column of the file. `misfits` is a condition for values that the type cannot represent: the column is text then. */
interface ColumnType {
  readonly schema: Omit<SchemaElement, 'name'>;
  readonly misfits: (column: string) => string;
  readonly convert: (value: unknown) => unknown;
}

const TEXT: ColumnType = {
  schema: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  misfits: () => '0',
  convert: (value) => (typeof value === 'string' ? value : String(value)),
};
const INTEGER: ColumnType = {
  schema: { type: 'INT64' },
  misfits: (column) => `typeof(${column}) <> 'integer'`,
  convert: (value) => value,
};
const NUMBER: ColumnType = {
  schema: { type: 'DOUBLE' },
  misfits: (column) => `typeof(${column}) NOT IN ('real', 'integer')`,
  convert: Number,
};
const BOOLEAN: ColumnType = {
  schema: { type: 'BOOLEAN' },
  misfits: (column) => `${column} NOT IN (0, 1)`,
  convert: (value) => Number(value) === 1,
};
const BYTES: ColumnType = {
  schema: { type: 'BYTE_ARRAY' },
  misfits: (column) => `typeof(${column}) <> 'blob'`,
  convert: (value) => value,
};
const DATE: ColumnType = {
  schema: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  misfits: (column) =>
    `${column} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' OR date(${column}) IS NOT ${column}`,
  convert: (value) => Date.parse(String(value)) / 86_400_000,
};
/**
 * Microseconds in UTC. Parquet has no times with offsets, and most readers compute with instants. So the instant is
 * written, and a note names the columns that lose their offsets.
 */
const TIME: ColumnType = {
  schema: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  misfits: (column) =>
    `${column} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*'
     OR NOT (${column} GLOB '*Z' OR ${hasOffset(column)})
     OR julianday(${column}) IS NULL OR ${column} GLOB '*.[0-9][0-9][0-9][0-9][0-9][0-9][0-9]*'`,
  convert(value) {
    const [, time = '', digits = '', zone = ''] =
      /^([^.]+?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(String(value)) ?? [];
    return BigInt(Date.parse(`${time}${zone}`)) * 1000n + BigInt(digits.padEnd(6, '0'));
  },
};

/** Condition for times with an offset from UTC. */
function hasOffset(column: string): string {
  return `${column} GLOB '*[+-][0-9][0-9]:[0-9][0-9]'`;
}

/** Types by those of GeoPackages (OGC 12-128r18, table 1). */
function chooseType(declared: string): ColumnType {
  const name = declared.toUpperCase().replace(/\(.*$/, '');
  if (name === 'BOOLEAN') return BOOLEAN;
  if (name === 'DATE') return DATE;
  if (name === 'DATETIME') return TIME;
  if (name === 'BLOB') return BYTES;
  if (/INT/.test(name)) return INTEGER;
  return /^(REAL|DOUBLE|FLOAT)$/.test(name) ? NUMBER : TEXT;
}

interface Column {
  readonly source: string;
  readonly name: string;
  readonly type: ColumnType;
}

export interface ParquetOutput {
  /** Name of the column with the ids. Default: ids are not written. */
  readonly idField?: string | undefined;
  /** CRS of the coordinates. Undefined: unknown. */
  readonly crs: string | undefined;
}

/** Writes the only table of a GeoPackage. Returns the number of rows, and notes about changed values. */
export function writeParquet(
  path: string,
  part: string,
  { idField, crs }: ParquetOutput,
  onProgress: (fraction: number) => void,
): { features: number; notes: readonly string[] } {
  const db = new Database(path, { readonly: true });
  try {
    const { table, geometry, box } = readLayer(db);
    const columns = listColumns(db, table, geometry, idField);
    const geometryName = findFreeName('geometry', namesInUse(columns.map(({ name }) => ({ name }))));
    const writer = new ParquetWriter({
      writer: fileWriter(part),
      schema: buildSchema(columns, geometryName),
      kvMetadata: [],
      createdBy: 'Graticule',
    });
    const total = Number(
      db
        .prepare(`SELECT count(*) FROM ${quote(table)}`)
        .pluck()
        .get(),
    );
    const types = new Set<string>();
    let rows = 0;
    for (const group of readGroups(db, table, [...columns.map(({ source }) => source), geometry])) {
      writer.write({
        columnData: [
          ...columns.map(({ name, type }, i) => ({
            name,
            data: group[i]!.map((value) => (value === null ? null : type.convert(value))),
          })),
          {
            name: geometryName,
            data: group[columns.length]!.map((blob) => readWkb(blob, types)),
            statistics: false,
          },
        ],
        rowGroupSize: GROUP_ROWS,
      });
      rows += group[0]!.length;
      onProgress(rows / total);
    }
    writer.kvMetadata = [{ key: 'geo', value: JSON.stringify(describe(geometryName, crs, [...types], box)) }];
    void writer.finish();
    return { features: rows, notes: describeTimes(db, table, columns) };
  } finally {
    db.close();
  }
}

interface LayerRow {
  table: string;
  geometry: string;
  box: readonly number[] | undefined;
}

function readLayer(db: Database.Database): LayerRow {
  const row = db
    .prepare(
      `SELECT table_name AS "table", column_name AS geometry, min_x, min_y, max_x, max_y
       FROM gpkg_geometry_columns JOIN gpkg_contents USING (table_name)`,
    )
    .get() as { table: string; geometry: string } & Record<string, number | null>;
  const box = [row['min_x'], row['min_y'], row['max_x'], row['max_y']];
  return { ...row, box: box.every((one) => typeof one === 'number') ? (box as number[]) : undefined };
}

function listColumns(
  db: Database.Database,
  table: string,
  geometry: string,
  idField: string | undefined,
): Column[] {
  const all = db.prepare('SELECT name, type, pk FROM pragma_table_info(?)').all(table) as {
    name: string;
    type: string;
    pk: number;
  }[];
  const columns = all
    .filter(({ name, pk }) => name !== geometry && (pk === 0 || idField !== undefined))
    .map(({ name, type, pk }) => ({
      source: name,
      name: pk === 0 ? name : idField!,
      type: chooseType(type),
    }));
  const counts = columns.map(({ source, type }) => {
    const column = quote(source);
    return `coalesce(sum(${column} IS NOT NULL AND (${type.misfits(column)})), 0)`;
  });
  if (counts.length === 0) return columns;
  const misfits = db
    .prepare(`SELECT ${counts.join(', ')} FROM ${quote(table)}`)
    .raw()
    .get() as number[];
  return columns.map((column, i) => (misfits[i] === 0 ? column : { ...column, type: TEXT }));
}

function describeTimes(db: Database.Database, table: string, columns: readonly Column[]): string[] {
  const times = columns.filter(({ type }) => type === TIME);
  const changed = times.filter(({ source }) =>
    db.prepare(`SELECT 1 FROM ${quote(table)} WHERE ${hasOffset(quote(source))} LIMIT 1`).get(),
  );
  return noteUtcTimes(changed.map(({ name }) => name));
}

function buildSchema(columns: readonly Column[], geometry: string): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length + 1 },
    ...columns.map(({ name, type }) => ({ ...type.schema, name, repetition_type: 'OPTIONAL' as const })),
    { name: geometry, type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
  ];
}

/** Rows in groups, by column. */
function* readGroups(db: Database.Database, table: string, names: readonly string[]): Generator<unknown[][]> {
  const rows = db
    .prepare(`SELECT ${names.map(quote).join(', ')} FROM ${quote(table)}`)
    .raw()
    .safeIntegers();
  const start = () => names.map((): unknown[] => []);
  let group = start();
  let bytes = 0;
  for (const row of rows.iterate() as Iterable<unknown[]>) {
    for (const [i, value] of row.entries()) {
      group[i]!.push(value);
      bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
    }
    if (group[0]!.length < GROUP_ROWS && bytes < GROUP_BYTES) continue;
    yield group;
    group = start();
    bytes = 0;
  }
  if (group[0]!.length > 0) yield group;
}

/** Bytes of the envelope in the header of a geometry, by its code (OGC 12-128r18, 2.1.3). */
const ENVELOPES = [0, 32, 48, 48, 64];

function readWkb(blob: unknown, types: Set<string>): Uint8Array | null {
  if (!Buffer.isBuffer(blob)) return null;
  const wkb = blob.subarray(8 + (ENVELOPES[(blob[3]! >> 1) & 7] ?? 0));
  types.add(readWkbTypeName(wkb));
  return wkb;
}

/** Metadata of the file (GeoParquet 1.1). The default CRS is longitude and latitude on WGS 84. */
function describe(
  geometry: string,
  crs: string | undefined,
  types: readonly string[],
  bbox: readonly number[] | undefined,
) {
  const isDefault = crs === 'OGC:CRS84' || crs === 'EPSG:4326';
  const projjson = crs === undefined || isDefault ? undefined : describeCrs(crs).projjson;
  const column = {
    encoding: 'WKB',
    geometry_types: types,
    ...(isDefault ? {} : { crs: projjson === undefined ? null : (JSON.parse(projjson) as object) }),
    ...(bbox ? { bbox } : {}),
  };
  return { version: '1.1.0', primary_column: geometry, columns: { [geometry]: column } };
}
