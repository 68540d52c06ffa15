import { existsSync, rmSync } from 'node:fs';
import { TaskFailure } from '../../core/errors/failure.js';
import type {
  DropTask,
  LayerStylesTask,
  LoadedTable,
  LoadResult,
  LoadTask,
} from '../../core/tasks/vector-tasks.js';
import { findFreeName } from '../../core/values/column-names.js';
import type Database from '../../native/sqlite.js';
import { connect, quote } from '../providers/geopackage/connection.js';
import {
  createSpatialIndex,
  dropTable,
  identifierFor,
  prepareStore,
  ROW_COLUMN,
} from '../providers/geopackage/schema/create.js';
import {
  moveLayerStyles,
  putLayerStyle,
  removeLayerStyles,
} from '../providers/geopackage/schema/layer-styles.js';
import {
  type ChosenStore,
  commitAlone,
  countLoaded,
  findElsewhere,
  findLoad,
  newestToken,
  openSeries,
} from '../providers/geopackage/store-series.js';
import { checkpointWriteAheadLog } from '../providers/kept-sqlite.js';

type Db = Database.Database;

interface StagedColumn {
  name: string;
  type: string;
  notnull: number;
  /** SQL of the value to store, where that is not the staged one. */
  value?: string;
}

interface StagingTable {
  column: string;
  type: string;
  srsId: number;
  z: number;
  m: number;
  id: string;
  columns: StagedColumn[];
  extent: [number, number, number, number] | undefined;
}

/**
 * Copies a staging table into a store in one transaction: rows in Hilbert order so that neighbours share pages, then
 * the rtree. Changes become visible only if everything succeeds. A replaced table is served until then.
 */
export function load(task: LoadTask): LoadResult {
  if (!existsSync(task.staging)) return loadedEarlier(task);
  const { path, db } = openStore(task);
  try {
    prepareStore(db, { unpublished: task.unpublished });
    const done = task.token === undefined ? undefined : countLoaded(db, task.token);
    if (done !== undefined) return { features: done, store: path };
    db.prepare('ATTACH ? AS staging').run(task.staging);
    const result = copyWhole(db, path, task);
    db.exec('DETACH staging');
    if ('occupant' in result) return result;
    // Readers are in other threads: let them see the rows without the log in between.
    if (task.unpublished) db.pragma('journal_mode = WAL');
    else checkpointWriteAheadLog(path, db);
    if (!task.keepsStaging) rmSync(task.staging, { force: true });
    return { ...result, store: path };
  } finally {
    db.close();
  }
}

function openStore({ store, table, maxTables }: LoadTask): ChosenStore {
  if (maxTables === undefined) return { path: store, db: connect(store, false) };
  return openSeries(store, table, maxTables);
}

/** A load that an earlier run committed has removed its staging file. */
function loadedEarlier({ store, token, maxTables }: LoadTask): LoadResult {
  const done = maxTables !== undefined && token !== undefined ? findLoad(store, token) : undefined;
  if (done === undefined) throw new TaskFailure('source-missing', 'The staging file no longer exists.');
  return done;
}

type CopyResult = { features: number } | { occupant: LoadedTable };

/** Copies in one transaction. In a series of files, no other file gets a table of this name during the copy. */
function copyWhole(db: Db, path: string, task: LoadTask): CopyResult {
  if (task.maxTables === undefined) return db.transaction(() => copy(db, task)).immediate();
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = copy(db, task);
    if ('occupant' in result) return result;
    return commitAlone(task.store, () => {
      const occupant = findElsewhere(task.store, path, task.table);
      if (!occupant) db.exec('COMMIT');
      else if (task.replace === undefined) throw takenError(task);
      return occupant ? { occupant } : result;
    });
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK');
  }
}

const takenError = ({ table }: LoadTask) =>
  new TaskFailure('invalid-input', `The store already has a table ${table}.`);

/** Task `vector.drop`. */
export function dropStoreTable({ store, table }: DropTask): null {
  return changeStore(store, (db) => {
    if (dropTable(db, table)) removeLayerStyles(db, table);
  });
}

/** Task `vector.layerStyles`. */
export function keepLayerStyles({ store, table, styles }: LayerStylesTask): null {
  return changeStore(store, (db) => {
    for (const style of styles) putLayerStyle(db, table, style);
  });
}

