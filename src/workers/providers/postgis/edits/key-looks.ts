import { LRUCache } from 'lru-cache';
import { usesGeneratedIds } from '../../../../core/catalog/generated-ids.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import type { PostgisSource, VectorSource } from '../../../../core/sources/vector-source.js';
import { isPgError, type PostgresConnection } from '../../../../native/postgres.js';
import { EditRefusal } from '../../../edits/session.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { getKeySqlType, quoteNumbersTable, writeKeyedTable, writeKeySql } from '../schema/names.js';
import { ensureTable, LOCK } from './outbox.js';

/** Finds keys without a number, which foreign rows have. All keys are scanned, range by range. */

/** Keys that get their numbers in one transaction. */
const BATCH = 100_000;
/** Number of keys with numbers that one statement scans. It must finish within its time limit for any table. */
const RANGE = 500_000;
/** Milliseconds that a read of a numbered table waits for new numbers. The next scan continues from there. */
const LOOK_MS = 2000;
/** Maximum share of the time for scans: one part in this number. */
const SHARE = 20;
/**
 * Milliseconds after which a table is scanned although no transaction committed, because rows of foreign tables come
 * from elsewhere.
 */
const STALE_MS = 60_000;
/** Maximum number of tables whose scans a thread keeps. */
const TABLES = 1000;

/** State of the key numbers of a table in this thread. */
interface KeyRecord {
  /** Snapshot at the last complete scan. Undefined before the first. */
  readonly snapshot: string | undefined;
  /** Unfinished scan: its last key, and the snapshot at its start. */
  readonly rest: { readonly after: string | null; readonly snapshot: string } | undefined;
  /** When the last look, or part of one, ended. */
  readonly time: number;
  /** Milliseconds that it took. */
  readonly cost: number;
}

const numberings = new LRUCache<string, KeyRecord>({ max: TABLES });
/** Looks of this thread: one at a table. They never reject. */
const flights = new Map<string, Promise<void>>();

/** A store's reading of numbered sources, after all keys have numbers. */
export function withNumbers<T extends { source: VectorSource }, R>(
  read: (task: T, cancellation?: Cancellation) => Promise<R>,
): (task: T, cancellation?: Cancellation) => Promise<R> {
  return async (task, cancellation) => {
    await numberKeys(task.source, cancellation);
    return read(task, cancellation);
  };
}

/** Numbers the keys without a number, if rows may have been written since the last scan. */
export async function numberKeys(target: VectorSource, cancellation?: Cancellation): Promise<void> {
  if (!usesGeneratedIds(target)) return;
  const source = target as PostgisSource;
  const name = `${source.database} ${source.generatedIds!.table}`;
  for (;;) {
    const snapshot = await withConnection(source.database, loadSnapshot, { cancellation });
    if (!isDue(numberings.get(name), snapshot, performance.now())) return;
    const flight = flights.get(name);
    if (!flight) return fly(name, look(source, { name, snapshot }, cancellation));
    await awaitEnd(flight, cancellation);
  }
}

async function loadSnapshot(connection: PostgresConnection): Promise<string> {
  const [[snapshot]] = (await connection.query('SELECT txid_current_snapshot()::text')) as [[string]];
  return snapshot;
}

function isDue(last: KeyRecord | undefined, snapshot: string, now: number): boolean {
  if (last?.snapshot === undefined) return true;
  const pause = last.cost * SHARE;
  const isQuiet = snapshot === last.snapshot && !last.rest;
  return now - last.time > (isQuiet ? Math.max(pause, STALE_MS) : pause);
}

async function fly(name: string, look: Promise<void>): Promise<void> {
  const flight = look
    .catch(() => {})
    .finally(() => {
      if (flights.get(name) === flight) flights.delete(name);
    });
  flights.set(name, flight);
  await look;
}

/** Waits without a connection. Throws `cancelled`. */
async function awaitEnd(flight: Promise<void>, cancellation: Cancellation | undefined): Promise<void> {
  let unwatch: (() => void) | undefined;
  const departure = new Promise<void>((resolve) => {
    unwatch = cancellation?.onRequest(resolve);
  });
  await Promise.race([flight, departure]);
  unwatch?.();
  cancellation?.check();
}

/** Whose keys have numbers can be read: new ones wait where the look fails. */
async function look(
  source: PostgisSource,
  { name, snapshot }: { name: string; snapshot: string },
  cancellation: Cancellation | undefined,
): Promise<void> {
  const begin = performance.now();
  const work = async (connection: PostgresConnection) => {
    await ensureNumbers(connection, source);
    await lookOn(connection, source, { name, snapshot, last: numberings.get(name) });
  };
  try {
    await withConnection(source.database, (connection) => work(connection).catch(asUnnumbered), {
      cancellation,
    });
  } catch (error) {
    const last = numberings.get(name);
    if (last?.snapshot === undefined || cancellation?.requested) throw error;
    const time = performance.now();
    numberings.set(name, { ...last, time, cost: time - begin });
  }
}

