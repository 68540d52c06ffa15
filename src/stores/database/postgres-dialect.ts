import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import pg from 'pg';
import { ApiError } from '../../core/errors/errors.js';
import { STATE_UNREACHABLE } from '../../core/errors/storage-faults.js';
import { heldResources } from '../../core/observability/held.js';
import { StateError } from '../../workers/state/link.js';
import { AuditedConnection } from '../audit/audited-connection.js';
import { POSTGRESQL } from '../schema/vocabulary.js';
import { StateSignals } from './signals.js';
import { StatementCount } from './statement-count.js';

/** Limits for the use of the state's PostgreSQL server by one process. */
export interface PostgresBounds {
  readonly connections: number;
  /** Milliseconds to wait for a connection: a free one of the pool, or a new one. */
  readonly connectMs: number;
  /** Milliseconds of one statement, waiting for locks included. */
  readonly statementMs: number;
}

/** Schema of the state. It differs from the schema of the user's tables, because those can be published. */
const SCHEMA = 'graticule_state';
const IDLE_MS = 60_000;
/** A connection that was not used for so long may be broken, as all are after a failover: it is tried before. */
const TRUSTED_MS = 1000;
/** The server ends a late statement. If it does not respond at all, the client stops waiting a little later. */
const GRACE_MS = 2000;
const INT8 = 20;
const NUMERIC = 1700;

/** Kysely dialect of PostgreSQL. Waiting for the server is waiting for a socket: no thread is needed. */
export class PostgresStateDialect implements Dialect {
  readonly #pool: pg.Pool;
  readonly #signals = new StateSignals('notifications');
  readonly #statements = new StatementCount();

  constructor(
    url: string,
    private readonly bounds: PostgresBounds,
  ) {
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: 'graticule',
      max: bounds.connections,
      connectionTimeoutMillis: bounds.connectMs,
      idleTimeoutMillis: IDLE_MS,
      statement_timeout: bounds.statementMs,
      query_timeout: bounds.statementMs + GRACE_MS,
      // A transaction of a paused or disconnected process ends before the statements that wait for its rows do.
      idle_in_transaction_session_timeout: Math.ceil(bounds.statementMs / 2),
      keepAlive: true,
      types: { getTypeParser: buildParser },
    });
    // An idle connection breaks: the next statement gets another one.
    this.#pool.on('error', () => {});
    // One that breaks in use: its statement fails, or the next one of its transaction.
    this.#pool.on('connect', (client) => {
      client.on('error', () => {});
      heldResources.opened('postgres-connection', 'state database', client).keep('connection pool');
    });
    this.#pool.on('remove', (client) => heldResources.closed(client));
  }

  createDriver(): Driver {
    return new PostgresStateDriver(this.#pool, this.bounds.connectMs, this.#statements);
  }

  createQueryCompiler(): QueryCompiler {
    return new PostgresQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new PostgresStateAdapter(this.#signals, this.#statements);
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(db);
  }
}

/** All integers of the state are below 2^53. */
function buildParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8 || oid === NUMERIC) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}

class PostgresStateAdapter extends PostgresAdapter {
  readonly vocabulary = POSTGRESQL;

  constructor(
    readonly signals: StateSignals,
    readonly statements: StatementCount,
  ) {
    super();
  }
}

class PostgresStateDriver implements Driver {
  /** When the connections that are set up were used last. */
  readonly #used = new WeakMap<pg.PoolClient, number>();

  constructor(
    private readonly pool: pg.Pool,
    private readonly answerMs: number,
    private readonly statements: StatementCount,
  ) {}

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    for (;;) {
      const client = await this.pool.connect().catch(asStateError);
      const used = this.#used.get(client);
      try {
        if (used === undefined) await setUp(client);
        else if (performance.now() - used > TRUSTED_MS) await this.#check(client);
        return new PostgresStateConnection(client, this.statements);
      } catch (error) {
        client.release(true);
        if (used === undefined) asStateError(error);
      }
    }
  }

  async #check(client: pg.PoolClient): Promise<void> {
    this.statements.value++;
    await client.query({ text: 'select', query_timeout: this.answerMs } as pg.QueryConfig);
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

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const { client, isBroken } = connection as PostgresStateConnection;
    this.#used.set(client, performance.now());
    // A connection without a response is closed, because the next statement would wait for that response.
    client.release(isBroken);
  }

  destroy(): Promise<void> {
    return this.pool.end();
  }
}

const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

class PostgresStateConnection extends AuditedConnection {
  /** True after a statement without a response. */
  isBroken = false;

  constructor(
    readonly client: pg.PoolClient,
    private readonly statements: StatementCount,
  ) {
    super(POSTGRESQL);
  }

  protected control(word: 'begin' | 'commit' | 'rollback'): Promise<unknown> {
    return this.run(CompiledQuery.raw(word));
  }

  protected async run<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    this.statements.value++;
    try {
      const { recorder } = this.statements;
      const send = () => this.client.query(sql, [...parameters]);
      const describe = (result: pg.QueryResult | undefined) => ({ rows: result?.rowCount ?? undefined });
      const { command, rowCount, rows } = await recorder.run('state', sql, send, describe);
      return {
        rows: rows ?? [],
        ...(COUNTED.has(command) ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}),
      };
    } catch (error) {
      this.isBroken ||= !(error instanceof pg.DatabaseError);
      return asStateError(error);
    }
  }
}

/**
 * Settings of a connection. The server drops connections whose machine no longer responds. Otherwise a few network
 * failures would use up all its connections.
 */
const SET_UP = `set search_path to ${SCHEMA}; set tcp_keepalives_idle to 30; set tcp_keepalives_interval to 10;
  set tcp_keepalives_count to 3`;

/** Sets up a connection, and creates a missing schema of the state, once for all starting servers. */
async function setUp(client: pg.PoolClient): Promise<void> {
  await client.query(SET_UP);
  const { rows } = await client.query(`select to_regnamespace('${SCHEMA}') is not null as there`);
  if (rows[0]!.there) return;
  // Both statements run in one implicit transaction. With only IF NOT EXISTS, one of two concurrent processes fails.
  await client.query(
    `select pg_advisory_xact_lock(hashtextextended('${SCHEMA}', 0)); create schema if not exists ${SCHEMA}`,
  );
}

/**
 * SQLSTATEs that another attempt may not meet: no connection, no more connections, shut down, read-only after a
 * failover, deadlocks, and whatever took too long.
 */
const PASSING = /^(08...|53...|57...|25006|25P03|25P04|40...|55P03)$/;
const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Converts errors. Socket errors have the system's codes or none, and errors of PostgreSQL have SQLSTATEs. */
function asStateError(error: unknown): never {
  const { code, message = String(error) } = error as { code?: string; message?: string };
  if (code === '22021')
    throw new ApiError(
      'invalid-request',
      'A string contains the character U+0000, which cannot be stored. Remove the character.',
    );
  const isRefused = code !== undefined && SQLSTATE.test(code) && error instanceof pg.DatabaseError;
  throw new StateError(isRefused && !PASSING.test(code) ? code : STATE_UNREACHABLE, message);
}
