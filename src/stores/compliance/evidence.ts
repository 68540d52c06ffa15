import type { Selectable } from 'kysely';
import type { ComplianceEvidenceTable } from '../schema/compliance-tables.js';
import { runInTransaction, type StateDb } from '../schema/database.js';

export type ComplianceEvidenceRow = Selectable<ComplianceEvidenceTable>;

/** Evidence about controls by day. A stored row does not change. */
export class ComplianceEvidenceStore {
  constructor(private readonly db: StateDb) {}

  /** Stores rows of one moment. Rows of controls that have evidence of the day already are ignored. */
  async add(rows: readonly ComplianceEvidenceRow[]): Promise<void> {
    await runInTransaction(this.db, async (trx) => {
      for (const row of rows)
        await trx
          .insertInto('compliance_evidence')
          .values(row)
          .onConflict((c) => c.doNothing())
          .execute();
    });
  }

  async has(day: string): Promise<boolean> {
    const row = await this.db
      .selectFrom('compliance_evidence')
      .select('day')
      .where('day', '=', day)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Rows of the days from `from` to `to`, both included. */
  list(from: string, to: string): Promise<ComplianceEvidenceRow[]> {
    return this.db
      .selectFrom('compliance_evidence')
      .selectAll()
      .where('day', '>=', from)
      .where('day', '<=', to)
      .orderBy('day')
      .orderBy('control_id')
      .execute();
  }

  async prune(before: string): Promise<void> {
    await this.db.deleteFrom('compliance_evidence').where('day', '<', before).execute();
  }
}
