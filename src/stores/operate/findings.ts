import { runInTransaction, type StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';

export interface FoundFinding {
  readonly id: string;
  readonly rule: string;
}

/** When findings were first found. */
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
}
