import type { Selectable } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import { announce } from '../database/announcements.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { LicenceTable } from '../schema/licence-tables.js';
import { acquireLock, getVocabulary } from '../schema/vocabulary.js';

export type LicenceRow = Selectable<LicenceTable>;

/** Uploaded licences, and the highest time that the state has seen. */
export class LicenceStore {
  constructor(private readonly db: StateDb) {}

  /** Puts a licence in force, and announces it to all processes. A licence that is in force already is not added again. */
  add(content: string, by: string, licenceId: string): Promise<void> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'licence');
      auditResource(licenceId);
      const newest = await new LicenceStore(trx).newest();
      if (newest?.content === content) return;
      await trx
        .insertInto('licences')
        .values({ content, uploaded_at: getVocabulary(trx).now(), uploaded_by: by })
        .execute();
      await announce(trx, 'licence', licenceId);
    });
  }

  newest(): Promise<LicenceRow | undefined> {
    return this.db.selectFrom('licences').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirst();
  }

  /** Raises the highest time to the clock of the state, if that is later. Returns the highest time. */
  advanceTime(): Promise<number> {
    return runInTransaction(this.db, async (trx) => {
      const now = getVocabulary(trx).now();
      await trx
        .insertInto('licence_marks')
        .values({ name: HIGHEST_TIME, value: now })
        .onConflict((c) =>
          c
            .column('name')
            .doUpdateSet((e) => ({ value: e.ref('excluded.value') }))
            .whereRef('excluded.value', '>', 'licence_marks.value'),
        )
        .execute();
      const { value } = await trx
        .selectFrom('licence_marks')
        .select('value')
        .where('name', '=', HIGHEST_TIME)
        .executeTakeFirstOrThrow();
      return value;
    });
  }
}

const HIGHEST_TIME = 'highest-time';
