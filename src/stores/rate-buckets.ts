import { sql } from 'kysely';
import type { StateDb } from './database.js';
import { lock, vocabularyOf } from './vocabulary.js';

/** How a bucket fills: to `capacity` tokens, in so many milliseconds when it is empty. */
export interface BucketSize {
  readonly capacity: number;
  readonly windowMs: number;
}

/** Tokens that were taken from a bucket, and those that are left in it. */
export interface TakenTokens {
  readonly taken: number;
  readonly left: number;
}

/** Buckets of tokens that all processes of a state take from: what is left of rate limits. */
export class RateBucketStore {
  constructor(private readonly db: StateDb) {}

  /** Takes tokens, as many as there are; a bucket that is not there is full. */
  take(key: string, wanted: number, { capacity, windowMs }: BucketSize): Promise<TakenTokens> {
    return this.db.transaction().execute(async (trx) => {
      const { now } = vocabularyOf(trx);
      await lock(trx, 'rate bucket', key);
      const row = await trx
        .selectFrom('rate_buckets')
        .select(['tokens', sql<number>`${now()} - filled_at`.as('age')])
        .where('key', '=', key)
        .executeTakeFirst();
      const filled = row ? row.tokens + (Math.max(0, Number(row.age)) / windowMs) * capacity : capacity;
      const tokens = Math.min(capacity, filled);
      const taken = Math.min(wanted, Math.floor(tokens));
      const left = tokens - taken;
      await trx
        .insertInto('rate_buckets')
        .values({ key, tokens: left, filled_at: now() })
        .onConflict((c) => c.column('key').doUpdateSet({ tokens: left, filled_at: now() }))
        .execute();
      return { taken, left };
    });
  }

  /** Gives a token back. */
  async putBack(key: string, { capacity }: BucketSize): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      // Who takes writes what it has read before.
      await lock(trx, 'rate bucket', key);
      await trx
        .updateTable('rate_buckets')
        .set({ tokens: sql<number>`CASE WHEN tokens + 1 > ${capacity} THEN ${capacity} ELSE tokens + 1 END` })
        .where('key', '=', key)
        .execute();
    });
  }

  /** Tokens that are left, without taking any; undefined for a bucket that nobody took from. */
  async left(key: string, { capacity, windowMs }: BucketSize): Promise<number | undefined> {
    const { now } = vocabularyOf(this.db);
    const row = await this.db
      .selectFrom('rate_buckets')
      .select(['tokens', sql<number>`${now()} - filled_at`.as('age')])
      .where('key', '=', key)
      .executeTakeFirst();
    return row && Math.min(capacity, row.tokens + (Math.max(0, Number(row.age)) / windowMs) * capacity);
  }

  /** Forgets buckets that nobody took from for so long that they are full again. */
  async sweep(ageMs: number): Promise<void> {
    const { now } = vocabularyOf(this.db);
    await this.db
      .deleteFrom('rate_buckets')
      .where('filled_at', '<', sql<number>`${now()} - ${ageMs}`)
      .execute();
  }
}
