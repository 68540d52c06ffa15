import { hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { notFound } from '../../../core/errors/errors.js';
import type { DocumentStore, StoredDocument } from '../../../stores/state/documents.js';
import { keyStatus } from '../keys/api-keys.js';
import { type Attempts, UNLIMITED } from './attempts.js';

export const GRANT_TYPES = ['client_credentials'] as const;

/** Stored record of a program that requests tokens. The id of its document is its client id. */
export interface OAuthClient {
  readonly name: string;
  readonly clientType: 'confidential' | 'public';
  readonly allowedGrantTypes: readonly string[];
  readonly allowedScopes: readonly string[];
  readonly redirectUris: readonly string[];
  /** SHA-256 of the secret, which has 256 random bits, in hexadecimal digits. Null for public clients. */
  readonly secretHash: string | null;
  readonly secretPrefix: string | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** Permissions of a scope. */
export interface OAuthScope {
  readonly description: string;
  readonly permissions: readonly string[];
}

export type StoredClient = StoredDocument<OAuthClient>;
export type StoredScope = StoredDocument<OAuthScope>;

export const CLIENT_KIND = 'OAuth client';
const SCOPE = 'OAuth scope';
const USE = 'OAuth client use';
const SECRET_MARK = 'grs_';
const PREFIX_LENGTH = SECRET_MARK.length + 8;
/** Milliseconds between writes of when a client was used last. */
const USE_MS = 60_000;

/** Clients of the token endpoint, and the scopes that they may have. `settle` waits for all processes. */
export class OAuthClients {
  readonly #uses = new Map<string, number>();
  readonly #documents: DocumentStore;

  constructor(
    private readonly plain: DocumentStore,
    private readonly settle: () => Promise<void>,
    private readonly attempts: Pick<Attempts, 'spend'> = UNLIMITED,
  ) {
    this.#documents = plain.announcing('access');
  }

  list(): Promise<StoredClient[]> {
    return this.plain.list<OAuthClient>(CLIENT_KIND);
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<StoredClient> {
    return (await this.find(id)) ?? missing(CLIENT_KIND, id);
  }

  find(id: string): Promise<StoredClient | undefined> {
    return this.plain.get<OAuthClient>(CLIENT_KIND, id);
  }

  /** Creates a client. Only this response contains the secret. */
  async create(
    about: Omit<OAuthClient, 'secretHash' | 'secretPrefix' | 'revokedAt'>,
    by: string,
  ): Promise<{ client: StoredClient; secret: string | null }> {
    const secret = about.clientType === 'public' ? null : SECRET_MARK + randomBytes(32).toString('base64url');
    const body: OAuthClient = {
      ...about,
      secretHash: secret && secretHash(secret),
      secretPrefix: secret?.slice(0, PREFIX_LENGTH) ?? null,
      revokedAt: null,
    };
    const client = await this.#documents.create(CLIENT_KIND, randomUUID(), body, by);
    await this.settle();
    return { client, secret };
  }

  /** Revokes a client. Once it resolves, its tokens are refused everywhere. Throws `not-found`. */
  async revoke(id: string, by: string): Promise<StoredClient> {
    const revokedAt = Date.now();
    const change = (body: OAuthClient) => ({ ...body, revokedAt: body.revokedAt ?? revokedAt });
    const client = await this.#documents.update<OAuthClient>(CLIENT_KIND, id, by, change);
    await this.settle();
    return client;
  }

  /** The active client of this id and secret; undefined when there is none. Throws `too-many-requests`. */
  withSecret(id: string, secret: string, address: string): Promise<StoredClient | undefined> {
    return this.attempts.spend(address, () => this.#withSecret(id, secret));
  }

  async #withSecret(id: string, secret: string): Promise<StoredClient | undefined> {
    const client = await this.find(id);
    const isRight = sameHash(client?.body.secretHash ?? '', secretHash(secret));
    return client && isRight && keyStatus(client.body) === 'active' ? client : undefined;
  }

  async used(id: string): Promise<void> {
    const now = Date.now();
    if (now - (this.#uses.get(id) ?? 0) < USE_MS) return;
    this.#uses.set(id, now);
    await this.plain.put(USE, id, { at: now }, 'system');
  }

  /** Times of the last token requests by client id. */
  async uses(): Promise<ReadonlyMap<string, number>> {
    const uses = await this.plain.list<{ at: number }>(USE);
    return new Map(uses.map(({ id, body }) => [id, body.at]));
  }

  scopes(): Promise<StoredScope[]> {
    return this.plain.list<OAuthScope>(SCOPE);
  }

  async defineScope(name: string, scope: OAuthScope, by: string): Promise<StoredScope> {
    const stored = await this.#documents.put(SCOPE, name, scope, by);
    await this.settle();
    return stored;
  }

  /** Throws `not-found`. */
  async removeScope(name: string): Promise<StoredScope> {
    const scope = (await this.plain.get<OAuthScope>(SCOPE, name)) ?? missing(SCOPE, name);
    await this.#documents.remove(SCOPE, name);
    await this.settle();
    return scope;
  }

  /** Current permission labels of scopes. Deleted scopes have no labels. */
  async labelsOf(scopes: readonly string[]): Promise<string[]> {
    const stored = await this.scopes();
    return [...new Set(stored.flatMap(({ id, body }) => (scopes.includes(id) ? body.permissions : [])))];
  }
}

const secretHash = (secret: string) => hash('sha256', secret, 'hex');

function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function missing(kind: string, id: string): never {
  throw notFound(kind, id);
}
