import { sql } from 'kysely';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** Turns at resources, which all processes of a state share: one holder has the turn at a resource at a time. */
export class TurnStore {
  constructor(private readonly db: StateDb) {}

  /** Takes the turn at a resource for so many milliseconds; false while another holder has it. */
  async take(resource: string, holder: string, leaseMs: number): Promise<boolean> {
    const now = getVocabulary(this.db).now();
    const turn = { holder, ends_at: sql<number>`${now} + ${leaseMs}` };
    const row = await this.db
      .insertInto('turns')
      .values({ resource, ...turn })
      .onConflict((c) => c.column('resource').doUpdateSet(turn).where('turns.ends_at', '<', now))
      .returning('holder')
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Gives the turn back, unless it ended and another holder has it. */
  async release(resource: string, holder: string): Promise<void> {
    await this.db.deleteFrom('turns').where('resource', '=', resource).where('holder', '=', holder).execute();
  }
}
