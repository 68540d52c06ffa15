import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { TaskFailure } from '../../../core/failure.js';
import { isNumbered } from '../../../core/numbered.js';
import type { Field, KeyNumbers, PostgisSource, VectorSource } from '../../../core/vector-source.js';
import { isPgError, type PostgresConnection } from '../../../native/postgres.js';
import type { Cancellation } from '../../cancellation.js';
import { Refusal } from '../../edits/session.js';
import { withConnection } from './database.js';
import { keyOf, keyTypeOf, numbersOf, quote, SCHEMA } from './names.js';
import { ensureTable, LOCK } from './outbox.js';
import { SqlParams } from './params.js';

/**
 * Numbers of keys that are no whole numbers: a table of the database gives each key the next one when it is first seen,
 * and never takes it back.
 */

/** Keys that get their numbers in one transaction: it must end within the bound of a statement. */
const BATCH = 100_000;
/** Looking for keys without a number takes one part in so many of the time. */
const SHARE = 20;
/** After so long a table is looked at in any case: rows of foreign tables come from elsewhere. */
const STALE_MS = 60_000;
/** Tables that a thread remembers. */
const TABLES = 1000;

/** The last time that all keys of a table got numbers. */
interface Numbering {
  /** What was committed then. */
  readonly snapshot: string;
  readonly time: number;
  /** Milliseconds that it took. */
  readonly cost: number;
}

const numberings = new LRUCache<string, Numbering>({ max: TABLES });

/** Whether the database can be written to, and the user may make the table of numbers, or write to it. */
const MAY_NUMBER = `SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off' AND CASE
    WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
    WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN false
    WHEN c.oid IS NULL THEN has_schema_privilege(n.oid, 'CREATE')
    ELSE has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') END
  FROM (SELECT) one LEFT JOIN pg_namespace n ON n.nspname = '${SCHEMA}'
    LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $1::text`;

/** How the keys of a table are numbered; undefined where they are numbers themselves, or cannot be. `names` are those of all columns. */
export async function keyNumbers(
  connection: PostgresConnection,
  source: Pick<PostgisSource, 'schema' | 'table' | 'idType'>,
  key: Field,
  names: readonly string[],
): Promise<KeyNumbers | undefined> {
  const { schema, table, idType } = source;
  if (idType === 'integer') return undefined;
  const digest = createHash('sha256')
    .update(JSON.stringify([schema, table, key.name, idType]))
    .digest('hex');
  const numbers = { table: `object_ids_${digest.slice(0, 16)}`, column: freeColumn(names), key };
  const [[may]] = (await connection.query(MAY_NUMBER, [numbers.table])) as [[boolean]];
  return may ? numbers : undefined;
}

function freeColumn(names: readonly string[]): string {
  const taken = new Set(names.map((name) => name.toLowerCase()));
  let name = 'OBJECTID';
  for (let i = 1; taken.has(name.toLowerCase()); i++) name = `OBJECTID_${i}`;
  return name;
}

/** A store's reading of numbered sources, after all keys have numbers. */
export function withNumbers<T extends { source: VectorSource }, R>(
  read: (task: T, cancellation?: Cancellation) => Promise<R>,
): (task: T, cancellation?: Cancellation) => Promise<R> {
  return async (task, cancellation) => {
    await numberKeys(task.source, cancellation);
    return read(task, cancellation);
  };
}

/** Gives numbers to keys that have none, where rows may have been written since the last time. */
export async function numberKeys(asked: VectorSource, cancellation?: Cancellation): Promise<void> {
  if (!isNumbered(asked)) return;
  const source = asked as PostgisSource;
  const work = async (connection: PostgresConnection) => {
    const name = `${source.database} ${source.numbers!.table}`;
    const [[snapshot]] = (await connection.query('SELECT txid_current_snapshot()::text')) as [[string]];
    const begin = performance.now();
    const last = numberings.get(name);
    if (!isDue(last, snapshot, begin)) return;
    await addNumbers(connection, source).catch(asUnnumbered);
    const time = performance.now();
    // The first time all keys may have been new, which says nothing of how long looking for them takes.
    numberings.set(name, { snapshot, time, cost: last ? time - begin : 0 });
  };
  await withConnection(source.database, work, { cancellation });
}

