import { hash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../core/errors/errors.js';
import { ANONYMOUS, type Principal } from '../../core/http/operation.js';
import type { Attempts } from '../../services/access/identity/attempts.js';
import type { Bearer, BearerTokens } from '../../services/access/identity/bearers.js';
import { tokenName } from '../../services/access/identity/ended-tokens.js';
import {
  buildKeyIdentity,
  buildPrincipal,
  buildUserIdentity,
} from '../../services/access/identity/identity.js';
import { Sessions, sessionHash } from '../../services/access/identity/sessions.js';
import { Users } from '../../services/access/identity/users.js';
import { ApiKeys, keyHash, keyStatus } from '../../services/access/keys/api-keys.js';
import { EMBED_MARK } from '../../services/access/keys/embed-keys.js';
import { USER_KEY_MARK, UserKeys } from '../../services/access/keys/user-keys.js';
import { NO_RULES, type RuleSet } from '../../services/access/rules/rules.js';
import type { StoredUser } from '../../stores/access/users.js';
import type { State } from '../../stores/state/state.js';
import { CheckedSecrets, type SecretHolder } from './checked-secrets.js';
import { type CallerCredential, type Credentials, presented } from './credentials.js';
import { AUTH_LIMITS } from './limits.js';

export interface AuthenticatorOptions {
  /**
   * Milliseconds for which a verified key is trusted without a query. A revocation by another server takes at most
   * this long.
   */
  trustMs?: number;
  /** Same as `trustMs` while the database does not respond. */
  lostTrustMs?: number;
  /** Milliseconds between writes of when keys and sessions were used last. */
  touchMs?: number;
  /** Makes all processes forget lost secrets, including this one. Default: only this process, by verifying again. */
  settle?(): Promise<void>;
  /** Counts wrong passwords by address. Default: not counted. */
  attempts?: Pick<Attempts, 'spend'>;
  /** Verifies bearer tokens. Default: bearer tokens are rejected. */
  tokens?: BearerTokens;
  /** Whether sessions of this provider are valid. Default: all. */
  isProvider?(key: string): Promise<boolean>;
  /** Rules with the permissions of roles. Default: none. */
  rules?(): RuleSet;
  /** Principal of an embed key; undefined for invalid keys. */
  embedKey?(secret: string): Principal | undefined;
  /** The caller as its tenant lets it in. Throws `forbidden` when that does not. */
  admitted?(principal: Principal): Principal;
  /** Called when uses could not be written; they are tried again. */
  onError?(error: unknown): void;
}

const DEFAULT_TRUST_MS = 1000;
/** A password costs a thread for tens of milliseconds; whoever changes a user has all processes forget. */
const PASSWORD_TRUST_MS = 60_000;
const DEFAULT_TOUCH_MS = 60_000;

export interface Authenticator {
  readonly keys: ApiKeys;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly userKeys: UserKeys;
  /**
   * Returns the principal of credentials, synchronously for a secret verified within the last second. Without
   * credentials, it is the anonymous principal. Throws or rejects with `unauthenticated` for unknown, revoked and
   * expired credentials.
   */
  authenticate(credentials: Credentials): Principal | Promise<Principal>;
  /** Drops the cached key of this hash, so that the database is queried again. */
  forget(hash: string): void;
  /** Same as `forget` for all secrets. */
  forgetAll(): void;
  /** Writes pending times of last use. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function createAuthenticator(state: State, options: AuthenticatorOptions = {}): Authenticator {
  return new StateAuthenticator(state, options);
}

const USES = ['keys', 'sessions', 'userKeys'] as const;

/** Times of last use that are not written yet, by id; of sessions by hash. */
type Uses = Readonly<Record<(typeof USES)[number], Map<string, number>>>;

function createUses(): Uses {
  return { keys: new Map(), sessions: new Map(), userKeys: new Map() };
}

/** Keys, passwords and sessions of the state. */
class StateAuthenticator implements Authenticator {
  readonly keys: ApiKeys;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly userKeys: UserKeys;
  readonly #secrets: CheckedSecrets;
  readonly #passwords: CheckedSecrets;
  #uses = createUses();
  readonly #timer: NodeJS.Timeout;
  readonly #rules: () => RuleSet;
  readonly #admitted: (principal: Principal) => Principal;
  readonly #embedKey: (secret: string) => Principal | undefined;
  readonly #tokens: BearerTokens | undefined;
  readonly #isProvider: (key: string) => Promise<boolean>;

  constructor(
    private readonly state: State,
    options: AuthenticatorOptions,
  ) {
    const settle = options.settle ?? (async () => this.forgetAll());
    const { trustMs = DEFAULT_TRUST_MS, lostTrustMs = AUTH_LIMITS.keyTrustMs } = options;
    this.keys = new ApiKeys(state.apiKeys, settle);
    this.users = new Users(state.users, state.sessions, settle, options.attempts);
    this.sessions = new Sessions(state.sessions, settle);
    this.userKeys = new UserKeys(state.userKeys, settle);
    this.#rules = options.rules ?? (() => NO_RULES);
    this.#embedKey = options.embedKey ?? (() => undefined);
    this.#admitted = options.admitted ?? ((principal) => principal);
    this.#tokens = options.tokens;
    this.#isProvider = options.isProvider ?? (async () => true);
    this.#secrets = new CheckedSecrets({ trustMs, lostTrustMs }, (secret, principal) =>
      this.#use(secret, principal),
    );
    const passwordTrust = {
      trustMs: PASSWORD_TRUST_MS,
      lostTrustMs: Math.max(lostTrustMs, PASSWORD_TRUST_MS),
    };
    this.#passwords = new CheckedSecrets(passwordTrust, () => {});
    const report = options.onError ?? (() => {});
    this.sessions.start(report);
    this.#timer = setInterval(() => void this.flush().catch(report), options.touchMs ?? DEFAULT_TOUCH_MS);
    this.#timer.unref();
  }

  authenticate(credentials: Credentials): Principal | Promise<Principal> {
    const proof = presented(credentials);
    if (!proof) return ANONYMOUS;
    switch (proof.kind) {
      case 'key':
        return this.#ofKey(proof.secret);
      case 'session':
        return this.#ofSession(proof.secret);
      case 'password':
        return this.#ofPassword(proof, credentials.address ?? '');
      case 'token':
        return this.#ofToken(proof.secret);
    }
  }

  #ofKey(secret: string): Principal | Promise<Principal> {
    if (secret.startsWith(EMBED_MARK)) return this.#ofEmbedKey(secret);
    return this.#secrets.check(keyHash(secret), () => this.#keyHolder(secret));
  }

  #ofEmbedKey(secret: string): Principal | Promise<Principal> {
    return this.#secrets.check(keyHash(secret), async () => {
      const principal = this.#embedKey(secret);
      return principal && { principal: this.#admitted(principal), expiresAt: principal.expiresAt ?? null };
    });
  }

  /** Holder of an API key, or the user of a key, with the present rights of this user. */
  #keyHolder(secret: string): Promise<SecretHolder | undefined> {
    const secretHash = keyHash(secret);
    return secret.startsWith(USER_KEY_MARK)
      ? this.#userKeyHolder(secretHash)
      : this.#apiKeyHolder(secretHash);
  }

  async #userKeyHolder(secretHash: string): Promise<SecretHolder | undefined> {
    const key = await this.state.userKeys.byHash(secretHash);
    if (!key || !sameHash(key.hash, secretHash)) return undefined;
    const user = await this.state.users.get(key.userId);
    if (!user?.isActive) return undefined;
    if (user.providerId !== null && !(await this.#isProvider(user.providerId))) return undefined;
    const ends = key.expiresAt === null ? {} : { expiresAt: key.expiresAt };
    const principal = { ...this.#userPrincipal(user, {}), userKeyId: key.id, ...ends };
    return { principal, expiresAt: key.expiresAt };
  }

  async #apiKeyHolder(secretHash: string): Promise<SecretHolder | undefined> {
    const key = await this.state.apiKeys.byHash(secretHash);
    if (!key || !sameHash(key.hash, secretHash) || keyStatus(key) !== 'active') return undefined;
    const principal = this.#admitted(buildPrincipal(buildKeyIdentity(key), this.#rules()));
    return { principal, expiresAt: key.expiresAt };
  }

  /** A caller with an ended session is anonymous, because a browser continues to send its cookie. */
  #ofSession(secret: string): Principal | Promise<Principal> {
    try {
      const principal = this.#signedIn(sessionHash(secret));
      return principal instanceof Promise ? principal.catch(strangerFor) : principal;
    } catch (error) {
      return strangerFor(error);
    }
  }

  #signedIn(secretHash: string): Principal | Promise<Principal> {
    return this.#secrets.check(secretHash, async () => {
      const session = await this.sessions.find(secretHash);
      const user = session && (await this.state.users.get(session.userId));
      if (!user?.isActive) return undefined;
      const { providerKey } = session!;
      if (providerKey !== null && !(await this.#isProvider(providerKey))) return undefined;
      const principal = this.#userPrincipal(user, session!.claims);
      const { expiresAt } = session!;
      return { principal: { ...principal, sessionHash: secretHash, expiresAt }, expiresAt };
    });
  }

  #ofToken(token: string): Principal | Promise<Principal> {
    return this.#secrets.check(hash('sha256', `token ${token}`, 'hex'), async () => {
      const bearer = await this.#tokens?.find(token);
      if (!bearer) return undefined;
      const session = 'user' in bearer && bearer.session !== undefined ? [bearer.session] : [];
      const endsWith = [tokenName(token), ...session];
      const { expiresAt } = bearer;
      return { principal: { ...this.#bearerPrincipal(bearer), endsWith, expiresAt }, expiresAt };
    });
  }

  #bearerPrincipal(bearer: Bearer): Principal {
    if ('user' in bearer) return this.#userPrincipal(bearer.user, bearer.claims);
    const identity = buildKeyIdentity({ ...bearer.client, permissions: bearer.labels }, 'oauth-client');
    return this.#admitted(buildPrincipal(identity, this.#rules()));
  }

  /** Basic credentials contain the name and password of a user, or a key as password with any name. */
  #ofPassword(
    { name, secret }: CallerCredential & { kind: 'password' },
    address: string,
  ): Principal | Promise<Principal> {
    const pairHash = hash('sha256', `${name}\0${secret}`, 'hex');
    return this.#passwords.check(pairHash, async () => {
      const keyHolder = await this.#keyHolder(secret);
      if (keyHolder) return keyHolder;
      const user = await this.users.withPassword(name, secret, address);
      return user && { principal: this.#userPrincipal(user, {}), expiresAt: null };
    });
  }

  #userPrincipal(user: StoredUser, claims: StoredUser['claims']): Principal {
    return this.#admitted(buildPrincipal(buildUserIdentity(user, claims), this.#rules()));
  }

  #use(secret: string, { kind, id, sessionHash: session, userKeyId }: Principal): void {
    if (userKeyId !== undefined) this.#uses.userKeys.set(userKeyId, Date.now());
    else if (kind === 'api-key') this.#uses.keys.set(id, Date.now());
    else if (session !== undefined) this.#uses.sessions.set(secret, Date.now());
  }

  forget(secretHash: string): void {
    this.#secrets.forget(secretHash);
    this.#passwords.forgetAll();
  }

  forgetAll(): void {
    this.#secrets.forgetAll();
    this.#passwords.forgetAll();
  }

  async flush(): Promise<void> {
    const uses = this.#uses;
    this.#uses = createUses();
    try {
      await this.state.apiKeys.touch(uses.keys);
      await this.sessions.touch(uses.sessions);
      await this.state.userKeys.touch(uses.userKeys);
    } catch (error) {
      for (const kind of USES)
        for (const [id, at] of uses[kind]) if (!this.#uses[kind].has(id)) this.#uses[kind].set(id, at);
      throw error;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.sessions.close();
    await this.flush();
  }
}

function strangerFor(error: unknown): Principal {
  if (error instanceof ApiError && error.code === 'unauthenticated') return ANONYMOUS;
  throw error;
}

function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
