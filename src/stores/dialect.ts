import {
  type CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { StateLink } from '../workers/state/link.js';
import { appendAuditRows } from './audit.js';
import { auditScope } from './audit-scope.js';

/** Kysely dialect of SQLite whose statements run on the state thread. */
export class StateDialect implements Dialect {
  constructor(readonly link: StateLink) {}

  createDriver(): Driver {
    return new StateDriver(this.link);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new StateAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

class StateAdapter extends SqliteAdapter {
  // Migrations run in one BEGIN IMMEDIATE, so two processes that start together migrate once.
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class StateDriver implements Driver {
  readonly #link: StateLink;
  readonly #connection: StateConnection;
  #held = false;
  readonly #queue: (() => void)[] = [];

  constructor(link: StateLink) {
    this.#link = link;
    this.#connection = new StateConnection(link);
  }

  async init(): Promise<void> {}

  /** There is one connection; callers get it in the order in which they asked. */
  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#held) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#held = true;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    const next = this.#queue.shift();
    if (next) next();
    else this.#held = false;
  }

  beginTransaction(): Promise<void> {
    return this.#connection.begin();
  }

  commitTransaction(): Promise<void> {
    return this.#connection.commit();
  }

  rollbackTransaction(): Promise<void> {
    return this.#connection.rollback();
  }

  destroy(): Promise<void> {
    return this.#link.close();
  }
}

/** Statements whose effect is what an audited request did; the others keep books. */
const AUDITED =
  /^\s*(insert into|update|delete from) "(api_keys|documents|jobs|registered_rasters|styles|deliveries)"/;

class StateConnection implements DatabaseConnection {
  #inTransaction = false;
  #changed = false;

  constructor(readonly link: StateLink) {}

  async begin(): Promise<void> {
    // IMMEDIATE takes the write lock at once: a read that becomes a write can otherwise fail half way.
    await this.link.run('begin immediate', []);
    this.#inTransaction = true;
    this.#changed = false;
  }

  /** The row of an audited request becomes durable with its change. */
  async commit(): Promise<void> {
    const scope = this.#changed ? auditScope() : undefined;
    const event = scope?.event;
    if (event) await appendAuditRows(this.link, [event]);
    await this.link.run('commit', []);
    this.#inTransaction = false;
    if (event) scope?.committed();
  }

  async rollback(): Promise<void> {
    this.#inTransaction = false;
    await this.link.run('rollback', []);
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (!AUDITED.test(query.sql)) return this.#execute(query);
    if (this.#inTransaction || !auditScope()?.event) {
      const result = await this.#execute<R>(query);
      this.#changed ||= hadEffect(result);
      return result;
    }
    await this.begin();
    try {
      const result = await this.#execute<R>(query);
      this.#changed = hadEffect(result);
      await this.commit();
      return result;
    } catch (error) {
      await this.rollback().catch(() => {});
      throw error;
    }
  }

  async #execute<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes, lastRowId } = await this.link.run(sql, parameters);
    return {
      rows: rows as R[],
      ...(changes === undefined ? {} : { numAffectedRows: BigInt(changes) }),
      ...(lastRowId === undefined ? {} : { insertId: BigInt(lastRowId) }),
    };
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for it; pages are read with LIMIT instead.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('The state database does not stream; read it in pages.');
  }
}

/** Statements that return rows do not count their changes. */
function hadEffect({ numAffectedRows, rows }: QueryResult<unknown>): boolean {
  return rows.length > 0 || (numAffectedRows ?? 0n) > 0n;
}
