import type { Selectable, Updateable } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import { announce } from '../database/announcements.js';
import type { StateDb } from '../schema/database.js';
import type { ApiKeyTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** A stored API key. It contains only the hash of the key. */
export interface StoredApiKey {
  id: string;
  name: string;
  prefix: string;
  /** SHA-256 of the key, hex. */
  hash: string;
  permissions: string[];
  createdAt: number;
  createdBy: string | null;
  updatedAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  rotatedAt: number | null;
  revokedAt: number | null;
}

/** A secret that is not valid any more, and the key that it belonged to. */
export interface LostSecret {
  readonly keyId: string;
  readonly hash: string;
}

export class ApiKeyStore {
  constructor(readonly db: StateDb) {}

  async list(): Promise<StoredApiKey[]> {
    const rows = await this.db
      .selectFrom('api_keys')
      .selectAll()
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return rows.map(stored);
  }

  async get(id: string): Promise<StoredApiKey | undefined> {
    const row = await this.db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
    return row && stored(row);
  }

  async byHash(hash: string): Promise<StoredApiKey | undefined> {
    const row = await this.db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst();
    return row && stored(row);
  }

  async isEmpty(): Promise<boolean> {
    const row = await this.db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst();
    return row === undefined;
  }

  /** Adds a key. Returns false if a key with the same hash exists. */
  async add(key: StoredApiKey): Promise<boolean> {
    const {
      permissions,
      createdAt,
      createdBy,
      updatedAt,
      expiresAt,
      lastUsedAt,
      rotatedAt,
      revokedAt,
      ...rest
    } = key;
    auditResource(key.id, { name: key.name, permissions });
    const result = await this.db
      .insertInto('api_keys')
      .values({
        ...rest,
        permissions_json: JSON.stringify(permissions),
        created_at: createdAt,
        created_by: createdBy,
        updated_at: updatedAt,
        expires_at: expiresAt,
        last_used_at: lastUsedAt,
        rotated_at: rotatedAt,
        revoked_at: revokedAt,
      })
      .onConflict((c) => c.column('hash').doNothing())
      .executeTakeFirst();
    return result.numInsertedOrUpdatedRows === 1n;
  }

  /** The key after the change; undefined when there is none of that id, or it is revoked. */
  rotate(
    id: string,
    secret: { hash: string; prefix: string },
    now: number,
  ): Promise<StoredApiKey | undefined> {
    return this.#change(id, { ...secret, rotated_at: now, updated_at: now });
  }

  /** Revokes a key. See `rotate`. */
  revoke(id: string, now: number): Promise<StoredApiKey | undefined> {
    return this.#change(id, { revoked_at: now, updated_at: now });
  }

  /** The secret of before is lost with the change. */
  #change(id: string, set: Updateable<ApiKeyTable>): Promise<StoredApiKey | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const rows = trx
        .selectFrom('api_keys')
        .select('hash')
        .where('id', '=', id)
        .where('revoked_at', 'is', null);
      const before = await getVocabulary(trx).forUpdate(rows).executeTakeFirst();
      if (!before) return undefined;
      const row = await trx
        .updateTable('api_keys')
        .set(set)
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      await announce(trx, 'lost-secret', { keyId: id, hash: before.hash } satisfies LostSecret);
      return stored(row);
    });
  }

  /** Records uses: key id -> time. An older time never replaces a newer one. */
  async touch(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size === 0) return;
    await this.db.transaction().execute(async (trx) => {
      for (const [id, at] of uses) {
        await trx
          .updateTable('api_keys')
          .set({ last_used_at: at })
          .where('id', '=', id)
          .where((w) => w.or([w('last_used_at', 'is', null), w('last_used_at', '<', at)]))
          .execute();
      }
    });
  }
}

function stored(row: Selectable<ApiKeyTable>): StoredApiKey {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    hash: row.hash,
    permissions: JSON.parse(row.permissions_json) as string[],
    createdAt: row.created_at,
    createdBy: row.created_by,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    rotatedAt: row.rotated_at,
    revokedAt: row.revoked_at,
  };
}