/** Scans the keys, or the rest of an unfinished scan, and stores its position. */
async function lookOn(
  connection: PostgresConnection,
  source: PostgisSource,
  { name, snapshot, last }: { name: string; snapshot: string; last: KeyRecord | undefined },
): Promise<void> {
  const begin = performance.now();
  const isFirst = last?.snapshot === undefined;
  const { table } = source.generatedIds!;
  const origin = last?.rest?.snapshot ?? snapshot;
  let after = last?.rest?.after ?? null;
  do {
    const step = () => addNumbers(connection, source, after);
    const result = await locked(connection, { table, waits: isFirst }, step);
    if (!result) return;
    after = result.after;
    const time = performance.now();
    numberings.set(name, {
      ...(after === null
        ? { snapshot: origin, rest: undefined }
        : { snapshot: last?.snapshot, rest: { after, snapshot: origin } }),
      time,
      // In the first scan all keys can be new, so its duration does not predict the next scan.
      cost: isFirst ? 0 : time - begin,
    });
  } while (after !== null && (isFirst || performance.now() - begin < LOOK_MS));
}

/**
 * Numbers the keys after a key: the keys of a range, or the maximum of one transaction. The returned `after` is the
 * last key; null at the end.
 */
async function addNumbers(
  connection: PostgresConnection,
  source: PostgisSource,
  after: string | null,
): Promise<{ after: string | null }> {
  const numbers = quoteNumbersTable(source.generatedIds!);
  const key = writeKeySql(source.generatedIds!.key);
  const range = { after, to: await endOfRange(connection, source, after) };
  const params = new SqlParams();
  // Rows of views may have the same key.
  const [row] = (await connection.query(
    `WITH new AS (SELECT ${key} AS key FROM ${writeKeyedTable(source)}
        WHERE ${within(key, source, range, params)} AND NOT EXISTS
          (SELECT FROM ${numbers} n WHERE n.key = ${key} AND ${within('n.key', source, range, params)})
        ORDER BY ${key} LIMIT ${BATCH}),
      added AS (INSERT INTO ${numbers} (key) SELECT new.key FROM new ON CONFLICT DO NOTHING)
    SELECT new.key::text FROM new ORDER BY new.key OFFSET ${BATCH - 1}`,
    params.values,
  )) as [[string] | undefined];
  return { after: row ? row[0] : range.to };
}

/** Keys behind one, and up to another where there is one. */
interface KeyRange {
  readonly after: string | null;
  readonly to: string | null;
}

/** The last key of the range behind one; null where fewer have numbers. */
async function endOfRange(
  connection: PostgresConnection,
  source: PostgisSource,
  after: string | null,
): Promise<string | null> {
  const params = new SqlParams();
  const [row] = (await connection.query(
    `SELECT n.key::text FROM ${quoteNumbersTable(source.generatedIds!)} n
     WHERE ${within('n.key', source, { after, to: null }, params)} ORDER BY n.key OFFSET ${RANGE - 1} LIMIT 1`,
    params.values,
  )) as [[string] | undefined];
  return row?.[0] ?? null;
}

function within(
  key: string,
  { generatedIds }: PostgisSource,
  { after, to }: KeyRange,
  params: SqlParams,
): string {
  const type = getKeySqlType(generatedIds!.key);
  const start = after === null ? `${key} IS NOT NULL` : `${key} > ${params.add(after, type)}`;
  return to === null ? start : `${start} AND ${key} <= ${params.add(to, type)}`;
}

/**
 * Runs one scan after the other, so that a waiting scan finds the keys numbered. Without waiting, returns undefined
 * while another scan runs.
 */
async function locked<T>(
  connection: PostgresConnection,
  { table, waits }: { table: string; waits: boolean },
  work: () => Promise<T>,
): Promise<T | undefined> {
  await connection.query('BEGIN');
  try {
    const lock = `pg_${waits ? '' : 'try_'}advisory_xact_lock(hashtextextended($1, ${LOCK}))`;
    const [[isFree]] = (await connection.query(`SELECT ${lock}::text`, [table])) as [[string]];
    const result = isFree === 'false' ? undefined : await work();
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** SQLSTATE of a database that has become read-only, for example after a failover. */
const READ_ONLY = '25006';

function asUnnumbered(error: unknown): never {
  const isRefused = error instanceof EditRefusal || (isPgError(error) && error.code === READ_ONLY);
  if (!isRefused) throw error;
  throw new TaskFailure(
    'store-unavailable',
    'The database does not allow a table of key numbers.',
    error.message,
  );
}

async function ensureNumbers(connection: PostgresConnection, source: PostgisSource): Promise<void> {
  const name = quoteNumbersTable(source.generatedIds!);
  const { schema, table, generatedIds } = source;
  const about = `Object ids of ${schema}.${table} by ${generatedIds!.key.name}`.replaceAll("'", "''");
  await ensureTable(connection, name, [
    // With the collation of the key, which its index has.
    `CREATE TABLE ${name} AS SELECT ${writeKeySql(generatedIds!.key)} AS key FROM ${writeKeyedTable(source)} WITH NO DATA`,
    `ALTER TABLE ${name} ADD PRIMARY KEY (key), ADD number integer GENERATED ALWAYS AS IDENTITY UNIQUE`,
    `COMMENT ON TABLE ${name} IS '${about}'`,
  ]);
}
