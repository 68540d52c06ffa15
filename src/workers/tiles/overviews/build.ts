import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolderSync } from '../../../core/files/own-folder.js';
import type { TileLayer } from '../../../core/tasks/vector-tasks.js';
import { TILE_LIMITS } from '../../../core/tiles/limits.js';
import { sqliteExtensionPath } from '../../../native/index.js';
import Database from '../../../native/sqlite.js';
import { quote } from '../../providers/geopackage/connection.js';
import {
  FID,
  GEOMETRY,
  getLevelTable,
  levelFields,
  OVERVIEW_SCHEMA,
  overviewPath,
} from '../../providers/overviews/file.js';
import { getFeatureStore } from '../../providers/store.js';
import type { Cancellation } from '../../threads/cancellation.js';

type Db = Database.Database;

/** Number of cells per side of a level's tile. Each cell keeps at most QUOTA features. */
export const CELLS_PER_TILE = 16;
const QUOTA = 128;
/** Grid units per tile side that levels are generalised for. */
const EXTENT = 4096;
/** Cells of `gr_cell` along each axis, as a power of two. */
const CELL_BITS = 24;
const CELL_MASK = 2 ** CELL_BITS - 1;
const FINEST = 14;
/** A tile of the table itself is cheap enough with so many rows, and bytes of geometries. */
const CHEAP_ROWS = 16_384;
const CHEAP_BYTES = 4_194_304;
/** Maximum size of a level relative to its source. Larger levels are not worth their space. */
const WORTH = 0.5;
/** Number of rows from which the size of a level is estimated. */
const SAMPLE = 2000;
/**
 * Milliseconds after the last write of another process that builds the same overview, after which its file counts as
 * abandoned.
 */
const ABANDONED_MS = 60_000;

/** Builds or rebuilds the overview of a layer. Rejects with `TaskFailure`. Returns the number of its levels. */
export async function buildOverview(layer: TileLayer, cancellation?: Cancellation): Promise<number> {
  const path = layer.version === undefined ? undefined : overviewPath(layer.source, layer.version);
  if (path === undefined) return 0;
  makeFolderSync(dirname(path));
  const part = `${path}.part`;
  if (existsSync(part) && Date.now() - statSync(part).mtimeMs < ABANDONED_MS) return 0;
  removeFiles(part);
  const db = new Database(part);
  try {
    db.loadExtension(sqliteExtensionPath());
    db.pragma('journal_mode = OFF');
    db.pragma('synchronous = OFF');
    db.pragma('cache_size = -65536');
    db.exec(OVERVIEW_SCHEMA);
    const levels = await new Builder(db, layer, cancellation).build();
    if (levels === undefined) return 0;
    // Edits are followed while tiles are read.
    db.pragma('journal_mode = WAL');
    db.close();
    removeOthers(path);
    renameSync(part, path);
    makeRoom(dirname(path));
    return levels;
  } finally {
    if (db.open) db.close();
    removeFiles(part);
    removeFiles(`${part}.staging`);
  }
}

function removeFiles(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}

/** Overviews of other versions, and the log of the one that is replaced. */
function removeOthers(path: string): void {
  const name = basename(path).split('-')[0]!;
  for (const file of readdirSync(dirname(path)))
    if (file.startsWith(name) && !file.endsWith('.part')) rmSync(join(dirname(path), file), { force: true });
}

/** Removes the overviews that were made or changed longest ago when all together are too large. */
function makeRoom(folder: string): void {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.overview'))
    .map((name) => ({
      path: join(folder, name),
      stats: statSync(join(folder, name), { throwIfNoEntry: false }),
    }))
    .sort((one, other) => (other.stats?.mtimeMs ?? 0) - (one.stats?.mtimeMs ?? 0));
  let bytes = 0;
  for (const { path, stats } of files) {
    bytes += stats?.size ?? 0;
    if (bytes > TILE_LIMITS.overviewBytes) removeFiles(path);
  }
}

class Builder {
  readonly #db: Db;
  readonly #layer: TileLayer;
  readonly #cancellation: Cancellation | undefined;

