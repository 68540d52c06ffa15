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
import type { StatementEnd } from '../../core/observability/statements.js';
import { StateLink } from '../../workers/state/link.js';
import { AuditedConnection } from '../audit/audited-connection.js';
import { SQLITE } from '../schema/vocabulary.js';
import { StateSignals } from './signals.js';
import { StatementCount } from './statement-count.js';

/** Kysely dialect of SQLite whose statements run on the state thread. */
export class StateDialect implements Dialect {
  readonly #signals = new StateSignals('file');
  readonly #statements = new StatementCount();

  constructor(readonly link: StateLink) {
    link.onChange = () => this.#signals.wakeAll();
  }

  createDriver(): Driver {
    return new StateDriver(this.link, this.#statements);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new StateAdapter(this.#signals, this.#statements);
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

class StateAdapter extends SqliteAdapter {
  readonly vocabulary = SQLITE;

  constructor(
    readonly signals: StateSignals,
    readonly statements: StatementCount,
  ) {
    super();
  }

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

  constructor(link: StateLink, statements: StatementCount) {
    this.#link = link;
    this.#connection = new StateConnection(link, statements);
  }

  async init(): Promise<void> {}

  /** There is one connection. Callers get it in the order of their calls. */
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

type StateRows = Awaited<ReturnType<StateLink['run']>>;

class StateConnection extends AuditedConnection {
  constructor(
    readonly link: StateLink,
    private readonly statements: StatementCount,
  ) {
    super(SQLITE);
  }

  protected control(word: 'begin' | 'commit' | 'rollback'): Promise<unknown> {
    // IMMEDIATE takes the write lock at the start. Otherwise a transaction that first reads and then writes can fail
    // halfway.
    return this.#send(word === 'begin' ? 'begin immediate' : word, []);
  }

  protected async run<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes, lastRowId } = await this.#send(sql, parameters);
    return {
      rows: rows as R[],
      ...(changes === undefined ? {} : { numAffectedRows: BigInt(changes) }),
      ...(lastRowId === undefined ? {} : { insertId: BigInt(lastRowId) }),
    };
  }

  #send(sql: string, parameters: readonly unknown[]): Promise<StateRows> {
    const { recorder } = this.statements;
    this.statements.value++;
    return recorder.run(
      'state',
      sql,
      () => this.link.run(sql, parameters),
      (result) => this.#describe(result),
    );
  }

  #describe(result: StateRows | undefined): StatementEnd {
    if (!result) return {};
    const { rows, prepared } = result;
    if (prepared !== undefined)
      this.statements.recorder.countPrepared = () => ({ prepared, capacity: StateLink.maxPrepared });
    return { rows: rows.length, reused: prepared === undefined };
  }
}
