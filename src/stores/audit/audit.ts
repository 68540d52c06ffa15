import { hash } from 'node:crypto';
import { CompiledQuery, type Selectable } from 'kysely';
import type { StateDb } from '../schema/database.js';
import type { AuditTable } from '../schema/schema.js';
import { getVocabulary, POSTGRESQL, SQLITE, type Vocabulary } from '../schema/vocabulary.js';

export type AuditRow = Selectable<AuditTable>;

/** An event, before it has a number and a position in the chain. */
export type AuditEvent = Omit<AuditRow, 'id' | 'previous_hash' | 'hash'>;

/** Equality filters by column, a time range `[from, to)`, and a page: rows before `beforeId`, newest first. */
export interface AuditQuery {
  equals?: Partial<Pick<AuditRow, AuditFilter>>;
  from?: number;
  to?: number;
  beforeId?: number;
  limit: number;
}

type AuditFilter =
  | 'action'
  | 'actor'
  | 'actor_type'
  | 'event_type'
  | 'outcome'
  | 'resource_type'
  | 'resource_id'
  | 'correlation_id';

export interface AuditVerdict {
  rowsChecked: number;
  /** First row whose hash, or link to the row before it, is wrong. */
  broken?: { id: number; reason: string };
}

/** Action of the row about a saved state. */
export const BACKUP_ACTION = 'state.backup';

/** Statement of a checkpoint: the number of rows, and the hash of the last one. */
export interface AttestedRows {
  readonly rows: number;
  readonly hash: string;
}

interface PendingEvent {
  event: AuditEvent;
  resolve(): void;
  reject(error: unknown): void;
}

const GENESIS = '0'.repeat(64);
const PAGE = 1000;
/** Rows of one transaction. */
const MAX_AT_ONCE = 200;

const COLUMNS = [
  'id',
  'at',
  'event_type',
  'action',
  'actor',
  'actor_type',
  'outcome',
  'resource_type',
  'resource_id',
  'correlation_id',
  'remote_ip',
  'user_agent',
  'details',
  'previous_hash',
  'hash',
] as const satisfies readonly (keyof AuditRow)[];
const LAST = 'select id, hash from audit order by id desc limit 1';

/** Runs statements in the open transaction. */
interface Runner {
  readonly vocabulary: Vocabulary;
  run(query: CompiledQuery): Promise<{ rows: unknown[] }>;
}

function buildRunner(db: StateDb): Runner {
  return { vocabulary: getVocabulary(db), run: (query) => db.executeQuery(query) };
}

const INSERT = { SQLite: insertIn(SQLITE), PostgreSQL: insertIn(POSTGRESQL) };

function insertIn({ parameter }: Vocabulary): string {
  const places = COLUMNS.map((_, i) => parameter(i + 1));
  return `insert into audit (${COLUMNS.join(', ')}) values (${places.join(', ')})`;
}

/** The character 0, and surrogates, which are also parts of valid pairs. */
const ODD = /[\0\ud800-\udfff]/;

/**
 * The event in characters that every database returns unchanged. A changed row would break the chain, and a refused
 * row would make the rows in the same transaction fail.
 */
function storable(event: AuditEvent): AuditEvent {
  const entries = Object.entries(event).map(([column, value]) => [
    column,
    typeof value === 'string' && ODD.test(value)
      ? Buffer.from(value).toString().replaceAll('\0', '\ufffd')
      : value,
  ]);
  return Object.fromEntries(entries) as AuditEvent;
}

/** Adds rows at the end of the chain, in the open transaction. Its end lets the next transaction add rows. */
export async function appendAuditRows(runner: Runner, events: readonly AuditEvent[]): Promise<void> {
  // Before the last row is read, so that two writers do not fork the chain.
  const lock = runner.vocabulary.lock('audit');
  if (lock) await runner.run(lock);
  const { rows } = await runner.run(CompiledQuery.raw(LAST));
  let last = (rows[0] as { id: number; hash: string } | undefined) ?? { id: 0, hash: GENESIS };
  for (const event of events) {
    const unsigned = { ...storable(event), id: last.id + 1, previous_hash: last.hash };
    const row: AuditRow = { ...unsigned, hash: computeRowHash(unsigned) };
    await runner.run(
      CompiledQuery.raw(
        INSERT[runner.vocabulary.database],
        COLUMNS.map((column) => row[column]),
      ),
    );
    last = row;
  }
}

/**
 * The audit trail. Rows are only added (triggers refuse other changes), and each contains the hash of the row before
 * it. A row that is changed or removed outside the server breaks the chain from there.
 */
export class AuditStore {
  #waiting: PendingEvent[] = [];
  #writing = false;

  constructor(readonly db: StateDb) {}

