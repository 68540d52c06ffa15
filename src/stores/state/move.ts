import { createHash } from 'node:crypto';
import { type CompiledQuery, sql } from 'kysely';
import { AuditStore } from '../audit/audit.js';
import type { StateDb } from '../schema/database.js';
import type { StateTables } from '../schema/schema.js';
import { getVocabulary, type NumberedTable } from '../schema/vocabulary.js';
import { readNewestCursor } from '../streams/feed.js';
import { laterSteps } from './migrate.js';

/** Reason why a state cannot be moved, as a sentence for the operator. The states are unchanged. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
}

/** Tables to move. Tables of running servers are excluded: when a state is moved, no server runs. */
type Table = Exclude<keyof StateTables, 'instances' | 'announcements' | 'turns'>;
type Row = Record<string, string | number | null>;

/** All tables with their key columns. Tables that other tables refer to come first. */
const KEYS: Readonly<Record<Table, readonly string[]>> = {
  collection_ids: ['id'],
  collections: ['slug'],
  api_keys: ['id'],
  audit: ['id'],
  jobs: ['id'],
  job_logs: ['id'],
  job_steps: ['job_id', 'ordinal'],
  job_artifacts: ['id'],
  job_parts: ['job_id', 'ordinal'],
  documents: ['kind', 'id'],
  feed: ['cursor'],
  outboxes: ['source'],
  sinks: ['name'],
  deliveries: ['id'],
  registered_rasters: ['id'],
  styles: ['layer_id', 'version'],
  replies: ['principal', 'key_hash'],
  users: ['id'],
  sessions: ['hash'],
  user_keys: ['id'],
  rate_buckets: ['key'],
  tenant_usage: ['tenant_id', 'day'],
  embed_usage: ['integration_id', 'tenant_id', 'origin', 'service', 'layer', 'event_type'],
  replicas: ['id'],
  replica_syncs: ['id'],
  replica_conflicts: ['id'],
  attachment_contents: ['key'],
  attachments: ['id'],
  alert_zones: ['id'],
  alert_rules: ['id'],
  alert_revisions: ['name'],
  alert_states: ['rule_id', 'feature_id'],
  alert_events: ['id'],
  investigations: ['id'],
  investigation_pins: ['id'],
  investigation_links: ['id'],
  ops_findings: ['id'],
  finding_notes: ['id'],
  autonomy_policies: ['rule'],
  autonomy_settings: ['id'],
  autonomy_actions: ['proposal_id'],
  diagnostic_bundles: ['id'],
  diagnostic_envelopes: ['bundle_id', 'ordinal'],
  audit_checkpoints: ['row_count'],
  proposals: ['id'],
  latency_periods: ['resolution', 'bucket_start', 'replica', 'protocol'],
  vital_periods: ['resolution', 'bucket_start', 'replica'],
  licences: ['id'],
  licence_marks: ['name'],
  capacity_minutes: ['minute'],
  capacity_surges: ['id'],
  compliance_evidence: ['day', 'control_id'],
  field_submissions: ['id'],
  field_comments: ['id'],
};
const NUMBERED: readonly NumberedTable[] = [
  'collection_ids',
  'job_logs',
  'deliveries',
  'registered_rasters',
  'attachments',
  'alert_zones',
  'alert_rules',
  'alert_events',
  'investigations',
  'investigation_pins',
  'investigation_links',
  'finding_notes',
  'licences',
  'capacity_surges',
];

const PAGE = 500;

/**
 * Copies a state into an empty one. Rows, numbers, cursors and the audit chain are unchanged. It is one transaction
 * of the target, so an interrupted copy has no effect and can be started again. Both states are read again and
 * compared before the commit. Returns the number of rows of each table. Rejects with `MoveError`.
 */
export async function moveState(
  from: StateDb,
  to: StateDb,
  told: (table: Table, rows: number) => void = () => {},
): Promise<Record<string, number>> {
  return await snapshot(from, (source) =>
    to.transaction().execute(async (target) => {
      for (const db of [source, target]) await requireAlone(db);
      await requireKnown(source);
      await requireEmpty(target);
      const counts: Record<string, number> = {};
      for (const table of Object.keys(KEYS) as Table[]) {
        counts[table] = await copyTable(table, source, target);
        told(table, counts[table]);
      }
      for (const table of NUMBERED)
        await getVocabulary(target).setHighestNumber(
          target,
          table,
          await getVocabulary(source).highestNumber(source, table),
        );
      await getVocabulary(target).setNewestCursor(target, await readNewestCursor(source));
      await compare(source, target);
      return counts;
    }),
  );
}

