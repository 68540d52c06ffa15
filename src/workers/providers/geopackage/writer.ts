import { LRUCache } from 'lru-cache';
import { TaskFailure } from '../../../core/failure.js';
import type { GeoPackageSource } from '../../../core/vector-source.js';
import type Database from '../../../native/sqlite.js';
import { keptOpen } from '../kept-open.js';
import { connect, quote } from './connection.js';
import { createOutbox } from './outbox.js';

type Db = Database.Database;

/** Files kept open for writing per thread. */
const MAX_OPEN = 8;
const MAX_STATEMENTS = 64;
/** Milliseconds for which another writer of the file is waited for. */
const BUSY_MS = 10_000;

/** What an edit must know of a table beyond its source. */
export interface TableFacts {
  srsId: number;
  /** True when the file has no triggers that keep the rtree: the writer does it. */
  tendsIndex: boolean;
  /** SQL of the default values, by column. */
  defaults: ReadonlyMap<string, string>;
}

/** A read-write connection to one file, with what was prepared on it. */
export class Writer {
  readonly #statements = new LRUCache<string, Database.Statement>({ max: MAX_STATEMENTS });
  readonly #tables = new Map<string, TableFacts>();
  #schemaVersion: unknown;

  constructor(readonly db: Db) {}

  /** A prepared statement, kept. */
  statement(sql: string): Database.Statement {
    let prepared = this.#statements.get(sql);
    if (!prepared) {
      prepared = this.db.prepare(sql);
      this.#statements.set(sql, prepared);
    }
    return prepared;
  }

  /** Read again when another program has changed the schema. */
  tableFacts(source: GeoPackageSource): TableFacts {
    const version = this.db.pragma('schema_version', { simple: true });
    if (version !== this.#schemaVersion) this.#tables.clear();
    this.#schemaVersion = version;
    let facts = this.#tables.get(source.table);
    if (!facts) {
      facts = readFacts(this.db, source);
      this.#tables.set(source.table, facts);
    }
    return facts;
  }
}

const opened = keptOpen<Writer>(openWriter, ({ db }) => db.close(), {
  max: MAX_OPEN,
  stamp: ({ ino }) => ino,
});

/** The writing connection of this thread to a file. */
export function writer(path: string): Writer {
  return opened.get(path);
}

/** Closes every writing connection of this thread. */
export const { closeAll: closeWriters } = opened;

/** Readers go on while a write-ahead log is written; with FULL each commit is on the disk before it returns. */
function openWriter(path: string): Writer {
  const db = connect(path, false);
  try {
    db.pragma(`busy_timeout = ${BUSY_MS}`);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    createOutbox(db);
  } catch (error) {
    db.close();
    throw new TaskFailure(
      'store-unavailable',
      'The file cannot be written now.',
      `${path}: ${String(error)}`,
    );
  }
  return new Writer(db);
}

function readFacts(db: Db, source: GeoPackageSource): TableFacts {
  const srsId = db
    .prepare('SELECT srs_id FROM gpkg_geometry_columns WHERE table_name = ? COLLATE NOCASE')
    .pluck()
    .get(source.table) as number;
  const columns = db.prepare('SELECT name, dflt_value FROM pragma_table_info(?)').all(source.table) as {
    name: string;
    dflt_value: string | null;
  }[];
  const defaults = columns.flatMap(({ name, dflt_value }) =>
    dflt_value === null ? [] : [[name, dflt_value] as const],
  );
  return { srsId, tendsIndex: source.hasIndex && !hasTriggers(db, source), defaults: new Map(defaults) };
}

/** Whether the file keeps its rtree by itself; versions of the extension name their update triggers differently. */
function hasTriggers(db: Db, { table, geometryColumn }: GeoPackageSource): boolean {
  const names = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE")
    .pluck()
    .all(table) as string[];
  const prefix = `rtree_${table}_${geometryColumn}_`;
  return ['insert', 'update', 'delete'].every((event) =>
    names.some((name) => name.startsWith(`${prefix}${event}`)),
  );
}

/** The rtree of a source as a quoted name. */
export function rtreeOf({ table, geometryColumn }: GeoPackageSource): string {
  return quote(`rtree_${table}_${geometryColumn}`);
}
