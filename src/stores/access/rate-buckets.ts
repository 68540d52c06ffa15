import { sql } from 'kysely';
import type { StateDb } from '../schema/database.js';
import { acquireLock, getVocabulary } from '../schema/vocabulary.js';

/** Size of a bucket. An empty bucket fills to `capacity` tokens in `windowMs` milliseconds. */
export interface BucketSize {
  readonly capacity: number;
  readonly windowMs: number;
}

/** Tokens that were taken from a bucket, and its remaining tokens. */
export interface TakenTokens {
  readonly taken: number;
  readonly left: number;
}

/** Missing tokens at the last change of the bucket, and the milliseconds since then. */
interface Spent {
  readonly spent: number;
  readonly age: number;
}

/**
 * Tokens that are missing from a bucket now. If the limit was raised, correspondingly more remain. If it was lowered,
 * the bucket is at most empty.
 */
function spentNow({ spent, age }: Spent, { capacity, windowMs }: BucketSize): number {
  const filled = (Math.max(0, Number(age)) / windowMs) * capacity;
  return Math.min(capacity, Math.max(0, spent - filled));
}

/** Buckets of tokens that all processes of a state take from: what is left of rate limits. */
export class RateBucketStore {
  constructor(private readonly db: StateDb) {}

  /** Takes tokens, at most the remaining ones. A missing bucket is full. */
  take(key: string, wanted: number, size: BucketSize): Promise<TakenTokens> {
    return this.db.transaction().execute(async (trx) => {
      const { now } = getVocabulary(trx);
      await acquireLock(trx, 'rate bucket', key);
      const row = await new RateBucketStore(trx).#row(key);
      const before = row ? spentNow(row, size) : 0;
      const taken = Math.min(wanted, Math.floor(size.capacity - before));
      const spent = before + taken;
      const left = size.capacity - spent;
      await trx
        .insertInto('rate_buckets')
        .values({ key, tokens: left, spent, filled_at: now() })
        .onConflict((c) => c.column('key').doUpdateSet({ tokens: left, spent, filled_at: now() }))
        .execute();
      return { taken, left };
    });
  }

  /** Gives a token back. */
  async putBack(key: string): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      // `take` writes values that it read before, so it needs the same lock.
      await acquireLock(trx, 'rate bucket', key);
      await trx
        .updateTable('rate_buckets')
        .set({ spent: sql<number>`CASE WHEN spent > 1 THEN spent - 1 ELSE 0 END` })
        .where('key', '=', key)
        .execute();
    });
  }

  /** Remaining tokens, without taking any. Undefined for an unused bucket. */
  async left(key: string, size: BucketSize): Promise<number | undefined> {
    const row = await this.#row(key);
    return row && size.capacity - spentNow(row, size);
  }

  /** Tokens that are left in the emptiest of the buckets whose keys have this prefix; undefined without such buckets. */
  async leastLeft(prefix: string, size: BucketSize): Promise<number | undefined> {
    const { now } = getVocabulary(this.db);
    const rows = await this.db
      .selectFrom('rate_buckets')
      .select(['spent', sql<number>`${now()} - filled_at`.as('age')])
      .where(sql<string>`substr(key, 1, ${prefix.length})`, '=', prefix)
      .execute();
    return rows.length === 0
      ? undefined
      : size.capacity - Math.max(...rows.map((row) => spentNow(row, size)));
  }

  #row(key: string): Promise<Spent | undefined> {
    const { now } = getVocabulary(this.db);
    return this.db
      .selectFrom('rate_buckets')
      .select(['spent', sql<number>`${now()} - filled_at`.as('age')])
      .where('key', '=', key)
      .executeTakeFirst();
  }

  /** Removes buckets that have not been used for so long that they are full again. */
  async sweep(ageMs: number): Promise<void> {
    const { now } = getVocabulary(this.db);
    await this.db
      .deleteFrom('rate_buckets')
      .where('filled_at', '<', sql<number>`${now()} - ${ageMs}`)
      .execute();
  }
}
