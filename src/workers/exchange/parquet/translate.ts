/** Parquet files into a staging GeoPackage, row group by row group. */

import { basename, extname } from 'node:path';
import { parquetReadColumn } from 'hyparquet/src/read.js';
import type { DecodedArray } from 'hyparquet/src/types.js';
import { compressors } from 'hyparquet-compressors';
import { TaskFailure } from '../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { OgrLayerInfo, TranslateTask } from '../../../core/exchange/ogr.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { findFreeName, namesInUse } from '../../../core/values/column-names.js';
import Database from '../../../native/sqlite.js';
import { getCrs } from '../../gdal/crs.js';
import { quote } from '../../providers/geopackage/connection.js';
import { createCore } from '../../providers/geopackage/schema/create.js';
import { listParquetColumns, PARSERS, type ParquetColumn } from './columns.js';
import { type GeometryColumn, type ParquetFile, withParquet } from './file.js';
import { readWkbTypeName, writeGeoPackageBlob, writeNestedWkb } from './geometry.js';

/** Describes the one layer of a file. */
export function inspectParquet(path: string): Promise<OgrLayerInfo[]> {
  return withParquet(path, async ({ metadata, geometry }) => {
    const [type = 'Geometry', ...others] = geometry?.types ?? [];
    const plain = type.replace(/ .*$/, '') as OgrLayerInfo['geometryType'];
    return [
      {
        name: basename(path, extname(path)),
        geometryType: others.length === 0 ? plain : 'Geometry',
        ...(geometry ? {} : { hasGeometry: false }),
        hasZ: type.includes('Z'),
        featureCount: Number(metadata.num_rows),
        crs: geometry?.crs ?? null,
        fields: listParquetColumns(metadata, listOmissions(geometry)).map(buildField),
      },
    ];
  });
}

const FIELD_TYPES: Readonly<Record<string, Field['type']>> = {
  INTEGER: 'integer',
  REAL: 'number',
  BOOLEAN: 'boolean',
  DATE: 'date',
  DATETIME: 'date-time',
  BLOB: 'binary',
  JSON: 'json',
};

const buildField = ({ name, type }: ParquetColumn): Field => ({
  name,
  type: FIELD_TYPES[type] ?? 'string',
  nullable: true,
});

const listOmissions = (geometry: GeometryColumn | undefined) =>
  new Set(geometry ? [geometry.name, ...geometry.derived] : []);

