import type { Selectable } from 'kysely';
import { announce } from '../database/announcements.js';
import type { StateDb } from '../schema/database.js';
import type { SessionTable } from '../schema/schema.js';

/** A session of a user. It contains only the hash of the secret in the cookie. */
export interface StoredSession {
  readonly hash: string;
  readonly userId: string;
  readonly providerKey: string | null;
  readonly claims: Readonly<Record<string, readonly string[]>>;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly expiresAt: number;
  /** `User-Agent` of the browser that signed in. */
  readonly userAgent: string | null;
}

export class SessionStore {
  constructor(private readonly db: StateDb) {}

  async add({ claims, ...session }: StoredSession): Promise<void> {
    await this.db
      .insertInto('sessions')
      .values({
        hash: session.hash,
        user_id: session.userId,
        provider_key: session.providerKey,
        claims_json: JSON.stringify(claims),
        created_at: session.createdAt,
        used_at: session.usedAt,
        expires_at: session.expiresAt,
        user_agent: session.userAgent,
      })
      .execute();
  }

  async get(hash: string): Promise<StoredSession | undefined> {
    const row = await this.db.selectFrom('sessions').selectAll().where('hash', '=', hash).executeTakeFirst();
    return row && stored(row);
  }

  /** Sessions of a user, the last used first. */
  async list(userId: string): Promise<StoredSession[]> {
    const rows = await this.db
      .selectFrom('sessions')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('used_at', 'desc')
      .orderBy('hash')
      .execute();
    return rows.map(stored);
  }

  async touch(uses: ReadonlyMap<string, number>): Promise<void> {
    for (const [hash, at] of uses)
      await this.db.updateTable('sessions').set({ used_at: at }).where('hash', '=', hash).execute();
  }

  /** Every process forgets it. False when there was none. */
  remove(hash: string): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      const { numDeletedRows } = await trx.deleteFrom('sessions').where('hash', '=', hash).executeTakeFirst();
      if (numDeletedRows > 0n) await announce(trx, 'access', { kind: 'session', id: hash });
      return numDeletedRows > 0n;
    });
  }

  /** All sessions of a user end, but the one given. */
  async removeOf(userId: string, except = ''): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      await trx.deleteFrom('sessions').where('user_id', '=', userId).where('hash', '<>', except).execute();
      await announce(trx, 'access', { kind: 'session', id: userId });
    });
  }

  /** Removes sessions that are unused or too old. */
  async sweep(now: number, usedSince: number): Promise<void> {
    await this.db
      .deleteFrom('sessions')
      .where((w) => w.or([w('expires_at', '<=', now), w('used_at', '<', usedSince)]))
      .execute();
  }
}

function stored(row: Selectable<SessionTable>): StoredSession {
  return {
    hash: row.hash,
    userId: row.user_id,
    providerKey: row.provider_key,
    claims: JSON.parse(row.claims_json) as Record<string, string[]>,
    createdAt: row.created_at,
    usedAt: row.used_at,
    expiresAt: row.expires_at,
    userAgent: row.user_agent,
  };
}
