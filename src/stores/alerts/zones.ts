import type { Selectable } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import type { AlertZoneTable } from '../schema/alert-tables.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import { countChange } from './revisions.js';

export type AlertZoneRow = Selectable<AlertZoneTable>;
export type NewAlertZone = Omit<AlertZoneRow, 'id' | 'created_at' | 'updated_at' | 'revision'>;

/** Tenant whose zones, rules or events are meant. Undefined: those of all. */
export interface AlertOwner {
  readonly tenant: string | undefined;
}

/** Areas that rules of alerts watch. */
export class AlertZoneStore {
  constructor(private readonly db: StateDb) {}

  /** In the order of their ids, without their areas. */
  list({ tenant, service }: AlertOwner & { service?: string | undefined }): Promise<AlertZoneRow[]> {
    let query = this.db.selectFrom('alert_zones').selectAll();
    if (tenant !== undefined) query = query.where('tenant', '=', tenant);
    if (service !== undefined) query = query.where('service', '=', service);
    return query.orderBy('id').execute();
  }

  get(id: number, { tenant }: AlertOwner): Promise<AlertZoneRow | undefined> {
    let query = this.db.selectFrom('alert_zones').selectAll().where('id', '=', id);
    if (tenant !== undefined) query = query.where('tenant', '=', tenant);
    return query.executeTakeFirst();
  }

  /** Undefined if there are already `most`. */
  add(zone: NewAlertZone, most: number): Promise<AlertZoneRow | undefined> {
    return runInTransaction(this.db, async (trx) => {
      const { n } = await trx
        .selectFrom('alert_zones')
        .select((e) => e.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      if (n >= most) return undefined;
      const now = Date.now();
      const row = await trx
        .insertInto('alert_zones')
        .values({ ...zone, created_at: now, updated_at: now, revision: await countChange(trx) })
        .returningAll()
        .executeTakeFirstOrThrow();
      auditResource(row.id, { zoneName: row.name });
      return row;
    });
  }

  /** Undefined if there is none. If its area changes, the states of its rules are compared again. */
  change(id: number, to: NewAlertZone): Promise<AlertZoneRow | undefined> {
    return runInTransaction(this.db, async (trx) => {
      const before = await trx.selectFrom('alert_zones').selectAll().where('id', '=', id).executeTakeFirst();
      if (!before) return undefined;
      const revision = await countChange(trx);
      const row = await trx
        .updateTable('alert_zones')
        .set({ ...to, updated_at: Date.now(), revision })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      const isMoved = before.area_json !== row.area_json || before.is_active !== row.is_active;
      const scan = isMoved ? { scan: 'zone-changed', scan_since: Date.now() } : {};
      await trx
        .updateTable('alert_rules')
        .set({ ...scan, revision })
        .where('zone_id', '=', id)
        .execute();
      return row;
    });
  }

  /** Names of the rules that use the zone, which is then kept. Empty if it was deleted; undefined if there is none. */
  remove(id: number): Promise<string[] | undefined> {
    return runInTransaction(this.db, async (trx) => {
      const rules = await trx.selectFrom('alert_rules').select('name').where('zone_id', '=', id).execute();
      if (rules.length > 0) return rules.map(({ name }) => name);
      const { numDeletedRows } = await trx.deleteFrom('alert_zones').where('id', '=', id).executeTakeFirst();
      if (numDeletedRows === 0n) return undefined;
      await countChange(trx);
      return [];
    });
  }
}