  constructor(db: Db, layer: TileLayer, cancellation: Cancellation | undefined) {
    this.#db = db;
    this.#layer = layer;
    this.#cancellation = cancellation;
  }

  /** The number of levels; undefined for a table whose store has no overviews, or whose changes cannot be noticed. */
  async build(): Promise<number | undefined> {
    const { source } = this.#layer;
    const rows = getFeatureStore(source).overviewRows?.(source);
    const state = await rows?.state();
    if (!rows || !state) return undefined;
    await rows.stage(this.#db, undefined, this.#cancellation);
    const [minx, miny, side] = this.#square();
    this.#db
      .prepare('INSERT INTO graticule_overview VALUES (?, ?, ?, ?, ?, 0, ?)')
      .run(minx, miny, side, Date.now(), state.cursor, state.writes);
    this.#mark(minx, miny, side);
    const count = this.#levelsNeeded();
    let done = 0;
    let from = 'staged';
    for (let level = count - 1; level >= 0; level--) {
      this.#cancellation?.check();
      if (!this.#level(level, from, side / 2 ** level / EXTENT)) continue;
      from = getLevelTable(level);
      done++;
    }
    rows.unstage(this.#db);
    return done;
  }

  #fieldsOf(table: string): string {
    return levelFields(this.#layer.source)
      .map(({ name }) => `, ${table}${quote(name)}`)
      .join('');
  }

  /** The square around all rows. */
  #square(): [number, number, number] {
    const g = GEOMETRY;
    const [minx, miny, maxx, maxy] = this.#db
      .prepare(
        `SELECT min(ST_MinX(${g})), min(ST_MinY(${g})), max(ST_MaxX(${g})), max(ST_MaxY(${g})) FROM staged`,
      )
      .raw()
      .get() as (number | null)[];
    if (minx === null || minx === undefined) return [0, 0, 1];
    return [minx, miny!, Math.max(maxx! - minx, maxy! - miny!) || 1];
  }

  /** Computes the position, importance and size of each row. */
  #mark(minx: number, miny: number, side: number): void {
    this.#db
      .prepare(
        `CREATE TEMP TABLE marks (fid INTEGER PRIMARY KEY, cell INTEGER NOT NULL, importance INTEGER NOT NULL,
           bytes INTEGER NOT NULL)`,
      )
      .run();
    const insert = this.#db.prepare(
      `INSERT INTO marks SELECT ${FID}, c, i, b FROM (
         SELECT ${FID}, gr_cell(${GEOMETRY}, ?, ?, ?) AS c, gr_importance(${GEOMETRY}) AS i,
           length(${GEOMETRY}) AS b FROM staged LIMIT -1) WHERE c NOTNULL AND i NOTNULL`,
    );
    insert.run(minx, miny, side);
    this.#cancellation?.check();
  }

