import { type Selectable, sql } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import type { AlertRuleTable } from '../schema/alert-tables.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';
import { ChangeNumbers } from './change-numbers.js';
import { countChange } from './revisions.js';
import type { AlertOwner } from './zones.js';

export type AlertRuleRow = Selectable<AlertRuleTable>;
export type NewAlertRule = Omit<
  AlertRuleRow,
  'id' | 'scan' | 'scan_since' | 'view' | 'problem' | 'created_at' | 'updated_at' | 'revision'
>;

/** Members whose change gives the states another meaning. */
const MEANING = ['layer_id', 'collection', 'zone_id', 'trigger_type', 'conditions_json'] as const;

/** Rules of alerts. */
export class AlertRuleStore {
  constructor(private readonly db: StateDb) {}

  /** In the order of their ids. */
  list({
    tenant,
    service,
    layerId,
  }: AlertOwner & { service?: string | undefined; layerId?: number | undefined }): Promise<AlertRuleRow[]> {
    let query = this.db.selectFrom('alert_rules').selectAll();
    if (tenant !== undefined) query = query.where('tenant', '=', tenant);
    if (service !== undefined) query = query.where('service', '=', service);
    if (layerId !== undefined) query = query.where('layer_id', '=', layerId);
    return query.orderBy('id').execute();
  }

  get(id: number, { tenant }: AlertOwner): Promise<AlertRuleRow | undefined> {
    let query = this.db.selectFrom('alert_rules').selectAll().where('id', '=', id);
    if (tenant !== undefined) query = query.where('tenant', '=', tenant);
    return query.executeTakeFirst();
  }

  /** Undefined if there are already `most`. Features that are inside already trigger nothing. */
  add(rule: NewAlertRule, most: number): Promise<AlertRuleRow | undefined> {
    return runInTransaction(this.db, async (trx) => {
      const { n } = await trx
        .selectFrom('alert_rules')
        .select((e) => e.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      if (n >= most) return undefined;
      const now = Date.now();
      const times = { scan_since: now, created_at: now, updated_at: now };
      const row = await trx
        .insertInto('alert_rules')
        .values({ ...rule, scan: 'created', ...times, revision: await countChange(trx) })
        .returningAll()
        .executeTakeFirstOrThrow();
      auditResource(row.id, { ruleName: row.name });
      return row;
    });
  }

  /** Undefined if there is none. Open incidents end if the change gives them another meaning. */
  change(id: number, to: Partial<NewAlertRule>): Promise<AlertRuleRow | undefined> {
    return runInTransaction(this.db, async (trx) => {
      const before = await trx.selectFrom('alert_rules').selectAll().where('id', '=', id).executeTakeFirst();
      if (!before) return undefined;
      // The revision is locked before rows of the evaluator, as the evaluator does.
      const revision = await countChange(trx);
      const changed = { ...before, ...to };
      const isOther = MEANING.some((member) => before[member] !== changed[member]);
      const isStopped = before.is_active === 1 && changed.is_active === 0;
      const isStarted = before.is_active === 0 && changed.is_active === 1;
      if (isOther || isStopped) await endIncidents(trx, id, isStopped ? 'rule-disabled' : 'rule-changed');
      const scan =
        isOther || isStarted ? ({ scan: 'created', scan_since: Date.now(), problem: null } as const) : {};
      const row = await trx
        .updateTable('alert_rules')
        .set({ ...to, ...scan, updated_at: Date.now(), revision })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return row;
    });
  }

  /** False if there is none. Its events stay. */
  remove(id: number): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      const rule = await trx.selectFrom('alert_rules').select('id').where('id', '=', id).executeTakeFirst();
      if (!rule) return false;
      await countChange(trx);
      await trx.deleteFrom('alert_rules').where('id', '=', id).execute();
      await endIncidents(trx, id, 'rule-deleted');
      return true;
    });
  }
}

/**
 * Ends the open incidents of a rule, and forgets the states of its features. `numbers`: those of the transaction, if it has
 * them already.
 */
export async function endIncidents(
  db: StateDb,
  ruleId: number,
  by: string,
  numbers?: ChangeNumbers,
): Promise<void> {
  const own = numbers ?? (await ChangeNumbers.lock(db));
  const open = await db
    .selectFrom('alert_events')
    .select('id')
    .where('rule_id', '=', ruleId)
    .where('incident_status', '!=', 'ended')
    .execute();
  if (open.length > 0) {
    const offset = own.reserve(open.map(({ id }) => id));
    await db
      .updateTable('alert_events')
      .set({
        incident_status: 'ended',
        ended_at: sql<number>`${getVocabulary(db).now()}`,
        ended_by: by,
        change_number: sql<number>`id + ${offset}`,
      })
      .where('rule_id', '=', ruleId)
      .where('incident_status', '!=', 'ended')
      .execute();
  }
  if (!numbers) await own.save();
  await db.deleteFrom('alert_states').where('rule_id', '=', ruleId).execute();
}
