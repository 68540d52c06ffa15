import { sql } from 'kysely';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';
import { hasEnded } from './instance.js';

/**
 * Turns on resources, shared by all processes of a state: one holder at a time has the turn on a resource. Holders
 * are names of `instanceName`, which show for a process of this machine whether it has ended.
 */
export class TurnStore {
  constructor(private readonly db: StateDb) {}

  /**
   * Takes the turn on a resource for this number of milliseconds. Returns false while another holder that may still
   * run has it.
   */
  async take(resource: string, holder: string, leaseMs: number): Promise<boolean> {
    const now = getVocabulary(this.db).now();
    const turn = { holder, ends_at: sql<number>`${now} + ${leaseMs}` };
    const row = await this.db
      .insertInto('turns')
      .values({ resource, ...turn })
      .onConflict((c) => c.column('resource').doUpdateSet(turn).where('turns.ends_at', '<', now))
      .returning('holder')
      .executeTakeFirst();
    return row !== undefined || (await this.#endLost(resource, holder, leaseMs));
  }

  /** Takes the turn of a holder that was killed. */
  async #endLost(resource: string, holder: string, leaseMs: number): Promise<boolean> {
    const before = await this.db
      .selectFrom('turns')
      .select('holder')
      .where('resource', '=', resource)
      .executeTakeFirst();
    if (!before || !hasEnded(before.holder)) return false;
    await this.release(resource, before.holder);
    return this.take(resource, holder, leaseMs);
  }

  /**
   * Prolongs the turn of a holder to this number of milliseconds from now. Returns false if another holder has it.
   */
  async prolong(resource: string, holder: string, leaseMs: number): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('turns')
      .set({ ends_at: sql<number>`${getVocabulary(this.db).now()} + ${leaseMs}` })
      .where('resource', '=', resource)
      .where('holder', '=', holder)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Gives the turn back, unless it ended and another holder has it. */
  async release(resource: string, holder: string): Promise<void> {
    await this.db.deleteFrom('turns').where('resource', '=', resource).where('holder', '=', holder).execute();
  }
}
