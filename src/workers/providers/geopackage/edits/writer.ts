import { LRUCache } from 'lru-cache';
import type { EmptiedLog, FileWrites } from '../../../../core/edits/file-writes.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { commitCount, countCommits } from '../../../../core/files/commit-count.js';
import { sqliteState } from '../../../../core/files/file-state.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import type Database from '../../../../native/sqlite.js';
import { contentName } from '../../../files/file-ledger.js';
import {
  addWriteAheadLog,
  boundLog,
  checkpointWriteAheadLog,
  keptSqlite,
  requireCurrent,
  requireQuiet,
  settleFile,
} from '../../kept-sqlite.js';
import { END_IN, endTimeLimit } from '../../time-limit.js';
import { connect } from '../connection.js';
import { createOutbox } from './outbox.js';

type Db = Database.Database;

/** Files kept open for writing per thread. */
const MAX_OPEN = 8;
const MAX_STATEMENTS = 64;
/** Milliseconds for which another writer of the file is waited for. */
const BUSY_MS = 10_000;
/** Milliseconds after which the time limit of a statement is renewed. */
const RENEWAL_MS = 1000;
/** Maximum attempts to open a transaction on a file that changes each time. */
const MAX_ATTEMPTS = 5;

/** Facts about a table that an edit needs in addition to its source. */
export interface EditTableFacts {
  srsId: number;
  /** Type of the geometry column, in capitals. */
  geometryType: string;
  /** True when the file has no triggers that keep the rtree: the writer does it. */
  tendsIndex: boolean;
  /** SQL of the default values, by column. */
  defaults: ReadonlyMap<string, string>;
}

/** Read-write connection to one file, with its prepared statements. */
export class Writer {
  readonly #statements = new LRUCache<string, Database.Statement>({ max: MAX_STATEMENTS });
  readonly #tables = new Map<string, EditTableFacts>();
  #schemaVersion: unknown;
  #outboxVersion: unknown;
  #limitMs = 0;
  #limitedAt = 0;

  constructor(
    readonly db: Db,
    /** Number of commits before the connection made its tables, and after it. */
    readonly opening: { before: number | undefined; after: number | undefined },
  ) {}

  /**
   * From now on statements are interrupted that take longer, with all triggers that they run: until `endLimit`, to be called
   * before the transaction ends.
   */
  limitStatements(limitMs: number): void {
    this.#limitMs = limitMs;
    this.statement(END_IN).get(limitMs);
    this.#limitedAt = performance.now();
  }