/** Fills `part`; the number of features. */
export function translateParquet(
  { path, table, sourceCrs, format }: Omit<TranslateTask, 'targetCrs'>,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<number> {
  if (format !== undefined)
    throw new TaskFailure('invalid-input', 'Parquet files can only be copied into GeoPackages.');
  return withParquet(path, async (file) => {
    const { geometry } = file;
    if (!geometry) throw new TaskFailure('invalid-input', 'The layer has no geometry.');
    const target = await loadTarget(file, geometry);
    const db = new Database(part);
    try {
      // The file is removed after any failure, and read by other tasks only when it is complete.
      db.pragma('journal_mode = OFF');
      db.pragma('synchronous = OFF');
      createCore(db);
      const crs = sourceCrs ?? geometry.crs;
      const srsId = crs === undefined ? UNDEFINED_CRS : addCrs(db, crs);
      createTable(db, table, target, srsId);
      db.exec('BEGIN');
      await copyRows(file, geometry, target, { insert: inserter(db, table, target), srsId, onProgress });
      db.exec('COMMIT');
      return Number(file.metadata.num_rows);
    } finally {
      db.close();
    }
  });
}

/** Id of the undefined CRS, for data that does not name one (OGC 12-128r18, 1.1.2.1.2). */
const UNDEFINED_CRS = -1;
/** Id of a CRS without a code in EPSG. */
const OWN_CRS = 100_000;

function addCrs(db: Database.Database, text: string): number {
  const { srs, epsg } = getCrs(text === 'OGC:CRS84' ? 'EPSG:4326' : text);
  const id = epsg ?? OWN_CRS;
  const sql = 'INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, NULL)';
  db.prepare(sql).run(text, id, epsg === null ? 'NONE' : 'EPSG', id, srs.toWKT());
  return id;
}

/** The table that a file becomes. */
interface Target {
  columns: ParquetColumn[];
  /** Names of columns in the table. */
  id: string;
  geometry: string;
  /**
   * Type of the geometries, in capital letters. If it is a multi type, geometries of one part become multi
   * geometries.
   */
  type: string;
  multi: boolean;
  /** 0 none, 1 all, 2 some (OGC 12-128r18, 2.1.5.1.1). */
  z: number;
}

async function loadTarget(file: ParquetFile, geometry: GeometryColumn): Promise<Target> {
  const columns = distinct(listParquetColumns(file.metadata, listOmissions(geometry)));
  const names = namesInUse(columns);
  const types = geometry.types.length > 0 ? geometry.types : await typesIn(file, geometry);
  const plain = [...new Set(types.map((type) => type.replace(/ .*$/, '')))];
  const single = [...new Set(plain.map((type) => type.replace(/^Multi/, '')))];
  const multi = single.length === 1 && plain.some((type) => type.startsWith('Multi'));
  const high = types.filter((type) => type.includes('Z')).length;
  return {
    columns,
    id: findFreeName('fid', names),
    geometry: findFreeName('geom', names),
    type: single.length === 1 ? (multi ? `MULTI${single[0]}` : single[0]!).toUpperCase() : 'GEOMETRY',
    multi,
    z: high === 0 ? 0 : high === types.length ? 1 : 2,
  };
}

/** Column names in SQLite are case-insensitive. */
function distinct(columns: readonly ParquetColumn[]): ParquetColumn[] {
  const names = new Set<string>();
  return columns.map((column) => {
    const title = findFreeName(column.name, names);
    names.add(title.toLowerCase());
    return { ...column, title };
  });
}

/** The types that really occur. */
async function typesIn(file: ParquetFile, geometry: GeometryColumn): Promise<string[]> {
  const types = new Set<string>();
  for (const group of listGroups(file)) {
    const values = await readColumn(file, geometry.name, group);
    for (let i = 0; i < values.length; i++) {
      const wkb = readBytes(values[i], geometry);
      if (wkb) types.add(readWkbTypeName(wkb));
    }
  }
  return [...types];
}

function createTable(db: Database.Database, table: string, target: Target, srsId: number): void {
  const { id, geometry, type, z, columns } = target;
  const definitions = [
    `${quote(id)} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL`,
    `${quote(geometry)} ${type}`,
    ...columns.map((column) => `${quote(column.title ?? column.name)} ${column.type}`),
  ];
  db.exec(`CREATE TABLE ${quote(table)} (${definitions.join(', ')})`);
  db.prepare("INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES (?, 'features', ?)").run(
    table,
    srsId,
  );
  db.prepare('INSERT INTO gpkg_geometry_columns VALUES (?, ?, ?, ?, ?, 0)').run(
    table,
    geometry,
    type,
    srsId,
    z,
  );
}

function inserter(db: Database.Database, table: string, { columns, geometry }: Target): Database.Statement {
  const names = [geometry, ...columns.map(({ name, title }) => title ?? name)];
  return db.prepare(
    `INSERT INTO ${quote(table)} (${names.map(quote).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  );
}

interface Group {
  rowStart: number;
  rowEnd: number;
}

function listGroups({ metadata }: ParquetFile): Group[] {
  let rowStart = 0;
  return metadata.row_groups.map((group) => {
    if (group.total_byte_size > EXCHANGE_LIMITS.parquetGroupBytes)
      throw new TaskFailure(
        'too-large',
        `A row group of the Parquet file has more than ${EXCHANGE_LIMITS.parquetGroupBytes} bytes. Write the file with smaller row groups.`,
      );
    const rowEnd = rowStart + Number(group.num_rows);
    const rows = { rowStart, rowEnd };
    rowStart = rowEnd;
    return rows;
  });
}

async function readColumn(
  { buffer, metadata }: ParquetFile,
  column: string,
  { rowStart, rowEnd }: Group,
): Promise<DecodedArray> {
  const values = await parquetReadColumn({
    file: buffer,
    metadata,
    columns: [column],
    rowStart,
    rowEnd,
    compressors,
    parsers: PARSERS,
    utf8: false,
    geoparquet: false,
  });
  if (values.length !== rowEnd - rowStart)
    throw new TaskFailure('source-unreadable', `The column ${column} of the Parquet file is incomplete.`);
  return values;
}

/** WKB of a geometry. */
function readBytes(value: unknown, { native }: GeometryColumn): Buffer | undefined {
  if (value === null || value === undefined) return undefined;
  if (native !== undefined) return writeNestedWkb(native, value as never);
  const bytes = value as Uint8Array;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

interface Sink {
  insert: Database.Statement;
  srsId: number;
  onProgress(fraction: number): void;
}

async function copyRows(
  file: ParquetFile,
  geometry: GeometryColumn,
  { columns, multi }: Target,
  { insert, srsId, onProgress }: Sink,
): Promise<void> {
  for (const group of listGroups(file)) {
    const shapes = await readColumn(file, geometry.name, group);
    const values: DecodedArray[] = [];
    for (const { name } of columns) values.push(await readColumn(file, name, group));
    for (let row = 0; row < shapes.length; row++) {
      const wkb = readBytes(shapes[row], geometry);
      const blob = wkb ? writeGeoPackageBlob(wkb, { srsId, multi }) : null;
      insert.run(blob, ...columns.map((column, i) => column.value(values[i]![row])));
    }
    onProgress(group.rowEnd / Number(file.metadata.num_rows));
  }
}
