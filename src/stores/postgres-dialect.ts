import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import pg from 'pg';
import { ApiError } from '../core/errors.js';
import { STATE_UNREACHABLE } from '../core/storage-faults.js';
import { StateError } from '../workers/state/link.js';
import { AuditedConnection } from './audited-connection.js';
import { POSTGRESQL } from './vocabulary.js';

/** Bounds of what a process asks of the PostgreSQL server of its state. */
export interface PostgresBounds {
  readonly connections: number;
  /** Milliseconds to wait for a connection: a free one of the pool, or a new one. */
  readonly connectMs: number;
  /** Milliseconds of one statement, waiting for locks included. */
  readonly statementMs: number;
}

/** Not in the schema of the user's own tables: those may be published. */
const SCHEMA = 'graticule_state';
const IDLE_MS = 60_000;
/** The server ends a statement that is late; one that does not answer at all is given up a little later. */
const GRACE_MS = 2000;
const INT8 = 20;
const NUMERIC = 1700;

/** Kysely dialect of PostgreSQL. Waiting for the server is waiting for a socket: no thread is needed. */
export class PostgresStateDialect implements Dialect {
  readonly #pool: pg.Pool;

  constructor(url: string, bounds: PostgresBounds) {
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: 'graticule',
      max: bounds.connections,
      connectionTimeoutMillis: bounds.connectMs,
      idleTimeoutMillis: IDLE_MS,
      statement_timeout: bounds.statementMs,
      query_timeout: bounds.statementMs + GRACE_MS,
      // A transaction whose process is paused must not keep others from its rows for ever.
      idle_in_transaction_session_timeout: bounds.statementMs,
      keepAlive: true,
      types: { getTypeParser: parserOf },
    });
    // A connection that breaks while nobody uses it: the next statement has another.
    this.#pool.on('error', () => {});
  }

  createDriver(): Driver {
    return new PostgresStateDriver(this.#pool);
  }

  createQueryCompiler(): QueryCompiler {
    return new PostgresQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new PostgresStateAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(db);
  }
}

/** All integers of the state are below 2^53. */
function parserOf(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8 || oid === NUMERIC) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}

class PostgresStateAdapter extends PostgresAdapter {
  readonly vocabulary = POSTGRESQL;
}

class PostgresStateDriver implements Driver {
  readonly #inner: PostgresDriver;

  constructor(pool: pg.Pool) {
    this.#inner = new PostgresDriver({ pool, onCreateConnection: enterSchema });
  }

  init(): Promise<void> {
    return this.#inner.init();
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new PostgresStateConnection(await this.#inner.acquireConnection().catch(asStateError));
  }

  beginTransaction(connection: DatabaseConnection, _settings: TransactionSettings): Promise<void> {
    return (connection as PostgresStateConnection).begin();
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as PostgresStateConnection).commit();
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as PostgresStateConnection).rollback();
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    return this.#inner.releaseConnection((connection as PostgresStateConnection).inner as never);
  }

  destroy(): Promise<void> {
    return this.#inner.destroy();
  }
}

class PostgresStateConnection extends AuditedConnection {
  constructor(readonly inner: DatabaseConnection) {
    super(POSTGRESQL);
  }

  protected control(word: 'begin' | 'commit' | 'rollback'): Promise<unknown> {
    return this.run(CompiledQuery.raw(word));
  }

  protected run<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.inner.executeQuery<R>(query).catch(asStateError);
  }
}

/** Makes the schema of the state where it is missing, once however many servers start. */
async function enterSchema(connection: DatabaseConnection): Promise<void> {
  const run = (text: string) => connection.executeQuery<{ there: boolean }>(CompiledQuery.raw(text));
  await run(`set search_path to ${SCHEMA}`);
  const { rows } = await run(`select to_regnamespace('${SCHEMA}') is not null as there`);
  if (rows[0]!.there) return;
  // Together in one implicit transaction. IF NOT EXISTS alone fails for one of two that come at the same time.
  await run(
    `select pg_advisory_xact_lock(hashtextextended('${SCHEMA}', 0)); create schema if not exists ${SCHEMA}`,
  );
}

/**
 * SQLSTATEs that another attempt may not meet: no connection, no more connections, shut down, read-only after a
 * failover, deadlocks, and whatever took too long.
 */
const PASSING = /^(08...|53...|57...|25006|25P03|25P04|40...|55P03)$/;
const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Errors of sockets have the system's codes or none; those of PostgreSQL have SQLSTATEs. */
function asStateError(error: unknown): never {
  const { code, message = String(error) } = error as { code?: string; message?: string };
  if (code === '22021')
    throw new ApiError('invalid-request', 'A text holds the character U+0000, which cannot be stored.');
  const isRefused = code !== undefined && SQLSTATE.test(code) && error instanceof pg.DatabaseError;
  throw new StateError(isRefused && !PASSING.test(code) ? code : STATE_UNREACHABLE, message);
}