/** All statements see the state of one moment. */
function snapshot<T>(db: StateDb, read: (db: StateDb) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    if (getVocabulary(trx).database === 'PostgreSQL')
      await sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`.execute(trx);
    return read(trx);
  });
}

/**
 * Rejects if a server has one of the states open, because it would continue to write. For files, the caller must
 * check that.
 */
async function requireAlone(db: StateDb): Promise<void> {
  if (getVocabulary(db).database !== 'PostgreSQL') return;
  const { rows } = await sql<{ pid: number }>`
    SELECT pid FROM pg_stat_activity
    WHERE application_name = 'graticule' AND datname = current_database() AND pid <> pg_backend_pid()
  `.execute(db);
  if (rows.length > 0)
    throw new MoveError('A server uses the state in PostgreSQL. Stop all its servers first.');
}

/** Rejects if a newer version made the state, because its additions would not be copied. */
async function requireKnown(db: StateDb): Promise<void> {
  const [step] = await laterSteps(db);
  if (step !== undefined)
    throw new MoveError(
      `The state was created by a newer version (step ${step}). Use the command of that version.`,
    );
}

async function requireEmpty(db: StateDb): Promise<void> {
  for (const table of Object.keys(KEYS) as Table[]) {
    const { rows } = await sql`SELECT 1 FROM ${sql.table(table)} LIMIT 1`.execute(db);
    if (rows.length > 0) throw new MoveError(`The other state is not empty: its table ${table} has rows.`);
  }
}

async function copyTable(table: Table, source: StateDb, target: StateDb): Promise<number> {
  let count = 0;
  for await (const rows of listPages(table, source)) {
    await target.executeQuery(insertion(table, rows, target));
    count += rows.length;
  }
  return count;
}

function insertion(table: Table, rows: readonly Row[], db: StateDb): CompiledQuery {
  const columns = Object.keys(rows[0]!);
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
  return sql`
    INSERT INTO ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))}) VALUES ${sql.join(values)}
  `.compile(db);
}

/** Rows in the order of their key. Texts are in the order of their bytes in both databases. */
async function* listPages(table: Table, db: StateDb): AsyncGenerator<Row[]> {
  const key = KEYS[table];
  const columns = sql.join(key.map((column) => sql.ref(column)));
  let last: Row | undefined;
  do {
    const after = last;
    const rest = after ? sql`WHERE (${columns}) > (${sql.join(key.map((column) => after[column]))})` : sql``;
    const { rows } = await sql<Row>`
      SELECT * FROM ${sql.table(table)} ${rest} ORDER BY ${columns} LIMIT ${PAGE}
    `.execute(db);
    if (rows.length > 0) yield rows;
    last = rows.length === PAGE ? rows.at(-1) : undefined;
  } while (last);
}

/** Rejects unless the other database returns the written rows, and its audit chain is valid. */
async function compare(source: StateDb, target: StateDb): Promise<void> {
  for (const table of Object.keys(KEYS) as Table[])
    if ((await digest(table, source)) !== (await digest(table, target)))
      throw new MoveError(`The content of table ${table} in the target database differs from the source.`);
  if ((await readNewestCursor(source)) !== (await readNewestCursor(target)))
    throw new MoveError('The newest event of the change feed differs in the target database.');
  const [before, after] = [await new AuditStore(source).verify(), await new AuditStore(target).verify()];
  if (JSON.stringify(before) !== JSON.stringify(after))
    throw new MoveError('The audit chain of the target database differs from the source.');
}

async function digest(table: Table, db: StateDb): Promise<string> {
  const hash = createHash('sha256');
  for await (const rows of listPages(table, db))
    for (const row of rows)
      hash.update(
        JSON.stringify(
          Object.keys(row)
            .sort()
            .map((column) => row[column]),
        ),
      );
  return hash.digest('hex');
}
