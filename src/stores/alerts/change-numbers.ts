import { sql } from 'kysely';
import { signalAll } from '../database/signals.js';
import type { StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';

const EVENTS = 'events';
const TRIMMED = 'trimmed';

/** Numbers of the first and last changes of alert events after which a reader can continue. */
export interface ChangeBounds {
  /** Changes up to this one can be missing, because their events were deleted. */
  readonly trimmed: number;
  readonly newest: number;
}

/**
 * Numbers for the changes of alert events in one transaction. Other transactions wait for its end, so readers see changes
 * in the order of their numbers. Take it before the first change of an event: the order of locks is then always the same.
 */
export class ChangeNumbers {
  #newest: number;
  readonly #before: number;

  private constructor(
    private readonly db: StateDb,
    newest: number,
  ) {
    this.#newest = newest;
    this.#before = newest;
  }

  static async lock(db: StateDb): Promise<ChangeNumbers> {
    const find = () => {
      const row = db.selectFrom('alert_revisions').select('revision').where('name', '=', EVENTS);
      return getVocabulary(db).forUpdate(row).executeTakeFirst();
    };
    let row = await find();
    if (!row) {
      await db
        .insertInto('alert_revisions')
        .values({ name: EVENTS, revision: 0, evaluated_at: null })
        .onConflict((c) => c.doNothing())
        .execute();
      row = await find();
    }
    return new ChangeNumbers(db, row!.revision);
  }

  next(): number {
    this.#newest += 1;
    return this.#newest;
  }

  /** Returns the number that each of some events gets if it is added to the id of the event. */
  reserve(ids: readonly number[]): number {
    let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const id of ids) [least, greatest] = [Math.min(least, id), Math.max(greatest, id)];
    const offset = this.#newest + 1 - least;
    this.#newest = offset + greatest;
    return offset;
  }

  /** Writes the last number, and wakes the readers of changes. */
  async save(): Promise<void> {
    if (this.#newest === this.#before) return;
    await this.db
      .updateTable('alert_revisions')
      .set({ revision: this.#newest })
      .where('name', '=', EVENTS)
      .execute();
    await signalAll(this.db, 'alert-events');
  }
}

export async function readChangeBounds(db: StateDb): Promise<ChangeBounds> {
  const rows = await db
    .selectFrom('alert_revisions')
    .select(['name', 'revision'])
    .where('name', 'in', [EVENTS, TRIMMED])
    .execute();
  const find = (name: string) => rows.find((row) => row.name === name)?.revision ?? 0;
  return { trimmed: find(TRIMMED), newest: find(EVENTS) };
}

/** Deletes the oldest events beyond a number, and ended ones beyond an age. */
export function trimEvents(db: StateDb, most: number, ageMs: number): Promise<void> {
  return db.transaction().execute(async (trx) => {
    // Waits for changes of events, so that none gets a number during the deletion.
    await ChangeNumbers.lock(trx);
    const old = sql`id <= (SELECT max(id) FROM alert_events) - ${most}
      OR (occurred_at < ${Date.now() - ageMs} AND incident_status = 'ended')`;
    const { rows } = await sql<{ last: number | null }>`
      SELECT max(change_number) AS last FROM alert_events WHERE ${old}
    `.execute(trx);
    const last = rows[0]?.last ?? null;
    if (last === null) return;
    await sql`DELETE FROM alert_events WHERE ${old}`.execute(trx);
    await trx
      .insertInto('alert_revisions')
      .values({ name: TRIMMED, revision: last, evaluated_at: null })
      .onConflict((c) =>
        c.column('name').doUpdateSet({ revision: last }).where('alert_revisions.revision', '<', last),
      )
      .execute();
  });
}