  /** The coarsest level at which the densest tile of the table itself is cheap. */
  #levelsNeeded(): number {
    this.#db.exec(`CREATE TEMP TABLE density AS SELECT ${cellAt('cell', FINEST)} AS cell, count(*) AS rows,
      sum(min(bytes, ${CHEAP_BYTES / 8})) AS bytes FROM marks GROUP BY 1`);
    const most = this.#db.prepare('SELECT max(rows) AS rows, max(bytes) AS bytes FROM density');
    for (let level = FINEST; level >= 0; level--) {
      const { rows, bytes } = most.get() as { rows: number | null; bytes: number | null };
      if ((rows ?? 0) > CHEAP_ROWS || (bytes ?? 0) > CHEAP_BYTES) return level + 1;
      this.#db.exec(`CREATE TEMP TABLE coarser AS SELECT ((cell >> ${CELL_BITS + 1}) << ${CELL_BITS})
          | ((cell & ${CELL_MASK}) >> 1) AS cell, sum(rows) AS rows, sum(bytes) AS bytes FROM density GROUP BY 1;
        DROP TABLE density;
        ALTER TABLE coarser RENAME TO density;`);
    }
    return 0;
  }

  /** Builds one level from the next finer level. Returns false if the level would not be worth it. */
  #level(level: number, from: string, resolution: number): boolean {
    const table = getLevelTable(level);
    this.#choose(level);
    if (level > 0 && !this.#worth(from, resolution)) return false;
    this.#db.exec(
      `CREATE TABLE ${table} (${FID} INTEGER PRIMARY KEY, ${GEOMETRY} BLOB NOT NULL${this.#fieldsOf('')})`,
    );
    this.#db
      .prepare(
        `INSERT INTO ${table} SELECT * FROM (
           SELECT m.fid, gr_generalise(s.${GEOMETRY}, ?) AS g${this.#fieldsOf('s.')}
           FROM marks m CROSS JOIN ${from} s ON s.${FID} = m.fid LIMIT -1) WHERE g NOTNULL`,
      )
      .run(resolution);
    this.#db.exec(`CREATE VIRTUAL TABLE ${quote(`rtree_${table}_${GEOMETRY}`)} USING rtree(id, minx, maxx, miny, maxy);
      INSERT INTO ${quote(`rtree_${table}_${GEOMETRY}`)} SELECT ${FID}, ST_MinX(${GEOMETRY}), ST_MaxX(${GEOMETRY}),
        ST_MinY(${GEOMETRY}), ST_MaxY(${GEOMETRY}) FROM ${table};
      DELETE FROM marks WHERE fid NOT IN (SELECT ${FID} FROM ${table});`);
    this.#db.prepare('INSERT INTO graticule_levels VALUES (?, ?)').run(level, resolution);
    return true;
  }

  /** Writes the most important features of each cell to `marks`, and counts the other features. */
  #choose(level: number): void {
    const cell = cellAt('cell', level + Math.log2(CELLS_PER_TILE));
    // Features that finer levels omit are also omitted here.
    this.#db
      .prepare(
        `INSERT INTO graticule_left_out SELECT ?, x, y, sum(features) FROM (
           SELECT x >> 1 AS x, y >> 1 AS y, features FROM graticule_left_out WHERE level = ?
           UNION ALL SELECT cell >> ${CELL_BITS}, cell & ${CELL_MASK}, n - ${QUOTA} FROM (
             SELECT ${cell} AS cell, count(*) AS n FROM marks GROUP BY 1) WHERE n > ${QUOTA}) GROUP BY 2, 3`,
      )
      .run(level, level + 1);
    this.#db.exec(`CREATE TEMP TABLE chosen (fid INTEGER PRIMARY KEY, cell INTEGER NOT NULL, importance INTEGER NOT NULL);
      INSERT INTO chosen SELECT fid, cell, importance FROM (SELECT fid, cell, importance,
        row_number() OVER (PARTITION BY ${cell} ORDER BY importance DESC, fid) AS n FROM marks) WHERE n <= ${QUOTA};
      DROP TABLE marks;
      ALTER TABLE chosen RENAME TO marks;`);
  }

  /** Judged by some of the rows, as their hashes have it. */
  #worth(from: string, resolution: number): boolean {
    const count = (table: string) =>
      this.#db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
    const marks = count('marks');
    const every = 2 ** Math.max(0, Math.floor(Math.log2(marks / SAMPLE)));
    const share = this.#db
      .prepare(
        `SELECT total(length(gr_generalise(s.${GEOMETRY}, ?)) + 64) / total(length(s.${GEOMETRY}) + 64) FROM marks m
         CROSS JOIN ${from} s ON s.${FID} = m.fid WHERE m.importance & ${every - 1} = 0`,
      )
      .pluck()
      .get(resolution) as number | null;
    return ((share ?? 0) * marks) / count(from) < WORTH;
  }
}

/** SQL for the cell of a grid with 2^level cells per side that contains a cell of `gr_cell`. */
function cellAt(cell: string, level: number): string {
  const shift = CELL_BITS - level;
  return `(((${cell} >> ${CELL_BITS + shift}) << ${CELL_BITS}) | ((${cell} & ${CELL_MASK}) >> ${shift}))`;
}
