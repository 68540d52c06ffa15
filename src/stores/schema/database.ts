import type { Kysely } from 'kysely';
import type { StateTables } from './schema.js';

export type StateDb = Kysely<StateTables>;

/** Runs work in the open transaction, or in a new one. */
export function runInTransaction<T>(db: StateDb, work: (trx: StateDb) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}
