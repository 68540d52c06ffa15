import type { Selectable } from 'kysely';
import type { StateDb } from '../schema/database.js';
import type { AuditCheckpointTable } from '../schema/diagnostic-tables.js';

export type AuditCheckpointRow = Selectable<AuditCheckpointTable>;

/** The last row of the audit trail, and the newest checkpoint; undefined if there is none. */
export interface AuditEnds {
  readonly last: { readonly id: number; readonly hash: string } | undefined;
  readonly newest: AuditCheckpointRow | undefined;
}

/** Signed checkpoints of the audit trail. They are only added. */
export class AuditCheckpointStore {
  constructor(private readonly db: StateDb) {}

  /** Returns false if another process added one for the same rows. */
  async add(row: AuditCheckpointRow): Promise<boolean> {
    const { numInsertedOrUpdatedRows = 0n } = await this.db
      .insertInto('audit_checkpoints')
      .values(row)
      .onConflict((c) => c.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows > 0n;
  }

  /** Oldest first. */
  list(): Promise<AuditCheckpointRow[]> {
    return this.db.selectFrom('audit_checkpoints').selectAll().orderBy('row_count').execute();
  }

  async newest(): Promise<AuditCheckpointRow | undefined> {
    return this.db
      .selectFrom('audit_checkpoints')
      .selectAll()
      .orderBy('row_count', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  async ends(): Promise<AuditEnds> {
    const last = await this.db
      .selectFrom('audit')
      .select(['id', 'hash'])
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return { last, newest: await this.newest() };
  }
}
