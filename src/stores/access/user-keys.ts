import type { Selectable } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import { announce } from '../database/announcements.js';
import type { StateDb } from '../schema/database.js';
import type { UserKeyTable } from '../schema/schema.js';
import type { LostSecret } from './api-keys.js';

/** A key of a user. It contains only the hash of the key. */
export interface StoredUserKey {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly prefix: string;
  /** SHA-256 of the key, hex. */
  readonly hash: string;
  /** Milliseconds since 1970, as the other times. */
  readonly createdAt: number;
  /** Null: never. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

export class UserKeyStore {
  constructor(private readonly db: StateDb) {}

  /** Keys of a user, the newest first. */
  async list(userId: string): Promise<StoredUserKey[]> {
    const rows = await this.db
      .selectFrom('user_keys')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .execute();
    return rows.map(stored);
  }

  async byHash(hash: string): Promise<StoredUserKey | undefined> {
    const row = await this.db.selectFrom('user_keys').selectAll().where('hash', '=', hash).executeTakeFirst();
    return row && stored(row);
  }

  async add(key: StoredUserKey): Promise<void> {
    auditResource(key.id, { name: key.name });
    await this.db
      .insertInto('user_keys')
      .values({
        id: key.id,
        user_id: key.userId,
        name: key.name,
        prefix: key.prefix,
        hash: key.hash,
        created_at: key.createdAt,
        expires_at: key.expiresAt,
        last_used_at: key.lastUsedAt,
      })
      .execute();
  }

  /** Removes a key of a user. Every process forgets its secret. False if the user has no such key. */
  remove(id: string, userId: string): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      const row = await trx
        .deleteFrom('user_keys')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .returning('hash')
        .executeTakeFirst();
      if (!row) return false;
      auditResource(id);
      await announce(trx, 'lost-secret', { keyId: id, hash: row.hash } satisfies LostSecret);
      return true;
    });
  }

  /** Records uses: key id -> time. */
  async touch(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size === 0) return;
    await this.db.transaction().execute(async (trx) => {
      for (const [id, at] of uses)
        await trx.updateTable('user_keys').set({ last_used_at: at }).where('id', '=', id).execute();
    });
  }
}

function stored(row: Selectable<UserKeyTable>): StoredUserKey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    prefix: row.prefix,
    hash: row.hash,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}
