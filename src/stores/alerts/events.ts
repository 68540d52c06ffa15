import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { AlertEventTable } from '../schema/alert-tables.js';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';
import { type ChangeBounds, ChangeNumbers, readChangeBounds } from './change-numbers.js';
import { countChange, readRevision } from './revisions.js';

export type AlertEventRow = Selectable<AlertEventTable>;

/** Selection of events. Absent members do not restrict it. */
export interface AlertEventQuery {
  readonly ruleId?: number | undefined;
  readonly service?: string | undefined;
  readonly layerId?: number | undefined;
  readonly objectId?: string | undefined;
  readonly severities?: readonly string[] | undefined;
  readonly lifecycles?: readonly string[] | undefined;
  readonly statuses?: readonly string[] | undefined;
  /** Milliseconds; inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Only layers of the caller, or all. */
  readonly layers?: readonly number[] | undefined;
  readonly tenant?: string | undefined;
  /** Only events with smaller ids: the newest come first. */
  readonly before?: number | undefined;
  /** Only events with greater ids, the oldest first. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** Change of the lifecycle of an event by a person. */
export interface LifecycleChange {
  readonly lifecycle: 'acknowledged' | 'resolved' | 'suppressed';
  readonly by: string;
  readonly note?: string | undefined;
  /** Milliseconds since 1970. */
  readonly until?: number | undefined;
}

export interface DeliveryHealth {
  readonly sink: string;
  readonly pending: number;
  readonly processing: number;
  readonly delivered: number;
  readonly failed: number;
  readonly dead: number;
  readonly attemptedAt: number | null;
  readonly deliveredAt: number | null;
  readonly error: string | null;
}

/** Events of alert rules. */
export class AlertEventStore {
  constructor(private readonly db: StateDb) {}

  async list(query: AlertEventQuery): Promise<AlertEventRow[]> {
    const { now, isOneOf } = getVocabulary(this.db);
    const is = (column: string, value: unknown): Expression<SqlBool> =>
      sql<SqlBool>`${sql.ref(column)} = ${value}`;
    const oneOf = (expression: unknown, values: readonly unknown[]): Expression<SqlBool> =>
      values.length === 0 ? sql<SqlBool>`1 = 0` : sql<SqlBool>`${expression} IN (${sql.join(values)})`;
    const conditions: Expression<SqlBool>[] = [sql<SqlBool>`1 = 1`];
    if (query.ruleId !== undefined) conditions.push(is('rule_id', query.ruleId));
    if (query.service !== undefined) conditions.push(is('service', query.service));
    if (query.layerId !== undefined) conditions.push(is('layer_id', query.layerId));
    if (query.objectId !== undefined) conditions.push(is('object_id', query.objectId));
    if (query.tenant !== undefined) conditions.push(is('tenant', query.tenant));
    if (query.severities) conditions.push(oneOf(sql.ref('severity'), query.severities));
    if (query.statuses) conditions.push(oneOf(sql.ref('incident_status'), query.statuses));
    if (query.lifecycles) conditions.push(oneOf(lifecycleAt(now()), query.lifecycles));
    if (query.layers) conditions.push(isOneOf('layer_id', query.layers));
    if (query.from !== undefined) conditions.push(sql<SqlBool>`occurred_at >= ${query.from}`);
    if (query.to !== undefined) conditions.push(sql<SqlBool>`occurred_at <= ${query.to}`);
    if (query.before !== undefined) conditions.push(sql<SqlBool>`id < ${query.before}`);
    if (query.after !== undefined) conditions.push(sql<SqlBool>`id > ${query.after}`);
    const { rows } = await sql<AlertEventRow>`
      SELECT alert_events.*, ${lifecycleAt(now())} AS lifecycle FROM alert_events
      WHERE ${sql.join(conditions, sql` AND `)}
      ORDER BY id ${sql.raw(query.after === undefined ? 'DESC' : 'ASC')} LIMIT ${query.limit}
    `.execute(this.db);
    return rows;
  }

  async get(id: number): Promise<AlertEventRow | undefined> {
    const [row] = await this.list({ before: id + 1, after: undefined, limit: 1 });
    return row?.id === id ? row : undefined;
  }

  /** Events that changed after a change, in the order of their last changes. */
  async changedAfter(change: number, limit: number): Promise<AlertEventRow[]> {
    const { rows } = await sql<AlertEventRow>`
      SELECT alert_events.*, ${lifecycleAt(getVocabulary(this.db).now())} AS lifecycle FROM alert_events
      WHERE change_number > ${change} ORDER BY change_number LIMIT ${limit}
    `.execute(this.db);
    return rows;
  }

  changeBounds(): Promise<ChangeBounds> {
    return readChangeBounds(this.db);
  }