function changeStore(store: string, change: (db: Db) => void): null {
  const db = connect(store, false);
  try {
    db.transaction(() => change(db)).immediate();
    checkpointWriteAheadLog(store, db);
    return null;
  } finally {
    db.close();
  }
}

function copy(db: Db, task: LoadTask): CopyResult {
  const occupant = findOccupant(db, task);
  if (occupant && task.replace !== undefined && occupant.token !== task.replaced?.token) return { occupant };
  const staged = describe(db, task);
  const before = makeRoom(db, task);
  const srsId = adoptCrs(db, staged.srsId);
  createTable(db, task, staged, srsId);
  if (before !== undefined) moveLayerStyles(db, before, { table: task.table, column: staged.column });
  const features = copyRows(db, task, staged);
  createSpatialIndex(db, task.table, staged.column, task.keepIds ? ROW_COLUMN : staged.id);
  if (task.token) {
    db.prepare('INSERT INTO graticule_loads (token, table_name, features) VALUES (?, ?, ?)').run(
      task.token,
      task.table,
      features,
    );
  }
  return { features };
}

/** The table that has the name already. */
function findOccupant(db: Db, { table }: LoadTask): LoadedTable | undefined {
  if (tableNamed(db, table) === undefined) return undefined;
  return { token: newestToken(db, table) };
}

/** SQLite's table names are case-insensitive. */
function tableNamed(db: Db, table: string): string | undefined {
  const tables = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE";
  return db.prepare(tables).pluck().get(table) as string | undefined;
}

/** Removes the table that is replaced, and returns its name. */
function makeRoom(db: Db, task: LoadTask): string | undefined {
  const { table, replace } = task;
  const name = tableNamed(db, table);
  if (name === undefined) return undefined;
  if (!replace) throw takenError(task);
  if (!dropTable(db, name))
    throw new TaskFailure('invalid-input', `The table ${table} of the store has no features and was kept.`);
  return name;
}

/** The ids of the staging table as a column; none if a column has them already. */
function buildIdColumn(
  db: Db,
  { stagingTable, idsAsColumn }: LoadTask,
  key: string,
  names: readonly string[],
): StagedColumn[] {
  if (!idsAsColumn) return [];
  const same = names.find((name) => name.toLowerCase() === 'id');
  const differs =
    same && `SELECT 1 FROM staging.${quote(stagingTable)} WHERE ${quote(same)} IS NOT ${quote(key)} LIMIT 1`;
  if (differs && db.prepare(differs).get() === undefined) return [];
  const name = findFreeName('id', new Set(names.map((one) => one.toLowerCase())));
  return [{ name, type: 'INTEGER', notnull: 0, value: quote(key) }];
}

function describe(db: Db, task: LoadTask): StagingTable {
  const { stagingTable: table, untyped, spans } = task;
  const geometry = db
    .prepare(
      'SELECT column_name, geometry_type_name, srs_id, z, m FROM staging.gpkg_geometry_columns WHERE table_name = ?',
    )
    .get(table) as
    | { column_name: string; geometry_type_name: string; srs_id: number; z: number; m: number }
    | undefined;
  if (!geometry) throw new TaskFailure('invalid-input', 'The staging file has no such feature table.');
  const columns = db
    .prepare(`SELECT name, type, "notnull", pk FROM pragma_table_info(?, 'staging')`)
    .all(table) as { name: string; type: string; notnull: number; pk: number }[];
  const id = columns.find((column) => column.pk === 1);
  if (!id) throw new TaskFailure('invalid-input', 'The staging table has no primary key.');
  const g = quote(geometry.column_name);
  const box = db
    .prepare(
      `SELECT min(ST_MinX(${g})), min(ST_MinY(${g})), max(ST_MaxX(${g})), max(ST_MaxY(${g})) FROM staging.${quote(table)}`,
    )
    .raw()
    .get() as (number | null)[];
  if (box.some((n) => n !== null && !Number.isFinite(n))) throw notFinite(db, table, id.name, g);
  return {
    column: geometry.column_name,
    type: geometry.geometry_type_name,
    srsId: geometry.srs_id,
    z: geometry.z,
    m: geometry.m,
    id: id.name,
    columns: [
      ...buildIdColumn(
        db,
        task,
        id.name,
        columns.map(({ name }) => name),
      ),
      ...withSpans(
        columns.filter((column) => column !== id && column.name !== geometry.column_name),
        spans,
      )
        .map((column) => (untyped ? typed(db, table, column) : column))
        .map(withZone),
    ],
    extent: box.every((n) => n !== null) ? (box as StagingTable['extent']) : undefined,
  };
}