function isDue(last: Numbering | undefined, snapshot: string, now: number): boolean {
  if (!last) return true;
  return now - last.time > (snapshot === last.snapshot ? STALE_MS : Math.min(last.cost * SHARE, STALE_MS));
}

async function addNumbers(connection: PostgresConnection, source: PostgisSource): Promise<void> {
  await ensureNumbers(connection, source);
  const numbers = numbersOf(source.numbers!);
  const key = keyOf(source.numbers!.key);
  let last: string | null = null;
  do {
    const params = new SqlParams();
    const after: string =
      last === null ? 'IS NOT NULL' : `> ${params.add(last, keyTypeOf(source.numbers!.key))}`;
    const sql = `WITH added AS (INSERT INTO ${numbers} (key)
        SELECT ${key} FROM ${rowsOf(source)} WHERE ${key} ${after}
          AND NOT EXISTS (SELECT FROM ${numbers} n WHERE n.key = ${key})
        ORDER BY ${key} LIMIT ${BATCH} ON CONFLICT DO NOTHING RETURNING key)
      SELECT key::text FROM added ORDER BY key OFFSET ${BATCH - 1}`;
    last = await locked(connection, source.numbers!, { sql, params });
  } while (last !== null);
}

/** One after the other: whoever waits finds the keys numbered. Resolves with the last key of a full batch. */
async function locked(
  connection: PostgresConnection,
  { table }: KeyNumbers,
  { sql, params }: { sql: string; params: SqlParams },
): Promise<string | null> {
  await connection.query('BEGIN');
  try {
    await connection.query(`SELECT pg_advisory_xact_lock(hashtextextended($1, ${LOCK}))`, [table]);
    const [row] = (await connection.query(sql, params.values)) as [[string] | undefined];
    await connection.query('COMMIT');
    return row?.[0] ?? null;
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** SQLSTATE of a database that is only read by now, as after a failover. */
const READ_ONLY = '25006';

function asUnnumbered(error: unknown): never {
  const isRefused = error instanceof Refusal || (isPgError(error) && error.code === READ_ONLY);
  if (!isRefused) throw error;
  throw new TaskFailure('store-unavailable', 'The database does not let keys be numbered.', error.message);
}

async function ensureNumbers(connection: PostgresConnection, source: PostgisSource): Promise<void> {
  const name = numbersOf(source.numbers!);
  const { schema, table, numbers } = source;
  const about = `Object ids of ${schema}.${table} by ${numbers!.key.name}`.replaceAll("'", "''");
  await ensureTable(connection, name, [
    // With the collation of the key, which its index has.
    `CREATE TABLE ${name} AS SELECT ${keyOf(numbers!.key)} AS key FROM ${rowsOf(source)} WITH NO DATA`,
    `ALTER TABLE ${name} ADD PRIMARY KEY (key), ADD number integer GENERATED ALWAYS AS IDENTITY UNIQUE`,
    `COMMENT ON TABLE ${name} IS '${about}'`,
  ]);
}

const rowsOf = ({ schema, table }: PostgisSource) => `${quote(schema)}.${quote(table)} t`;

/** Numbers for keys of new rows, in the transaction that writes them: whoever sees the rows sees their numbers. */
export async function numberNewKeys(
  connection: PostgresConnection,
  { numbers }: PostgisSource,
  keys: readonly string[],
): Promise<void> {
  if (!numbers || keys.length === 0) return;
  const name = numbersOf(numbers);
  const [[missing]] = (await connection.query('SELECT to_regclass($1) IS NULL', [name])) as [[boolean]];
  if (missing) return;
  const params = new SqlParams();
  const list = params.add(JSON.stringify(keys), 'json');
  await connection.query(
    `INSERT INTO ${name} (key) SELECT value::${keyTypeOf(numbers.key)} FROM json_array_elements_text(${list}) AS k(value)
     ORDER BY 1 ON CONFLICT DO NOTHING`,
    params.values,
  );
}