  /** Adds one row. Resolves once it is durable. Rows that arrive while other rows are written share a transaction. */
  append(event: AuditEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      if (!this.#writing) void this.#write();
    });
  }

  /**
   * Adds the rows that are not there yet, in one transaction: a commit whose outcome was not known may have written some.
   * Rows that agree in every column, the time in milliseconds included, count as one.
   */
  async appendMissing(events: readonly AuditEvent[]): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      const runner = buildRunner(trx);
      const lock = runner.vocabulary.lock('audit');
      if (lock) await runner.run(lock);
      const times = [...new Set(events.map(({ at }) => at))];
      const rows = await trx.selectFrom('audit').selectAll().where('at', 'in', times).execute();
      const seen = new Set(rows.map(identify));
      const missing = events.filter((event) => {
        const key = identify(storable(event));
        return !seen.has(key) && seen.add(key);
      });
      if (missing.length > 0) await appendAuditRows(runner, missing);
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const rows = this.#waiting.splice(0, MAX_AT_ONCE);
      try {
        const run = (trx: StateDb) =>
          appendAuditRows(
            buildRunner(trx),
            rows.map(({ event }) => event),
          );
        await this.db.transaction().execute(run);
        for (const { resolve } of rows) resolve();
      } catch (error) {
        for (const { reject } of rows) reject(error);
      }
    }
    this.#writing = false;
  }

  async list(query: AuditQuery): Promise<AuditRow[]> {
    return this.#select(query).selectAll().orderBy('id', 'desc').limit(query.limit).execute();
  }

  /** Number of rows that a query selects on all its pages. */
  async count(query: Omit<AuditQuery, 'limit'>): Promise<number> {
    const { n } = await this.#select(query)
      .select((e) => e.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    return Number(n);
  }

  #select(query: Omit<AuditQuery, 'limit'>) {
    let rows = this.db.selectFrom('audit');
    for (const [column, value] of Object.entries(query.equals ?? {})) {
      if (value !== undefined) rows = rows.where(column as AuditFilter, '=', value);
    }
    if (query.from !== undefined) rows = rows.where('at', '>=', query.from);
    if (query.to !== undefined) rows = rows.where('at', '<', query.to);
    if (query.beforeId !== undefined) rows = rows.where('id', '<', query.beforeId);
    return rows;
  }

  /** Recomputes the complete chain, a page at a time, and compares it with what checkpoints state. */
  async verify(attested: readonly AttestedRows[] = []): Promise<AuditVerdict> {
    const hashes = new Map(attested.map(({ rows, hash }) => [rows, hash]));
    let rowsChecked = 0;
    let previous = { id: 0, hash: GENESIS };
    for (;;) {
      const page = await this.db
        .selectFrom('audit')
        .selectAll()
        .where('id', '>', previous.id)
        .orderBy('id')
        .limit(PAGE)
        .execute();
      for (const row of page) {
        rowsChecked += 1;
        const reason = findFlaw(row, previous) ?? findContradiction(row, hashes.get(row.id));
        if (reason) return { rowsChecked, broken: { id: row.id, reason } };
        previous = row;
      }
      if (page.length < PAGE) return withTail(rowsChecked, attested);
    }
  }
}

/** Key of an event, from all its distinguishing members. */
function identify(event: AuditEvent): string {
  const { at, event_type, action, actor, outcome, resource_type, resource_id, correlation_id, details } =
    event;
  const values = [
    at,
    event_type,
    action,
    actor,
    outcome,
    resource_type,
    resource_id,
    correlation_id,
    details,
  ];
  return JSON.stringify(values);
}

const findContradiction = (row: AuditRow, hash: string | undefined) =>
  hash !== undefined && hash !== row.hash
    ? `the checkpoint of ${row.id} rows attests another hash: this row or one before it was replaced`
    : undefined;

/** Rows that a checkpoint attests, and that are missing at the end. */
function withTail(rowsChecked: number, attested: readonly AttestedRows[]): AuditVerdict {
  const most = Math.max(0, ...attested.map(({ rows }) => rows));
  if (most <= rowsChecked) return { rowsChecked };
  const reason = `the checkpoint attests ${most} rows, and there are ${rowsChecked}`;
  return { rowsChecked, broken: { id: rowsChecked + 1, reason } };
}

/** Contradiction between a row and the row before it. */
function findFlaw(row: AuditRow, previous: { id: number; hash: string }): string | undefined {
  if (row.id !== previous.id + 1) return `rows ${previous.id + 1} to ${row.id - 1} are missing`;
  if (row.previous_hash !== previous.hash) return 'the row does not follow the row before it';
  if (row.hash !== computeRowHash(row)) return 'the row was changed after it was written';
  return undefined;
}

/** SHA-256 over the values in a fixed order, JSON-quoted so that no two rows read the same. */
export function computeRowHash(row: Omit<AuditRow, 'hash'>): string {
  const values = [
    row.previous_hash,
    row.id,
    row.at,
    row.event_type,
    row.action,
    row.actor,
    row.actor_type,
    row.outcome,
    row.resource_type,
    row.resource_id,
    row.correlation_id,
    row.remote_ip,
    row.user_agent,
    row.details,
  ];
  return hash('sha256', JSON.stringify(values), 'hex');
}
