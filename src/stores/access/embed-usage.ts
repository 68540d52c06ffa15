import { sql } from 'kysely';
import { EMBED_GROUPS, type EmbedGroup, type EmbedUse } from '../../core/access/embed-keys.js';
import type { StateDb } from '../schema/database.js';

/** Columns by the members that usage is counted by. */
const COLUMNS = {
  integration: 'integration_id',
  tenant: 'tenant_id',
  origin: 'origin',
  service: 'service',
  layer: 'layer',
  eventType: 'event_type',
} as const satisfies Record<EmbedGroup, string>;

/** Uses of embed keys, which all processes add to. */
export class EmbedUsageStore {
  constructor(private readonly db: StateDb) {}

  async add(uses: readonly { readonly use: EmbedUse; readonly count: number }[]): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      for (const { use, count } of uses)
        await trx
          .insertInto('embed_usage')
          .values({
            integration_id: use.integration,
            tenant_id: use.tenant,
            origin: use.origin,
            service: use.service,
            layer: use.layer,
            event_type: use.eventType,
            uses: count,
          })
          .onConflict((c) =>
            c.columns(Object.values(COLUMNS)).doUpdateSet({ uses: sql<number>`embed_usage.uses + ${count}` }),
          )
          .execute();
    });
  }

  /** Sums by one member, of the uses with these values of other members. */
  async sums(by: EmbedGroup, where: Partial<EmbedUse>): Promise<{ key: string; count: number }[]> {
    let query = this.db
      .selectFrom('embed_usage')
      .select([`${COLUMNS[by]} as key`, ({ fn }) => fn.sum<number>('uses').as('count')])
      .groupBy(COLUMNS[by])
      .orderBy('count', 'desc')
      .orderBy(COLUMNS[by]);
    for (const group of EMBED_GROUPS) {
      const value = where[group];
      if (value !== undefined) query = query.where(COLUMNS[group], '=', value);
    }
    return (await query.execute()).map(({ key, count }) => ({ key, count: Number(count) }));
  }
}
