import { hash, randomBytes } from 'node:crypto';
import type { SessionStore, StoredSession } from '../../../stores/access/sessions.js';
import type { StoredUser } from '../../../stores/access/users.js';

/** Maximum lifetime of a session, and maximum time without use, in milliseconds. */
const LIFETIME_MS = 12 * 3_600_000;
const IDLE_MS = 2 * 3_600_000;
const SWEEP_MS = 3_600_000;
/** Characters that are stored of a `User-Agent`. */
const MAX_USER_AGENT = 300;

export interface SignIn {
  readonly user: StoredUser;
  /** The provider. Undefined for a password. */
  readonly providerKey?: string;
  readonly claims?: StoredSession['claims'];
  /** `User-Agent` of the browser. */
  readonly userAgent?: string | undefined;
}

/** Browser sessions. Only the cookie contains the secret. */
export class Sessions {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: SessionStore,
    private readonly settle: () => Promise<void>,
  ) {}

  /** Starts removing expired sessions at an interval. */
  start(onError: (error: unknown) => void): void {
    const sweep = () => this.store.sweep(Date.now(), Date.now() - IDLE_MS).catch(onError);
    this.#timer = setInterval(() => void sweep(), SWEEP_MS).unref();
  }

  /**
   * Opens a new session, whose secret only the caller receives. A session from before the sign-in is not continued.
   */
  async open({
    user,
    providerKey,
    claims = {},
    userAgent,
  }: SignIn): Promise<{ secret: string; session: StoredSession }> {
    const secret = randomBytes(32).toString('base64url');
    const now = Date.now();
    const session: StoredSession = {
      hash: sessionHash(secret),
      userId: user.id,
      providerKey: providerKey ?? null,
      claims,
      createdAt: now,
      usedAt: now,
      expiresAt: now + LIFETIME_MS,
      userAgent: userAgent?.slice(0, MAX_USER_AGENT) ?? null,
    };
    await this.store.add(session);
    return { secret, session };
  }

  /** Returns the session. Undefined if it has ended or does not exist. */
  async find(secretHash: string): Promise<StoredSession | undefined> {
    const session = await this.store.get(secretHash);
    return session && isOpen(session) ? session : undefined;
  }

  /** Open sessions of a user, the last used first. */
  async list(userId: string): Promise<StoredSession[]> {
    return (await this.store.list(userId)).filter(isOpen);
  }

  touch(uses: ReadonlyMap<string, number>): Promise<void> {
    return this.store.touch(uses);
  }

  async end(secretHash: string): Promise<void> {
    if (await this.store.remove(secretHash)) await this.settle();
  }

  /** Ends the sessions of a user, except `keptSession`. */
  async endOthers(userId: string, keptSession?: string): Promise<void> {
    await this.store.removeOf(userId, keptSession);
    await this.settle();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function isOpen({ expiresAt, usedAt }: StoredSession): boolean {
  const now = Date.now();
  return expiresAt > now && usedAt > now - IDLE_MS;
}

export function sessionHash(secret: string): string {
  return hash('sha256', `session ${secret}`, 'hex');
}