  /** Call before each statement. */
  renewLimit(): void {
    if (performance.now() - this.#limitedAt > RENEWAL_MS) this.limitStatements(this.#limitMs);
  }

  endLimit(): void {
    endTimeLimit(this.statement(END_IN));
  }

  /** A prepared statement, kept. */
  statement(sql: string): Database.Statement {
    let prepared = this.#statements.get(sql);
    if (!prepared) {
      prepared = this.db.prepare(sql);
      this.#statements.set(sql, prepared);
    }
    return prepared;
  }

  /**
   * Creates the outbox if it is missing. Call it in the transaction of each edit: another program can have restored
   * an older version of the file without an outbox.
   */
  keepOutbox(): void {
    if (this.#readSchemaVersion() === this.#outboxVersion) return;
    createOutbox(this.db);
    this.#outboxVersion = this.#readSchemaVersion();
  }

  #readSchemaVersion(): unknown {
    return this.db.pragma('schema_version', { simple: true });
  }

  /** Read again when another program has changed the schema. */
  tableFacts(source: GeoPackageSource): EditTableFacts {
    const version = this.#readSchemaVersion();
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

const opened = keptSqlite<Writer>(openWriter, ({ db }) => db, MAX_OPEN);

/** The writing connection of this thread to a file. */
export function writer(path: string): Writer {
  return opened.get(path);
}

/**
 * Starts a transaction on the file that currently has the name: a file can be replaced while another program writes
 * to it.
 */
export function beginOn(path: string): Writer {
  for (let attempt = 1; ; attempt++) {
    const file = writer(path);
    file.statement('BEGIN IMMEDIATE').run();
    try {
      if (opened.isUntouched(path)) return file;
    } catch (error) {
      file.statement('ROLLBACK').run();
      throw error;
    }
    file.statement('ROLLBACK').run();
    if (attempt === MAX_ATTEMPTS)
      throw new TaskFailure('store-unavailable', 'Another program writes to the file of this collection.');
  }
}

/** Position of the open transaction among the commits to its file. Undefined if the commits cannot be counted. */
export function writesBegun(path: string, { opening }: Writer): FileWrites | undefined {
  // The state of the file is not read again while the file is written to.
  const settled = opened.settled(path);
  const commits = countCommits(path);
  if (!settled || !commits) return undefined;
  const { log, count } = commits;
  const before = count === opening.after ? (opening.before ?? count) : count;
  return { fileId: contentName(settled), before, after: count + 1, log };
}

/** Throws if a commit was written to a file that was replaced before it. Call it after each commit. */
export function requireCommitted(path: string): void {
  requireCurrent(opened, path);
  boundLog(path, opened.get(path).db);
}

/** The writes with the state in which they have left the file. */
export function withState(path: string, writes: FileWrites): FileWrites {
  const state = sqliteState(path);
  return state === undefined ? writes : { ...writes, state };
}

/** Moves the log of a file into the file; false when readers or writers are in the way. */
export function emptyWriteAheadLog(path: string): EmptiedLog {
  const isEmpty = checkpointWriteAheadLog(path, opened.get(path).db);
  // The file is in another state now.
  opened.get(path);
  const [settled, commits] = [opened.settled(path), commitCount(path)];
  if (!settled || commits === undefined) return { isEmpty };
  const writes = { fileId: contentName(settled), before: commits, after: commits };
  return { isEmpty, writes: withState(path, writes) };
}

/** Closes every writing connection of this thread. */
export const { closeAll: closeWriters } = opened;

/** Readers continue while a write-ahead log is written. With FULL each commit is on the disk before it returns. */
function openWriter(path: string): Writer {
  requireQuiet(path, settleFile(path));
  const db = connect(path, false);
  try {
    db.pragma(`busy_timeout = ${BUSY_MS}`);
    addWriteAheadLog(path, db);
    db.pragma('synchronous = FULL');
    // The ledger must know of each checkpoint.
    db.pragma('wal_autocheckpoint = 0');
    db.prepare('SELECT 1 FROM sqlite_master').get();
    const before = commitCount(path);
    createOutbox(db);
    return new Writer(db, { before, after: commitCount(path) });
  } catch (error) {
    db.close();
    throw new TaskFailure(
      'store-unavailable',
      'The file cannot be written now. Retry later.',
      `${path}: ${String(error)}`,
    );
  }
}

function readFacts(db: Db, source: GeoPackageSource): EditTableFacts {
  const row = db
    .prepare(
      `SELECT srs_id AS srsId, upper(geometry_type_name) AS geometryType
       FROM gpkg_geometry_columns WHERE table_name = ? COLLATE NOCASE`,
    )
    .get(source.table) as { srsId: number; geometryType: string } | undefined;
  if (!row)
    throw new TaskFailure('store-unavailable', 'The file does not contain the table of this collection now.');
  const { srsId, geometryType } = row;
  const columns = db.prepare('SELECT name, dflt_value FROM pragma_table_info(?)').all(source.table) as {
    name: string;
    dflt_value: string | null;
  }[];
  const defaults = columns.flatMap(({ name, dflt_value }) =>
    dflt_value === null ? [] : [[name, dflt_value] as const],
  );
  return {
    srsId,
    geometryType,
    tendsIndex: source.hasIndex && !hasTriggers(db, source),
    defaults: new Map(defaults),
  };
}

/**
 * Whether triggers of the file maintain its rtree. Versions of the extension name their update triggers differently.
 */
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