  /** Undefined if there is none. The same lifecycle again only replaces the note. */
  change(id: number, { lifecycle, by, note, until }: LifecycleChange): Promise<AlertEventRow | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const store = new AlertEventStore(trx);
      // The evaluator takes the locks in the same order.
      const revision = until === undefined ? undefined : await countChange(trx);
      const numbers = await ChangeNumbers.lock(trx);
      const row = await store.get(id);
      if (!row) return undefined;
      const isSame =
        row.lifecycle === lifecycle &&
        (until === undefined || row.suppressed_until === until) &&
        (note === undefined || row.note === note);
      if (isSame) return row;
      const { now } = getVocabulary(trx);
      const isOnlyNote = row.lifecycle === lifecycle && until === undefined;
      const set = isOnlyNote
        ? {}
        : lifecycle === 'acknowledged'
          ? { acknowledged_at: now(), acknowledged_by: by }
          : lifecycle === 'resolved'
            ? { resolved_at: now(), resolved_by: by }
            : { suppressed_until: until ?? null };
      await trx
        .updateTable('alert_events')
        .set({ lifecycle, ...set, ...(note === undefined ? {} : { note }), change_number: numbers.next() })
        .where('id', '=', id)
        .execute();
      await numbers.save();
      if (until !== undefined && revision !== undefined && row.rule_id !== null)
        await coolUntil(trx, { ruleId: row.rule_id, featureId: row.feature_id, until, revision });
      return store.get(id);
    });
  }

  /** Deliveries of a rule by lane. */
  async deliveries(ruleId: number): Promise<DeliveryHealth[]> {
    const { rows } = await sql<DeliveryHealth>`
      SELECT sink,
        sum(CASE WHEN state = 'pending' THEN 1 ELSE 0 END) AS pending,
        sum(CASE WHEN state = 'claimed' THEN 1 ELSE 0 END) AS processing,
        sum(CASE WHEN state = 'dispatched' THEN 1 ELSE 0 END) AS delivered,
        sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS failed,
        sum(CASE WHEN state = 'dead_lettered' THEN 1 ELSE 0 END) AS dead,
        max(attempted_at) AS ${sql.ref('attemptedAt')},
        max(CASE WHEN state = 'dispatched' THEN attempted_at END) AS ${sql.ref('deliveredAt')},
        (SELECT error FROM deliveries AS last WHERE last.rule_id = ${ruleId} AND last.sink = deliveries.sink
          AND last.error IS NOT NULL ORDER BY last.id DESC LIMIT 1) AS error
      FROM deliveries WHERE rule_id = ${ruleId} GROUP BY sink
    `.execute(this.db);
    return rows;
  }

  /** Features with an open incident of a rule, features that cool down, and when the next one has. */
  async counts(ruleId: number): Promise<{ active: number; cooling: number; coolsAt: number | null }> {
    const { now } = getVocabulary(this.db);
    const { rows } = await sql<{ active: number; cooling: number; coolsAt: number | null }>`
      SELECT (SELECT count(*) FROM alert_events WHERE rule_id = ${ruleId} AND incident_status <> 'ended') AS active,
        (SELECT count(*) FROM alert_states WHERE rule_id = ${ruleId} AND cools_until > ${now()}) AS cooling,
        (SELECT min(cools_until) FROM alert_states WHERE rule_id = ${ruleId} AND cools_until > ${now()})
          AS ${sql.ref('coolsAt')}
    `.execute(this.db);
    return rows[0]!;
  }

  /** Events of a rule in the last day. */
  async countRecent(ruleId: number): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      SELECT count(*) AS n FROM alert_events WHERE rule_id = ${ruleId} AND occurred_at >= ${Date.now() - 86_400_000}
    `.execute(this.db);
    return rows[0]!.n;
  }

  async evaluatedAt(): Promise<number | null> {
    return (await readRevision(this.db)).evaluatedAt;
  }
}

interface CoolingPeriod {
  readonly ruleId: number;
  readonly featureId: string;
  readonly until: number;
  readonly revision: number;
}

/**
 * Lets a rule send nothing about a feature until a time. The rule takes the revision, so that an evaluation that has read
 * the former state of the feature is refused.
 */
async function coolUntil(db: StateDb, { ruleId, featureId, until, revision }: CoolingPeriod): Promise<void> {
  await db.updateTable('alert_rules').set({ revision }).where('id', '=', ruleId).execute();
  await sql`
    INSERT INTO alert_states (rule_id, feature_id, is_inside, since, cools_until)
    SELECT ${ruleId}, ${featureId}, 0, ${until}, ${until} FROM alert_rules WHERE id = ${ruleId} AND is_active = 1
    ON CONFLICT (rule_id, feature_id) DO UPDATE SET cools_until = ${until}
  `.execute(db);
}

/** A suppression ends by the clock. */
const lifecycleAt = (now: Expression<number>) =>
  sql<string>`CASE WHEN lifecycle = 'suppressed' AND suppressed_until <= ${now} THEN 'open' ELSE lifecycle END`;
