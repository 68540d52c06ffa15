import { CompiledQuery, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { StateDb } from './database.js';

/** Differences between SQLite and PostgreSQL. All other SQL of the stores is the same for both. */
export interface Vocabulary {
  readonly database: 'SQLite' | 'PostgreSQL';
  /** Milliseconds since 1970 by the one clock that all servers of a state share; leases end by it. */
  now(): RawBuilder<number>;
  /** The `n`th parameter of a statement, counted from 1. */
  parameter(n: number): string;
  hasTable(db: StateDb, name: string): Promise<boolean>;
  /** Waits for the lock of a name, which its holder has until the transaction ends. Undefined: a transaction has all. */
  lock(name: string): CompiledQuery | undefined;
  /** Notifies the other processes of a change at the commit. Undefined: they detect writes automatically. */
  notify(payload: string): CompiledQuery | undefined;
  /** Locks the rows of a query against changes by other transactions until the transaction ends. */
  forUpdate<Q extends Lockable>(query: Q): Q;
  /** Like `forUpdate`, without rows that another transaction has locked. */
  forUpdateOfFree<Q extends Lockable>(query: Q): Q;
  /** Whether the array in a JSON column contains a string. */
  hasElement(column: string, text: string): RawBuilder<boolean>;
  /** Whether a column is one of any number of integers. Lists of parameters are limited. */
  isOneOf(column: string, values: readonly number[]): RawBuilder<SqlBool>;
  /** When the edit of an entry of the feed was, as RFC 3339. */
  readonly entryTime: RawBuilder<string>;
  /** The newest cursor that the feed ever gave. */
  readonly newestCursor: RawBuilder<number>;
  /**
   * Takes the next cursors of the feed. No other process takes any before the transaction ends. Returns the first.
   */
  takeCursors(db: StateDb, count: number): Promise<number>;
  /** Makes the feed continue after a cursor. */
  setNewestCursor(db: StateDb, newest: number): Promise<void>;
  /** The highest number that a table ever gave to a row; 0 before the first. */
  highestNumber(db: StateDb, table: NumberedTable): Promise<number>;
  /** Lets a table give higher numbers than this one. */
  setHighestNumber(db: StateDb, table: NumberedTable, highest: number): Promise<void>;
}

/** Tables that number their rows themselves, in a column `id`. */
export type NumberedTable =
  | 'collection_ids'
  | 'job_logs'
  | 'deliveries'
  | 'registered_rasters'
  | 'attachments'
  | 'alert_zones'
  | 'alert_rules'
  | 'alert_events'
  | 'investigations'
  | 'investigation_pins'
  | 'investigation_links'
  | 'finding_notes'
  | 'licences'
  | 'capacity_surges';

interface Lockable {
  forUpdate(): Lockable;
  skipLocked(): Lockable;
}

/** SQLite has one writer, which locks the complete database from the start of a transaction to its end. */
export const SQLITE: Vocabulary = {
  database: 'SQLite',
  now: () => sql<number>`${Date.now()}`,
  parameter: () => '?',
  async hasTable(db, name) {
    const { rows } = await sql`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ${name}`.execute(
      db,
    );
    return rows.length > 0;
  },
  lock: () => undefined,
  notify: () => undefined,
  forUpdate: (query) => query,
  forUpdateOfFree: (query) => query,
  hasElement: (column, text) =>
    sql<boolean>`EXISTS (SELECT 1 FROM json_each(${sql.ref(column)}) WHERE value = ${text})`,
  isOneOf: (column, values) =>
    sql<SqlBool>`${sql.ref(column)} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
  entryTime: sql`coalesce(entry_json ->> '$.event.time', entry_json ->> '$.time')`,
  newestCursor: sql`(SELECT seq FROM sqlite_sequence WHERE name = 'feed')`,
  async takeCursors(db) {
    const { rows } = await sql<{ seq: number }>`
      SELECT seq FROM sqlite_sequence WHERE name = 'feed'
    `.execute(db);
    return rows[0]!.seq + 1;
  },
  setNewestCursor: (db, newest) => setSequence(db, 'feed', newest),
  async highestNumber(db, table) {
    const { rows } = await sql<{ seq: number }>`
      SELECT seq FROM sqlite_sequence WHERE name = ${table}
    `.execute(db);
    return rows[0]?.seq ?? 0;
  },
  setHighestNumber: (db, table, highest) => setSequence(db, table, highest),
};

/** SQLite adds the row of a table with the first number that it gives. */
async function setSequence(db: StateDb, table: string, newest: number): Promise<void> {
  await sql`DELETE FROM sqlite_sequence WHERE name = ${table}`.execute(db);
  await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${newest})`.execute(db);
}

/** Escapes that JSON has and PostgreSQL's text has not: the character 0, and halves of surrogate pairs. */
const UNSTORABLE = String.raw`\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})`;
const STORABLE = sql.raw(String.raw`regexp_replace(entry_json, '${UNSTORABLE}', '\\u0020', 'g')::json`);

/** Name under which PostgreSQL notifies of changes of the state. */
export const CHANGES_CHANNEL = 'graticule_changes';

export const POSTGRESQL: Vocabulary = {
  database: 'PostgreSQL',
  // Not now(), which returns the start of the transaction: it may have waited for a lock since.
  now: () => sql<number>`(extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
  parameter: (n) => `$${n}`,
  async hasTable(db, name) {
    const { rows } = await sql<{ there: boolean }>`SELECT to_regclass(${name}) IS NOT NULL AS there`.execute(
      db,
    );
    return rows[0]!.there;
  },
  lock: (name) =>
    CompiledQuery.raw('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`graticule ${name}`]),
  notify: (payload) => CompiledQuery.raw('select pg_notify($1, $2)', [CHANGES_CHANNEL, payload]),
  forUpdate: (query) => query.forUpdate() as typeof query,
  forUpdateOfFree: (query) => query.forUpdate().skipLocked() as typeof query,
  hasElement: (column, text) =>
    sql<boolean>`EXISTS (SELECT 1 FROM json_array_elements_text(${sql.ref(column)}::json) AS e WHERE e = ${text})`,
  isOneOf: (column, values) =>
    sql<SqlBool>`${sql.ref(column)} IN (SELECT e::bigint FROM json_array_elements_text(${JSON.stringify(values)}::json) AS e)`,
  entryTime: sql`coalesce(${STORABLE} #>> '{event,time}', ${STORABLE} ->> 'time') COLLATE "C"`,
  newestCursor: sql`(SELECT newest FROM feed_end)`,
  // The row stays locked until the commit, so cursors become visible in order and without gaps.
  async takeCursors(db, count) {
    const { rows } = await sql<{ newest: number }>`
      UPDATE feed_end SET newest = newest + ${count} RETURNING newest
    `.execute(db);
    return rows[0]!.newest - count + 1;
  },
  async setNewestCursor(db, newest) {
    await sql`UPDATE feed_end SET newest = ${newest}`.execute(db);
  },
  async highestNumber(db, table) {
    const { rows } = await sql<{ highest: number }>`
      SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS highest FROM ${sql.id(`${table}_id_seq`)}
    `.execute(db);
    return rows[0]!.highest;
  },
  async setHighestNumber(db, table, highest) {
    if (highest > 0) await sql`SELECT setval(${`${table}_id_seq`}::regclass, ${highest})`.execute(db);
  },
};

/** The vocabulary of the database that a store, or a transaction, works on. */
export function getVocabulary(db: StateDb): Vocabulary {
  return (db.getExecutor().adapter as unknown as { vocabulary: Vocabulary }).vocabulary;
}

/** Waits, in a transaction, for the lock with the name of these parts. */
export async function acquireLock(db: StateDb, ...parts: readonly (string | number)[]): Promise<void> {
  const statement = getVocabulary(db).lock(JSON.stringify(parts));
  if (statement) await db.executeQuery(statement);
}
