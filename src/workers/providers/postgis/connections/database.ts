import { ConnectionCounts } from '../../../../core/sources/connection-counts.js';
import type { PgError, PgParams, PgValue, PostgresConnection } from '../../../../native/postgres.js';
import { isPgError } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { CANCELED, convertPgError, isRepeatable } from './failure.js';
import { ConnectionPool } from './pool.js';
import { statementBound } from './session.js';

const DEFAULT_CONNECTIONS = 2;
/** Statements that a connection keeps (kMaxStatements of the native code). */
const MAX_PREPARED = 64;

const pools = new Map<string, ConnectionPool>();
let perThread = DEFAULT_CONNECTIONS;
let counts = new ConnectionCounts();

/** Sets how many connections this thread may open to each database, and where it counts them. Call it before the first one. */
export function limitConnections(connections: number, shared?: SharedArrayBuffer): void {
  perThread = connections;
  if (shared) counts = new ConnectionCounts(shared);
}

export function getConnectionPool(url: string): ConnectionPool {
  let pool = pools.get(url);
  if (!pool) {
    pool = new ConnectionPool(url, perThread, counts);
    pools.set(url, pool);
  }
  return pool;
}

/** Statements that are prepared in the open connections of this thread, and the most that they can have. */
export function countPreparedInDatabases(): { prepared: number; capacity: number } {
  const connections = [...pools.values()].flatMap((pool) => pool.connections);
  const prepared = connections.reduce((sum, connection) => sum + connection.prepared, 0);
  return { prepared, capacity: connections.length * MAX_PREPARED };
}

/** Closes the idle connections of this thread. */
export function closeAll(): void {
  for (const pool of pools.values()) pool.close();
  pools.clear();
}

export interface UseOptions {
  cancellation?: Cancellation;
  /**
   * Whether work that must not run twice has already had an effect. From then on it is not repeated after a broken
   * connection.
   */
  hasBegun?: () => boolean;
}

/**
 * Runs `work` with its own connection. A task uses one connection at a time, because otherwise tasks could wait for
 * each other. Work whose connection breaks is repeated once on a new connection. Rejects with `TaskFailure`.
 */
export async function withConnection<T>(
  url: string,
  work: (connection: PostgresConnection) => Promise<T>,
  { cancellation, hasBegun = () => false }: UseOptions = {},
): Promise<T> {
  const pool = getConnectionPool(url);
  for (let last = false; ; last = true) {
    const started = performance.now();
    try {
      return await attempt(pool, work, cancellation);
    } catch (error) {
      if (!isPgError(error)) throw error;
      const cancelled = cancellation?.requested ?? false;
      if (last || cancelled || hasBegun() || !mayRepeat(error, performance.now() - started))
        throw convertPgError(error, cancelled);
    }
  }
}

async function attempt<T>(
  pool: ConnectionPool,
  work: (connection: PostgresConnection) => Promise<T>,
  cancellation: Cancellation | undefined,
): Promise<T> {
  const connection = await pool.acquire(cancellation);
  const unwatch = cancellation?.onRequest(() => connection.cancel());
  try {
    const result = await work(connection);
    pool.release(connection);
    return result;
  } catch (error) {
    if (isPgError(error)) pool.discard(connection, error);
    else pool.release(connection);
    throw error;
  } finally {
    unwatch?.();
  }
}

/**
 * Whether to repeat a statement. A cancellation without a request and too early for a timeout was meant for the
 * previous statement.
 */
function mayRepeat(error: PgError, elapsedMs: number): boolean {
  return isRepeatable(error) || (error.code === CANCELED && elapsedMs < statementBound());
}

/** Yields rows in batches. The connection is returned when the consumer stops. Rejects with `TaskFailure`. */
export async function* batches(
  url: string,
  sql: string,
  params: PgParams,
  size: number,
  cancellation?: Cancellation,
): AsyncGenerator<PgValue[][]> {
  const pool = getConnectionPool(url);
  const connection = await pool.acquire(cancellation);
  const unwatch = cancellation?.onRequest(() => connection.cancel());
  let failure: PgError | undefined;
  try {
    for await (const rows of connection.rows(sql, params, size)) {
      yield rows;
      cancellation?.check();
    }
  } catch (error) {
    if (!isPgError(error)) throw error;
    failure = error;
    throw convertPgError(error, cancellation?.requested ?? false);
  } finally {
    unwatch?.();
    if (failure) pool.discard(connection, failure);
    else pool.release(connection);
  }
}
