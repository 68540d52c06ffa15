import { randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import type { StoredUserKey, UserKeyStore } from '../../../stores/access/user-keys.js';
import { keyHash } from './api-keys.js';
import { createSecret } from './new-secret.js';

/** First characters of every key of a user. */
export const USER_KEY_MARK = 'gru_';
/** Maximum keys of one user. */
const MAX_KEYS = 100;

export interface NewUserKey {
  readonly userId: string;
  readonly name: string;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

/**
 * Keys that users make for their own programs. A key has the rights that its user has when it is used. `settle`
 * resolves when every process has forgotten lost secrets.
 */
export class UserKeys {
  constructor(
    private readonly store: UserKeyStore,
    private readonly settle: () => Promise<void>,
  ) {}

  list(userId: string): Promise<StoredUserKey[]> {
    return this.store.list(userId);
  }

  /** The key, and its secret, which only the caller receives. Throws `conflict` for a user with too many keys. */
  async create({ userId, name, expiresAt }: NewUserKey): Promise<{ key: StoredUserKey; secret: string }> {
    if ((await this.store.list(userId)).length >= MAX_KEYS)
      throw new ApiError('conflict', `You have ${MAX_KEYS} keys already. Delete a key that you do not use.`);
    const { secret, prefix } = createSecret(USER_KEY_MARK);
    const key: StoredUserKey = {
      id: randomUUID(),
      userId,
      name,
      prefix,
      hash: keyHash(secret),
      createdAt: Date.now(),
      expiresAt,
      lastUsedAt: null,
    };
    await this.store.add(key);
    return { key, secret };
  }

  /** Throws `not-found`, also for a key of another user. Once it resolves, the key is refused everywhere. */
  async remove(id: string, userId: string): Promise<void> {
    if (!(await this.store.remove(id, userId))) throw notFound('key', id);
    await this.settle();
  }
}
