import { storageFailure } from '../../core/errors/storage-faults.js';
import type { Principal } from '../../core/http/operation.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import { invalidCredentials } from './credentials.js';

/** Whom a secret belongs to, as it was looked up. */
export interface SecretHolder {
  readonly principal: Principal;
  /** Milliseconds since 1970 at which the secret ends; null: never. */
  readonly expiresAt: number | null;
}

export interface Trust {
  /** Milliseconds for which a secret is believed without looking it up again. */
  readonly trustMs: number;
  /** The same while the state does not answer. */
  readonly lostTrustMs: number;
}

/** Secrets of the cache; a valid one is a few hundred bytes here, and those of strangers are never kept. */
const MAX_SECRETS = 10_000;

interface KnownHolder extends SecretHolder {
  /** When it was looked up. */
  readonly checkedAt: number;
}

/** A look-up under way. */
interface Question {
  readonly answer: Promise<Principal>;
}

/** Secrets that were found valid, by their hashes, and the look-ups of those that come for the first time. */
export class CheckedSecrets {
  readonly #checked = boundedCache<string, KnownHolder>(MAX_SECRETS);
  readonly #asking = new Map<string, Question>();
  readonly #trust: Trust;
  readonly #used: (hash: string, principal: Principal) => void;
  /** The state did not answer the last question. */
  #isLost = false;

  /** `used` is called for each request that a secret was believed for. */
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

  /** Requests that bring the same secret while it is being looked up share the answer. */
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

  /** An answer to a question that was forgotten while it was on its way is not kept, even if the secret is asked for again. */
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