function notFinite(db: Db, table: string, id: string, column: string): TaskFailure {
  const ends = ['MinX', 'MinY', 'MaxX', 'MaxY'].map((end) => `abs(ST_${end}(${column})) = 9e999`);
  const sql = `SELECT count(*) + 1 FROM staging.${quote(table)} WHERE ${quote(id)} <
    (SELECT min(${quote(id)}) FROM staging.${quote(table)} WHERE ${ends.join(' OR ')})`;
  const place = db.prepare(sql).pluck().get() as number;
  return new TaskFailure(
    'invalid-input',
    `Feature ${place} has a coordinate that is not a finite number. Correct it, and import the file again.`,
  );
}

/** Columns of GeoPackages (OGC 12-128r18, table 1) for types of texts, and how texts become values. */
const TYPED: Readonly<Record<string, { type: string; value(column: string): string }>> = {
  integer: { type: 'INTEGER', value: (column) => `CAST(nullif(${column}, '') AS INTEGER)` },
  number: { type: 'REAL', value: (column) => `CAST(nullif(${column}, '') AS REAL)` },
  boolean: { type: 'BOOLEAN', value: (column) => `nullif(${column}, '') COLLATE NOCASE = 'true'` },
  date: { type: 'DATE', value: (column) => `nullif(${column}, '')` },
  // Times without a zone are interpreted as UTC.
  'date-time': {
    type: 'DATETIME',
    value: (column) => `strftime('%Y-%m-%dT%H:%M:%fZ', nullif(${column}, ''))`,
  },
};

/** Times without a zone are interpreted as UTC, in which GeoPackage stores all times (OGC 12-128r18, table 1). */
function withZone(column: StagedColumn): StagedColumn {
  if (!/^DATETIME/i.test(column.type) || /strftime/.test(column.value ?? '')) return column;
  const value = `(${column.value ?? quote(column.name)})`;
  const hasNone = `${value} GLOB '*[T ]*[0-9]' AND NOT ${value} GLOB '*[T ]*[-+]*'`;
  return { ...column, value: `CASE WHEN ${hasNone} THEN ${value} || 'Z' ELSE ${value} END` };
}

const SPAN = ['begin', 'end', 'timestamp'] as const;

/**
 * KML features with only a TimeStamp start and end at that time, because `datetime` filters by the ends of a
 * TimeSpan.
 */
function withSpans(columns: readonly StagedColumn[], spans = false): StagedColumn[] {
  const isInstant = (name: string) =>
    columns.some((column) => column.name === name && /^DATETIME/i.test(column.type));
  if (!spans || !SPAN.every(isInstant)) return [...columns];
  const [begin, end, stamp] = SPAN.map(quote);
  const either = `CASE WHEN ${begin} IS NULL AND ${end} IS NULL THEN ${stamp}`;
  const values = new Map<string, string>([
    ['begin', `${either} ELSE ${begin} END`],
    ['end', `${either} ELSE ${end} END`],
  ]);
  return columns.map((column) => ({
    ...column,
    ...(values.has(column.name) ? { value: values.get(column.name)! } : {}),
  }));
}

/** A column of texts with the type that all of them have. */
function typed(db: Db, table: string, column: StagedColumn): StagedColumn {
  const name = quote(column.name);
  if (!/^TEXT/i.test(column.type)) return column;
  const hits = db
    .prepare(`SELECT gr_text_type(${name}) FROM staging.${quote(table)}`)
    .pluck()
    .get() as string | null;
  const typing = hits === null ? undefined : TYPED[hits];
  return typing ? { ...column, type: typing.type, value: typing.value(name) } : column;
}

