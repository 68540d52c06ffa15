import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import type { StoredUser, UserStore } from '../../../stores/access/users.js';
import { keyStatus } from '../keys/api-keys.js';
import { buildHolder } from '../rules/restrictions.js';
import type { RuleSet } from '../rules/rules.js';
import type { EndedTokens } from './ended-tokens.js';
import type { OAuthClients } from './oauth-clients.js';
import type { Sessions } from './sessions.js';
import type { SigningKeys } from './signing-keys.js';

/** Holder and expiry of a bearer token. */
export type Bearer = { readonly expiresAt: number } & (
  | {
      readonly user: StoredUser;
      readonly claims: StoredUser['claims'];
      /** Session of a token issued by this server. The token ends with its session. */
      readonly session?: string;
    }
  | { readonly client: { readonly id: string; readonly name: string }; readonly labels: readonly string[] }
);

export interface BearerTokens {
  /** Undefined for a token that neither this server nor a provider issued, or that is no longer valid. */
  find(token: string): Promise<Bearer | undefined>;
}

/** Tokens of providers. */
export interface ForeignTokens {
  find(token: string, claims: JWTPayload): Promise<Bearer | undefined>;
}

export interface BearerDeps {
  readonly keys: SigningKeys;
  readonly clients: OAuthClients;
  readonly users: Pick<UserStore, 'get'>;
  readonly sessions: Pick<Sessions, 'find' | 'end'>;
  readonly foreign?: ForeignTokens;
  readonly ended: Pick<EndedTokens, 'has' | 'end'>;
  /** Whether sessions of a provider may continue. */
  isProvider(key: string): Promise<boolean>;
  rules(): RuleSet;
}

/** Bearer tokens that are JWTs, issued by this server or by providers. */
export class Bearers implements BearerTokens {
  constructor(private readonly deps: BearerDeps) {}

  async find(token: string): Promise<Bearer | undefined> {
    const bearer = await this.#read(token);
    return bearer && !(await this.deps.ended.has(token)) ? bearer : undefined;
  }

  /** Ends a token before it expires, and its session. Does nothing if the token is no longer valid. */
  async end(token: string): Promise<void> {
    const bearer = await this.#read(token);
    if (!bearer) return;
    await this.deps.ended.end(token, bearer.expiresAt);
    if ('user' in bearer && bearer.session !== undefined) await this.deps.sessions.end(bearer.session);
  }

  async #read(token: string): Promise<Bearer | undefined> {
    try {
      const { kid } = decodeProtectedHeader(token);
      if (kid !== undefined && (await this.deps.keys.owns(kid))) return await this.#own(token);
      return await this.deps.foreign?.find(token, decodeJwt(token));
    } catch (error) {
      // Whatever is wrong with it, the caller has no token.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  async #own(token: string): Promise<Bearer | undefined> {
    const claims = await this.deps.keys.verify(token);
    const expiresAt = claims.exp! * 1000;
    return typeof claims['client_id'] === 'string'
      ? this.#ofClient(claims['client_id'], String(claims['scope'] ?? ''), expiresAt)
      : this.#ofSession(claims, expiresAt);
  }

  /** The client of a token. The labels of the scope and the scopes of the client are read again. */
  async #ofClient(id: string, scope: string, expiresAt: number): Promise<Bearer | undefined> {
    const client = await this.deps.clients.find(id);
    if (!client || keyStatus(client.body) !== 'active') return undefined;
    const { name, allowedScopes } = client.body;
    const wanted = scope.split(' ');
    const held = (await this.deps.clients.scopes()).filter(
      ({ id, body }) =>
        allowedScopes.includes(id) && (wanted.includes(id) || this.#isLimiting(body.permissions)),
    );
    const labels = [...new Set(held.flatMap(({ body }) => body.permissions))];
    const ends = Math.min(expiresAt, client.body.expiresAt ?? expiresAt);
    return { client: { id, name }, labels, expiresAt: ends };
  }

  /** A client gets no token without the scopes that bind it to a tenant, or to a role with policies. */
  #isLimiting(labels: readonly string[]): boolean {
    const { roles = [], tenantId } = buildHolder(labels);
    return tenantId !== undefined || roles.some((role) => this.deps.rules().limitingRoles.has(role));
  }

  /** A token that a session was given ends with it. */
  async #ofSession({ sub, sid }: JWTPayload, expiresAt: number): Promise<Bearer | undefined> {
    if (typeof sid !== 'string') return undefined;
    const session = await this.deps.sessions.find(sid);
    if (!session || session.userId !== sub) return undefined;
    const { providerKey } = session;
    if (providerKey !== null && !(await this.deps.isProvider(providerKey))) return undefined;
    const user = await this.deps.users.get(session.userId);
    return user?.isActive ? { user, claims: session.claims, session: sid, expiresAt } : undefined;
  }
}
