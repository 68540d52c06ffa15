import { hash, randomUUID } from 'node:crypto';
import { badMember, notFound } from '../../../core/errors/errors.js';
import { boundedCache } from '../../../core/values/bounded-cache.js';
import type { SessionStore } from '../../../stores/access/sessions.js';
import type { Lockout, StoredUser, UserChange, UserSearch, UserStore } from '../../../stores/access/users.js';
import { type Attempts, UNLIMITED } from './attempts.js';
import { hashPassword, isPassword, PASSWORD_LENGTH } from './passwords.js';

export interface NewUser {
  readonly name: string;
  readonly displayName?: string;
  readonly email?: string | null;
  readonly password?: string;
  readonly roles?: readonly string[];
  readonly claims?: Readonly<Record<string, readonly string[]>>;
  readonly tenantId?: string | null;
}

/** Identifier and properties of a user at a provider. */
export interface ProvidedUser {
  readonly providerId: string;
  readonly subject: string;
  readonly name: string;
  readonly displayName: string;
  readonly email: string | null;
  /** Default: the roles set by administrators are kept. */
  readonly roles?: readonly string[] | undefined;
  /** Default: the tenant set by administrators is kept. */
  readonly tenantId?: string | null | undefined;
}

/** The fifth wrong password locks a user for 30 seconds, and each further one for twice as long, up to an hour. */
const LOCKOUT: Lockout = { free: 5, firstMs: 30_000, longestMs: 3_600_000, doublings: 7 };

/** Maximum number of cached correct passwords, a few hundred bytes each. */
const MAX_PASSWORDS = 10_000;

/** Users of the server, and the check of their passwords. `settle` waits for all processes. */
export class Users {
  /** Stored hashes by the names and passwords, hashed, that were right for them. */
  readonly #right = boundedCache<string, string>(MAX_PASSWORDS);

  constructor(
    private readonly store: UserStore,
    private readonly sessions: SessionStore,
    private readonly settle: () => Promise<void>,
    private readonly attempts: Pick<Attempts, 'spend'> = UNLIMITED,
  ) {}

  list(search: UserSearch): Promise<{ users: StoredUser[]; total: number }> {
    return this.store.list(search);
  }

  /** Whether an active user has the role `administrator`. */
  async hasAdministrator(): Promise<boolean> {
    const { total } = await this.store.list({ role: 'administrator', active: true, offset: 0, limit: 1 });
    return total > 0;
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<StoredUser> {
    return (await this.store.get(id)) ?? missing(id);
  }

  /** Throws `conflict` when the name is taken, and `invalid-body` for a password that is too short. */
  async create(request: NewUser, by: string): Promise<StoredUser> {
    const passwordHash = request.password === undefined ? null : await newHash(request.password);
    const user = {
      ...blank(request.name),
      createdBy: by,
      displayName: request.displayName ?? request.name,
      email: request.email ?? null,
      passwordHash,
      roles: request.roles ?? [],
      claims: request.claims ?? {},
      tenantId: request.tenantId ?? null,
    };
    await this.store.add(user);
    await this.settle();
    return user;
  }

  /** Throws `not-found`. */
  async change(id: string, change: UserChange): Promise<StoredUser> {
    const user = (await this.store.update(id, change)) ?? missing(id);
    await this.settle();
    return user;
  }

  /**
   * Changes a password and ends all sessions except `keptSession`, of the user who changes the password. Throws
   * `not-found` and `invalid-body`.
   */
  async setPassword(id: string, password: string, keptSession?: string): Promise<StoredUser> {
    const user = (await this.store.update(id, { passwordHash: await newHash(password) })) ?? missing(id);
    await this.sessions.removeOf(id, keptSession);
    await this.settle();
    return user;
  }

  /** Throws `not-found`. */
  async remove(id: string): Promise<void> {
    if (!(await this.store.remove(id))) missing(id);
    await this.settle();
  }

  /** The user of a provider. Created at the first sign-in, and updated with the provider's present data. */
  async provided(about: ProvidedUser): Promise<StoredUser> {
    const stored = await this.store.bySubject(about.providerId, about.subject);
    if (!stored) return this.#provide(about);
    const change = {
      displayName: about.displayName,
      email: about.email,
      ...(about.roles === undefined ? {} : { roles: about.roles }),
      ...(about.tenantId === undefined ? {} : { tenantId: about.tenantId }),
    };
    const isSame = Object.entries(change).every(
      ([name, value]) => JSON.stringify(stored[name as keyof StoredUser]) === JSON.stringify(value),
    );
    return isSame ? stored : this.change(stored.id, change);
  }

  async #provide({ providerId, subject, name, roles = [], tenantId = null, ...about }: ProvidedUser) {
    const isTaken = (await this.store.byName(name)) !== undefined;
    const own = isTaken ? `${name.slice(0, 60)}-${randomUUID().slice(0, 8)}` : name;
    const user: StoredUser = {
      ...blank(own),
      ...about,
      roles,
      tenantId,
      source: 'oidc',
      providerId,
      subject,
    };
    try {
      await this.store.add(user);
    } catch (error) {
      // Another request of the same user was first.
      const first = await this.store.bySubject(providerId, subject);
      if (first) return first;
      throw error;
    }
    await this.settle();
    return user;
  }

  /**
   * The active user with this name and password. Undefined for an unknown user, a wrong password, and a locked user,
   * after the same time in each case. Throws `too-many-requests` after too many wrong passwords from the address.
   */
  withPassword(name: string, password: string, address: string): Promise<StoredUser | undefined> {
    return this.attempts.spend(address, () => this.#withPassword(name, password));
  }

  async #withPassword(name: string, password: string): Promise<StoredUser | undefined> {
    const before = await this.store.byName(name.slice(0, 200));
    const stored = before?.passwordHash ?? null;
    const isRight = await this.#isPassword(name, password, stored);
    // While the hash was computed, other requests may have sent wrong passwords, or changed the user.
    const user = before && (await this.store.get(before.id));
    const now = Date.now();
    if (!user || user.lockedUntil > now) return undefined;
    if (isRight && user.isActive && user.passwordHash === stored) {
      if (user.failures > 0) await this.store.clearFailures(user.id, now);
      return user;
    }
    await this.store.countFailure(user.id, now, LOCKOUT);
    return undefined;
  }

  /** A right password is hashed once for each hash that is stored: hashing takes long on purpose. */
  async #isPassword(name: string, password: string, stored: string | null): Promise<boolean> {
    const pair = hash('sha256', `${name}\0${password}`, 'base64url');
    if (stored !== null && this.#right.get(pair) === stored) return true;
    const isRight = await isPassword(password.slice(0, PASSWORD_LENGTH.most + 1), stored);
    if (isRight && stored !== null) this.#right.set(pair, stored);
    return isRight;
  }
}

function blank(name: string): StoredUser {
  const now = Date.now();
  return {
    id: randomUUID(),
    name: name.toLowerCase(),
    displayName: name,
    email: null,
    passwordHash: null,
    roles: [],
    claims: {},
    source: 'manual',
    providerId: null,
    subject: null,
    tenantId: null,
    isActive: true,
    failures: 0,
    lockedUntil: 0,
    createdAt: now,
    createdBy: null,
    updatedAt: now,
  };
}

async function newHash(password: string): Promise<string> {
  const { least, most } = PASSWORD_LENGTH;
  if (password.length >= least && password.length <= most) return hashPassword(password);
  const detail = `must have ${least} to ${most} characters`;
  throw badMember('/password', detail);
}

function missing(id: string): never {
  throw notFound('user', id);
}
