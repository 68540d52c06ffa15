import { storageFailure } from '../../core/errors/storage-faults.js';
import type { Principal } from '../../core/http/operation.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import { invalidCredentials } from './credentials.js';

/** Holder of a secret, as found in the state. */
export interface SecretHolder {
  readonly principal: Principal;
  /** Milliseconds since 1970 at which the secret ends; null: never. */
  readonly expiresAt: number | null;
}

export interface Trust {
  /** Milliseconds for which a secret is trusted without a query. */
  readonly trustMs: number;
  /** Same as `trustMs` while the state does not respond. */
  readonly lostTrustMs: number;
}

/** Maximum cached secrets. A valid one takes a few hundred bytes; invalid ones are never cached. */
const MAX_SECRETS = 10_000;

interface KnownHolder extends SecretHolder {
  /** Time of the query. */
  readonly checkedAt: number;
}

/** A look-up under way. */
interface Question {
  readonly answer: Promise<Principal>;
}

/** Cache of valid secrets by hash, with the pending queries of new ones. */
export class CheckedSecrets {
  readonly #checked = boundedCache<string, KnownHolder>(MAX_SECRETS);
  readonly #asking = new Map<string, Question>();
  readonly #trust: Trust;
  readonly #used: (hash: string, principal: Principal) => void;
  /** Whether the state did not respond to the last query. */
  #isLost = false;

  /** `used` is called for each request with a trusted secret. */
  constructor(trust: Trust, used: (hash: string, principal: Principal) => void) {
    this.#trust = trust;
    this.#used = used;
  }

  /**
   * The principal of a secret. `lookUp` finds its holder; undefined: it is not valid. Throws, or rejects with,
   * `unauthenticated` then.
   */
  check(hash: string, lookUp: () => Promise<SecretHolder | undefined>): Principal | Promise<Principal> {
    const hit = this.#checked.get(hash);
    const age = hit ? Date.now() - hit.checkedAt : Number.POSITIVE_INFINITY;
    if (hit && age <= this.#trust.trustMs) return this.#believe(hash, hit);
    if (!hit || age > this.#trust.lostTrustMs) return this.#ask(hash, lookUp);
    const answer = this.#ask(hash, lookUp).catch((error) => {
      if (!isUnreachable(error)) throw error;
      return this.#believe(hash, hit);
    });
    if (!this.#isLost) return answer;
    // Each question may wait for seconds then: requests do not.
    answer.catch(() => {});
    return this.#believe(hash, hit);
  }

  #believe(hash: string, { principal, expiresAt }: SecretHolder): Principal {
    if (expiresAt !== null && expiresAt <= Date.now()) throw invalidCredentials();
    this.#used(hash, principal);
    return principal;
  }

  /** Concurrent requests with the same secret share one query. */
  #ask(hash: string, lookUp: () => Promise<SecretHolder | undefined>): Promise<Principal> {
    const asking = this.#asking.get(hash);
    if (asking) return asking.answer;
    const isAsked = () => this.#asking.get(hash) === question;
    const question: Question = {
      answer: this.#lookUp(hash, lookUp, isAsked).finally(() => {
        if (isAsked()) this.#asking.delete(hash);
      }),
    };
    this.#asking.set(hash, question);
    return question.answer;
  }

  /**
   * The result of a query that was forgotten in the meantime is not cached, even if the secret is requested again.
   */
  async #lookUp(
    hash: string,
    lookUp: () => Promise<SecretHolder | undefined>,
    isAsked: () => boolean,
  ): Promise<Principal> {
    const checkedAt = Date.now();
    const holder = await this.#find(lookUp);
    if (!holder) {
      this.#checked.delete(hash);
      throw invalidCredentials();
    }
    if (isAsked()) this.#checked.set(hash, { ...holder, checkedAt });
    return this.#believe(hash, holder);
  }

  async #find(lookUp: () => Promise<SecretHolder | undefined>): Promise<SecretHolder | undefined> {
    try {
      const holder = await lookUp();
      this.#isLost = false;
      return holder;
    } catch (error) {
      this.#isLost = isUnreachable(error);
      throw error;
    }
  }

  /** Looks a secret up again, from now on. */
  forget(hash: string): void {
    this.#checked.delete(hash);
    this.#asking.delete(hash);
  }

  forgetAll(): void {
    this.#checked.clear();
    this.#asking.clear();
  }
}

function isUnreachable(error: unknown): boolean {
  return storageFailure(error)?.code === 'store-unavailable';
}
