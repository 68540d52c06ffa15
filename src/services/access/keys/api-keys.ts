import { hash, randomUUID } from 'node:crypto';
import { notFound } from '../../../core/errors/errors.js';
import type { ApiKeyStore, StoredApiKey } from '../../../stores/access/api-keys.js';
import { createSecret } from './new-secret.js';

/** A key and its plain text, which only this response contains. */
export interface IssuedKey {
  key: StoredApiKey;
  secret: string;
}

/** Origin of the first key, for the start-up message. */
export type FirstKey =
  | { from: 'stored' }
  | { from: 'environment'; weak: boolean; revoked: boolean }
  | { from: 'generated'; secret: string };

export interface NewApiKey {
  name: string;
  permissions: readonly string[];
  expiresAt?: number;
}

const ENVIRONMENT = 'environment';
const KEY_MARK = 'grt_';
/** Below this a key that a person chose could be guessed from its hash. */
const STRONG_LENGTH = 24;

/**
 * SHA-256 of a key, in hexadecimal digits. Generated keys have 256 random bits, so a slow hash would add no
 * protection. In each request, a slow hash would allow clients to overload the server.
 */
export function keyHash(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Times at which a credential expires and was revoked. Null: never. */
interface Ends {
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** Status of a key of any kind, or of a client. */
export function keyStatus(
  { expiresAt, revokedAt }: Ends,
  now = Date.now(),
): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
}

/** Issues, rotates and revokes API keys. `settle` resolves when every process has let go of lost secrets. */
export class ApiKeys {
  constructor(
    readonly store: ApiKeyStore,
    private readonly settle: () => Promise<void>,
  ) {}

  list(): Promise<StoredApiKey[]> {
    return this.store.list();
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<StoredApiKey> {
    return (await this.store.get(id)) ?? fail(id);
  }

  async create(request: NewApiKey, by: string): Promise<IssuedKey> {
    const { secret, prefix } = createSecret(KEY_MARK);
    const key = record(request, secret, by, prefix);
    await this.store.add(key);
    return { key, secret };
  }

  /** A new secret for the same key. Once this resolves, the old one is refused everywhere. Throws `not-found`, also for a revoked key. */
  async rotate(id: string): Promise<IssuedKey> {
    const { secret, prefix } = createSecret(KEY_MARK);
    const changed = { hash: keyHash(secret), prefix };
    const key = (await this.store.rotate(id, changed, Date.now())) ?? fail(id);
    await this.settle();
    return { key, secret };
  }

  /**
   * Revokes a key. Once it resolves, the key is refused everywhere. A repeated call has no effect. Throws
   * `not-found`.
   */
  async revoke(id: string): Promise<StoredApiKey> {
    const key = (await this.store.revoke(id, Date.now())) ?? (await this.get(id));
    await this.settle();
    return key;
  }

  /**
   * Ensures that a key exists to administer the server. This is the key in the environment, which replaces the former
   * one. If there is no key at all, one is generated.
   */
  async ensureFirst(fromEnvironment: string | undefined): Promise<FirstKey> {
    if (fromEnvironment) return this.#adopt(fromEnvironment);
    if (!(await this.store.isEmpty())) return { from: 'stored' };
    const { secret } = await this.create({ name: 'first administrator', permissions: ['*'] }, 'system');
    return { from: 'generated', secret };
  }

  async #adopt(secret: string): Promise<FirstKey> {
    // The person chose it: showing a part of it could give much of it away.
    const chosen = record({ name: 'SVC_ADMIN_KEY', permissions: ['*'] }, secret, ENVIRONMENT, 'env');
    const keys = await this.store.list();
    for (const { id, hash, createdBy, revokedAt } of keys) {
      // The comparison is by hash, because another starting server of the same state may already have stored the key.
      const isReplaced = createdBy === ENVIRONMENT && revokedAt === null && hash !== chosen.hash;
      if (isReplaced) await this.revoke(id);
    }
    await this.store.add(chosen);
    return {
      from: 'environment',
      weak: secret.length < STRONG_LENGTH,
      revoked: keys.some(({ hash, revokedAt }) => hash === chosen.hash && revokedAt !== null),
    };
  }
}

function record(request: NewApiKey, secret: string, by: string, prefix: string): StoredApiKey {
  const now = Date.now();
  return {
    id: randomUUID(),
    name: request.name,
    prefix,
    hash: keyHash(secret),
    permissions: [...new Set(request.permissions)],
    createdAt: now,
    createdBy: by,
    updatedAt: now,
    expiresAt: request.expiresAt ?? null,
    lastUsedAt: null,
    rotatedAt: null,
    revokedAt: null,
  };
}

function fail(id: string): never {
  throw notFound('API key', id);
}
