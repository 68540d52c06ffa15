import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Vocabulary } from '../schema/vocabulary.js';
import { appendAuditRows } from './audit.js';
import { auditScope } from './audit-scope.js';

/** Statements that change audited data. Other statements are internal bookkeeping. */
const AUDITED =
  /^\s*(insert into|update|delete from) "(api_keys|documents|jobs|registered_rasters|styles|deliveries|attachments|diagnostic_bundles|proposals)"/;

/** A connection to a state database that writes the row of an audited request together with its change. */
export abstract class AuditedConnection implements DatabaseConnection {
  #inTransaction = false;
  #changed = false;

  constructor(private readonly vocabulary: Vocabulary) {}

  /** Runs one statement unchanged. */
  protected abstract run<R>(query: CompiledQuery): Promise<QueryResult<R>>;
  protected abstract control(word: 'begin' | 'commit' | 'rollback'): Promise<unknown>;

  async begin(): Promise<void> {
    await this.control('begin');
    this.#inTransaction = true;
    this.#changed = false;
  }

  /** The row of an audited request becomes durable with its change. */
  async commit(): Promise<void> {
    const scope = this.#changed ? auditScope() : undefined;
    const event = scope?.take();
    try {
      if (event) await appendAuditRows(this.#runner, [event]);
      await this.control('commit');
    } catch (error) {
      if (event) scope?.giveBack();
      throw error;
    }
    this.#inTransaction = false;
    if (event) scope?.committed();
  }

  async rollback(): Promise<void> {
    this.#inTransaction = false;
    await this.control('rollback');
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (!AUDITED.test(query.sql)) return this.run(query);
    if (this.#inTransaction || !auditScope()?.isOpen) {
      const result = await this.run<R>(query);
      this.#changed ||= hadEffect(result);
      return result;
    }
    await this.begin();
    try {
      const result = await this.run<R>(query);
      this.#changed = hadEffect(result);
      await this.commit();
      return result;
    } catch (error) {
      await this.rollback().catch(() => {});
      throw error;
    }
  }

  get #runner() {
    return { vocabulary: this.vocabulary, run: (query: CompiledQuery) => this.run(query) };
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