/** The staging file's CRS under a free id of the store, or the id it has there already. */
function adoptCrs(db: Db, stagingId: number): number {
  const crs = db
    .prepare(
      'SELECT organization, organization_coordsys_id AS code, definition FROM staging.gpkg_spatial_ref_sys WHERE srs_id = ?',
    )
    .get(stagingId) as { organization: string; code: number; definition: string } | undefined;
  if (!crs) throw new TaskFailure('invalid-input', 'The staging table names no coordinate reference system.');
  const names = db
    .prepare(
      'SELECT srs_id FROM gpkg_spatial_ref_sys WHERE organization = ? COLLATE NOCASE AND organization_coordsys_id = ? AND (definition = ? OR organization = ?)',
    )
    .pluck()
    .get(crs.organization, crs.code, crs.definition, 'EPSG') as number | undefined;
  if (names !== undefined) return names;
  const isUsed = db.prepare('SELECT 1 FROM gpkg_spatial_ref_sys WHERE srs_id = ?').get(stagingId);
  const id = isUsed
    ? (db
        .prepare(
          'SELECT max(srs_id, 100000) + 1 FROM (SELECT max(srs_id) AS srs_id FROM gpkg_spatial_ref_sys)',
        )
        .pluck()
        .get() as number)
    : stagingId;
  db.prepare(
    `INSERT INTO gpkg_spatial_ref_sys (srs_name, srs_id, organization, organization_coordsys_id, definition, description)
     SELECT srs_name, ?, organization, organization_coordsys_id, definition, description
     FROM staging.gpkg_spatial_ref_sys WHERE srs_id = ?`,
  ).run(id, stagingId);
  return id;
}

function createTable(db: Db, task: LoadTask, staged: StagingTable, srsId: number): void {
  const attributes = staged.columns.map(
    ({ name, type, notnull }) =>
      `${quote(name)} ${type.replace(/[^\w() ,]/g, '')}${notnull ? ' NOT NULL' : ''}`,
  );
  const definitions = [
    ...keyColumns(task, staged),
    `${quote(staged.column)} ${staged.type.replace(/\W/g, '')}`,
    ...attributes,
  ];
  db.exec(`CREATE TABLE ${quote(task.table)} (${definitions.join(', ')})`);
  const [minx, miny, maxx, maxy] = staged.extent ?? [null, null, null, null];
  db.prepare(
    `INSERT INTO gpkg_contents (table_name, data_type, identifier, min_x, min_y, max_x, max_y, srs_id)
     VALUES (?, 'features', ?, ?, ?, ?, ?, ?)`,
  ).run(task.table, identifierFor(db, task.table, task.title), minx, miny, maxx, maxy, srsId);
  db.prepare('INSERT INTO gpkg_geometry_columns VALUES (?, ?, ?, ?, ?, ?)').run(
    task.table,
    staged.column,
    staged.type,
    srsId,
    staged.z,
    staged.m,
  );
}

/** The id comes right after the key of the row, where it is not the same. */
function keyColumns({ keepIds }: LoadTask, { id }: StagingTable): string[] {
  if (!keepIds) return [`${quote(id)} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL`];
  return [`${ROW_COLUMN} INTEGER PRIMARY KEY NOT NULL`, `${quote(id)} INTEGER NOT NULL UNIQUE`];
}

/** Rows are stored in Hilbert order: an rtree window then reads few pages. Ids follow unless they are kept. */
function copyRows(db: Db, task: LoadTask, staged: StagingTable): number {
  const id = task.keepIds ? [staged.id] : [];
  const names = [...id, staged.column, ...staged.columns.map((column) => column.name)].map(quote).join(', ');
  const values = [
    ...id.map(quote),
    quote(staged.column),
    ...staged.columns.map(({ name, value }) => value ?? quote(name)),
  ].join(', ');
  const [minx, miny, maxx, maxy] = staged.extent ?? [0, 0, 1, 1];
  const result = db
    .prepare(
      `INSERT INTO ${quote(task.table)} (${names}) SELECT ${values} FROM staging.${quote(task.stagingTable)}
       ORDER BY gr_hilbert(${quote(staged.column)}, ?, ?, ?, ?), ${quote(staged.id)}`,
    )
    .run(minx, miny, maxx, maxy);
  return result.changes;
}
