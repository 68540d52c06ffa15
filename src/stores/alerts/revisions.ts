import { sql } from 'kysely';
import { signalAll } from '../database/signals.js';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';

const RULES = 'rules';

/**
 * Counts a change of zones or rules, in its transaction. Changed rows take the returned number, so that an evaluation
 * that was computed with earlier ones is refused.
 */
export async function countChange(db: StateDb): Promise<number> {
  const { revision } = await db
    .insertInto('alert_revisions')
    .values({ name: RULES, revision: 1, evaluated_at: null })
    .onConflict((c) => c.column('name').doUpdateSet({ revision: sql`alert_revisions.revision + 1` }))
    .returning('revision')
    .executeTakeFirstOrThrow();
  await signalAll(db, 'alerts');
  return revision;
}

/** Number of changes of zones and rules. No other transaction changes them before this one ends. */
export async function lockRevision(db: StateDb): Promise<number> {
  const row = db.selectFrom('alert_revisions').select('revision').where('name', '=', RULES);
  return (await getVocabulary(db).forUpdate(row).executeTakeFirst())?.revision ?? 0;
}

export async function readRevision(db: StateDb): Promise<{ revision: number; evaluatedAt: number | null }> {
  const row = await db.selectFrom('alert_revisions').selectAll().where('name', '=', RULES).executeTakeFirst();
  return { revision: row?.revision ?? 0, evaluatedAt: row?.evaluated_at ?? null };
}

/** Notes that the feed was read to its end. */
export async function noteEvaluation(db: StateDb): Promise<void> {
  await db
    .updateTable('alert_revisions')
    .set({ evaluated_at: getVocabulary(db).now() })
    .where('name', '=', RULES)
    .execute();
}
