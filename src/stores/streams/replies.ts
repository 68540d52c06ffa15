import { STREAM_LIMITS } from '../../core/streams/limits.js';
import { InstanceStore } from '../database/instances.js';
import type { StateDb } from '../schema/database.js';
import { acquireLock } from '../schema/vocabulary.js';

/** Identity of a request with an idempotency key. */
export interface KeyedRequest {
  /** Id of the principal, because keys are scoped to one client. */
  readonly principal: string;
  /** Hash of the key. */
  readonly keyHash: string;
  /** Method, path and query. */
  readonly target: string;
}

export interface StoredReply {
  /** Hash of the request's body. */
  readonly bodyHash: string;
  /** The sealed response. Null if it was too large to store. */
  readonly sealed: string | null;
}

/** Stored state of the first request with a key. */
export type FirstRequest =
  | { readonly state: 'new' | 'running' | 'lost'; readonly target: string }
  | ({ readonly state: 'answered'; readonly target: string } & StoredReply);

/** No process has this name. */
const NOBODY = '';
const DAY_MS = 86_400_000;

/** Responses to requests with an idempotency key, stored for a day. */
export class ReplyStore {
  /** Time of the last claim. No two claims have the same time. */
  #claimedAt = 0;

  constructor(readonly db: StateDb) {}

  /** Time of a new claim, in milliseconds since 1970. It is unique among the claims of this process. */
  nextClaim(): number {
    this.#claimedAt = Math.max(Date.now(), this.#claimedAt + 1);
    return this.#claimedAt;
  }

  /** Claims a key for a request of this instance (`new`), or returns the state of the request that had it first. */
  async begin(
    { principal, keyHash, target }: KeyedRequest,
    instance: string,
    claimedAt = this.nextClaim(),
  ): Promise<FirstRequest> {
    return this.db.transaction().execute(async (trx) => {
      await acquireLock(trx, 'replies', principal, keyHash);
      const first = await trx
        .selectFrom('replies')
        .selectAll()
        .where('principal', '=', principal)
        .where('key_hash', '=', keyHash)
        .where('created_at', '>', claimedAt - DAY_MS)
        .executeTakeFirst();
      if (first?.body_hash)
        return { state: 'answered', target: first.target, bodyHash: first.body_hash, sealed: first.sealed };
      if (first) {
        const isAlive = await new InstanceStore(trx).isAlive(first.instance);
        // The client may now send the request with another key, so from now on no instance may execute this one.
        if (!isAlive) await lose(trx, { principal, keyHash });
        return { state: isAlive ? 'running' : 'lost', target: first.target };
      }
      const request = { target, instance, created_at: claimedAt, body_hash: null, sealed: null };
      await trx
        .insertInto('replies')
        .values({ principal, key_hash: keyHash, ...request })
        .onConflict((c) => c.columns(['principal', 'key_hash']).doUpdateSet(request))
        .execute();
      return { state: 'new', target };
    });
  }

  async finish({ principal, keyHash }: KeyedRequest, { bodyHash, sealed }: StoredReply): Promise<void> {
    await this.db
      .updateTable('replies')
      .set({ body_hash: bodyHash, sealed })
      .where('principal', '=', principal)
      .where('key_hash', '=', keyHash)
      .execute();
  }

  /** Removes a claim of `begin` that may have been committed although it failed. No request used it. */
  withdraw({ principal, keyHash }: KeyedRequest, instance: string, claimedAt: number): Promise<void> {
    return this.db.transaction().execute(async (trx) => {
      // The claim may only now be committed.
      await acquireLock(trx, 'replies', principal, keyHash);
      await trx
        .deleteFrom('replies')
        .where('principal', '=', principal)
        .where('key_hash', '=', keyHash)
        .where('instance', '=', instance)
        .where('created_at', '=', claimedAt)
        .where('body_hash', 'is', null)
        .execute();
    });
  }

  /** Marks a request as lost: its outcome is unknown. */
  lose(request: KeyedRequest): Promise<void> {
    return lose(this.db, request);
  }

  /** Whether this instance may still execute a request: it was not reported as lost. */
  holds({ principal, keyHash }: KeyedRequest, instance: string): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      // With the lock, a concurrent report of the loss ends before this check.
      await acquireLock(trx, 'replies', principal, keyHash);
      const row = await trx
        .selectFrom('replies')
        .select('instance')
        .where('principal', '=', principal)
        .where('key_hash', '=', keyHash)
        .executeTakeFirst();
      return row?.instance === instance;
    });
  }

  /** Deletes a request that changed nothing, so that it can be sent again. */
  async release({ principal, keyHash }: KeyedRequest): Promise<void> {
    await this.db
      .deleteFrom('replies')
      .where('principal', '=', principal)
      .where('key_hash', '=', keyHash)
      .execute();
  }

  /** Removes what is older than a day, and the oldest beyond `STREAM_LIMITS.idempotencyKeys`. */
  async prune(): Promise<void> {
    const newest = this.db
      .selectFrom('replies')
      .select('created_at')
      .orderBy('created_at', 'desc')
      .limit(1)
      .offset(STREAM_LIMITS.idempotencyKeys);
    await this.db
      .deleteFrom('replies')
      .where((where) =>
        where.or([
          where('created_at', '<=', Date.now() - DAY_MS),
          where('created_at', '<=', newest as never),
        ]),
      )
      .execute();
  }
}

async function lose(
  db: StateDb,
  { principal, keyHash }: Pick<KeyedRequest, 'principal' | 'keyHash'>,
): Promise<void> {
  await db
    .updateTable('replies')
    .set({ instance: NOBODY })
    .where('principal', '=', principal)
    .where('key_hash', '=', keyHash)
    .execute();
}
