import type { Selectable } from 'kysely';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { FindingNoteTable } from '../schema/finding-tables.js';
import { getVocabulary } from '../schema/vocabulary.js';

export interface FoundFinding {
  readonly id: string;
  readonly rule: string;
}

export type FindingNoteRow = Selectable<FindingNoteTable>;

/** Days that notes are kept, and the maximum number of notes of a finding. */
const NOTE_MS = 90 * 86_400_000;
const MAX_NOTES = 50;

/** When findings were first found, and the notes about them. */
export class FindingStore {
  constructor(private readonly db: StateDb) {}

  /**
   * Keeps the times of the findings that exist now, and returns them by id, in milliseconds since 1970. Forgets other
   * findings of the rules that were evaluated completely. Writes only if something changed.
   */
  async note(found: readonly FoundFinding[], completeRules: readonly string[]): Promise<Map<string, number>> {
    const known = await this.#read();
    const isFound = new Set(found.map(({ id }) => id));
    const added = found.filter(({ id }) => !known.has(id));
    const ended = [...known.values()].filter(
      ({ id, rule }) => !isFound.has(id) && completeRules.includes(rule),
    );
    const times = new Map([...known].map(([id, { detected_at }]) => [id, detected_at]));
    if (added.length === 0 && ended.length === 0) return times;
    await runInTransaction(this.db, async (trx) => {
      for (const { id, rule } of added)
        await trx
          .insertInto('ops_findings')
          .values({ id, rule, detected_at: getVocabulary(trx).now() })
          .onConflict((c) => c.doNothing())
          .execute();
      for (const { id } of ended) await trx.deleteFrom('ops_findings').where('id', '=', id).execute();
    });
    const rows = await this.#read();
    return new Map([...rows].map(([id, { detected_at }]) => [id, detected_at]));
  }

  async #read() {
    const rows = await this.db.selectFrom('ops_findings').selectAll().execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** The notes of a finding, oldest first. They outlast it. */
  notes(findingId: string): Promise<FindingNoteRow[]> {
    return this.db
      .selectFrom('finding_notes')
      .selectAll()
      .where('finding_id', '=', findingId)
      .orderBy('id')
      .execute();
  }

  /** Adds a note, and removes old notes of all findings. Returns false if the finding has the maximum number of notes. */
  addNote(note: Pick<FindingNoteRow, 'finding_id' | 'author' | 'agent' | 'text'>): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      const { now } = getVocabulary(trx);
      await trx
        .deleteFrom('finding_notes')
        .where((e) => e(e(now(), '-', e.ref('at')), '>', NOTE_MS))
        .execute();
      const { n } = await trx
        .selectFrom('finding_notes')
        .select((e) => e.fn.countAll<number>().as('n'))
        .where('finding_id', '=', note.finding_id)
        .executeTakeFirstOrThrow();
      if (Number(n) >= MAX_NOTES) return false;
      await trx
        .insertInto('finding_notes')
        .values({ ...note, at: now() })
        .execute();
      return true;
    });
  }
}
