import { timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../../core/limits.js';
import { ANONYMOUS, type Principal } from '../../core/operation.js';
import { storageFailure } from '../../core/storage-faults.js';
import { ApiKeys, keyHash, keyStatus } from '../../services/access/api-keys.js';
import type { StoredApiKey } from '../../stores/api-keys.js';
import type { State } from '../../stores/state.js';
import { type Credentials, invalidCredentials, presentedKey } from './credentials.js';

export interface AuthenticatorOptions {
  /** Milliseconds for which a key is believed without asking the database: what a revocation elsewhere may take. */
  trustMs?: number;
  /** As `trustMs`, while the database does not answer. */
  lostTrustMs?: number;
  /** Milliseconds between writes of lastUsedAt. */
  touchMs?: number;
  /** Has every process forget the secrets that were lost, this one too; only this one, by asking anew, when absent. */
  settle?(): Promise<void>;
  /** Called when uses could not be written; they are tried again. */
  onError?(error: unknown): void;
}

/** Keys of the cache; a valid key is 128 bytes here, and strangers' keys are never kept. */
const MAX_CACHED_KEYS = 10_000;
const DEFAULT_TRUST_MS = 1000;
const DEFAULT_TOUCH_MS = 60_000;

interface CachedKey {
  readonly principal: Principal;
  readonly expiresAt: number | null;
  /** When the database was asked. */
  readonly checkedAt: number;
}

export interface Authenticator {
  readonly keys: ApiKeys;
  /**
   * Who asks. Answers at once for a key checked within the last second; no credentials give the anonymous
   * principal. Throws (or rejects with) `unauthenticated` for unknown, revoked and expired keys.
   */
  authenticate(credentials: Credentials): Principal | Promise<Principal>;
  /** Asks the database again about a secret, from now on. */
  forget(hash: string): void;
  /** As `forget`, of all secrets. */
  forgetAll(): void;
  /** Writes pending lastUsedAt times. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function createAuthenticator(state: State, options: AuthenticatorOptions = {}): Authenticator {
  return new KeyAuthenticator(state, options);
}

class KeyAuthenticator implements Authenticator {
  readonly keys: ApiKeys;
  readonly #cache = new Map<string, CachedKey>();
  readonly #asking = new Map<string, Promise<Principal>>();
  #uses = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #trustMs: number;
  readonly #lostTrustMs: number;
  /** The database did not answer the last question. */
  #isLost = false;

  constructor(
    private readonly state: State,
    options: AuthenticatorOptions,
  ) {
    this.keys = new ApiKeys(state.apiKeys, options.settle ?? (async () => this.forgetAll()));
    this.#trustMs = options.trustMs ?? DEFAULT_TRUST_MS;
    this.#lostTrustMs = options.lostTrustMs ?? LIMITS.keyTrustMs;
    const report = options.onError ?? (() => {});
    this.#timer = setInterval(() => void this.flush().catch(report), options.touchMs ?? DEFAULT_TOUCH_MS);
    this.#timer.unref();
  }

  authenticate(credentials: Credentials): Principal | Promise<Principal> {
    const secret = presentedKey(credentials);
    if (secret === undefined) return ANONYMOUS;
    const hash = keyHash(secret);
    const hit = this.#cache.get(hash);
    const age = hit ? Date.now() - hit.checkedAt : Number.POSITIVE_INFINITY;
    if (hit && age <= this.#trustMs) return this.#believe(hit);
    if (!hit || age > this.#lostTrustMs) return this.#ask(hash);
    const answer = this.#ask(hash).catch((error) => {
      if (!isUnreachable(error)) throw error;
      return this.#believe(hit);
    });
    if (!this.#isLost) return answer;
    // Each question may wait for seconds then: requests do not.
    answer.catch(() => {});
    return this.#believe(hit);
  }

  #believe({ principal, expiresAt }: CachedKey): Principal {
    const now = Date.now();
    if (expiresAt !== null && expiresAt <= now) throw invalidCredentials();
    this.#uses.set(principal.id, now);
    return principal;
  }

  /** Requests that bring the same key while it is being looked up share the answer. */
  #ask(hash: string): Promise<Principal> {
    const asking = this.#asking.get(hash);
    if (asking) return asking;
    const answer = this.#lookUp(hash).finally(() => {
      if (this.#asking.get(hash) === answer) this.#asking.delete(hash);
    });
    this.#asking.set(hash, answer);
    return answer;
  }

  async #lookUp(hash: string): Promise<Principal> {
    const askedAt = Date.now();
    const row = await this.#find(hash);
    if (!row || !sameHash(row.hash, hash) || keyStatus(row) !== 'active') {
      this.#cache.delete(hash);
      throw invalidCredentials();
    }
    // A key revoked while the answer was on its way was told to forget: the answer is not kept then.
    if (this.#asking.has(hash)) this.#remember(hash, row, askedAt);
    this.#uses.set(row.id, askedAt);
    return principalOf(row);
  }

  async #find(hash: string): Promise<StoredApiKey | undefined> {
    try {
      const row = await this.state.apiKeys.byHash(hash);
      this.#isLost = false;
      return row;
    } catch (error) {
      this.#isLost = isUnreachable(error);
      throw error;
    }
  }

  #remember(hash: string, key: StoredApiKey, checkedAt: number): void {
    this.#cache.delete(hash);
    this.#cache.set(hash, { principal: principalOf(key), expiresAt: key.expiresAt, checkedAt });
    if (this.#cache.size > MAX_CACHED_KEYS) this.#cache.delete(this.#cache.keys().next().value!);
  }

  forget(hash: string): void {
    this.#cache.delete(hash);
    this.#asking.delete(hash);
  }

  forgetAll(): void {
    this.#cache.clear();
    this.#asking.clear();
  }

  async flush(): Promise<void> {
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.state.apiKeys.touch(uses);
    } catch (error) {
      for (const [id, at] of uses) if (!this.#uses.has(id)) this.#uses.set(id, at);
      throw error;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }
}

function isUnreachable(error: unknown): boolean {
  return storageFailure(error)?.code === 'store-unavailable';
}

function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function principalOf(key: StoredApiKey): Principal {
  return { kind: 'api-key', id: key.id, name: key.name, permissions: key.permissions };
}
