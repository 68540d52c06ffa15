import { randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import type { DocumentStore, StoredDocument } from '../../../stores/state/documents.js';
import type { StateCipher } from '../keys/state-cipher.js';
import { ProviderConnection } from './connection.js';
import type { ProviderFetch } from './provider-fetch.js';

export const PROVIDER_TYPES = ['AzureAd', 'Okta', 'Auth0', 'Generic'] as const;

/** An OpenID provider, as the state keeps it. */
export interface OidcProvider {
  readonly name: string;
  readonly providerType: (typeof PROVIDER_TYPES)[number];
  readonly authority: string;
  readonly clientId: string;
  /** Sealed. */
  readonly clientSecret: string | null;
  readonly enabled: boolean;
  /** Claim with roles of the provider. Dots separate the names of nested objects. */
  readonly roleClaim: string;
  /** Roles of this server by those of the provider. If the mapping is empty, administrators assign roles to the users of the provider. */
  readonly roleMapping: Readonly<Record<string, string>>;
  readonly tenantClaim: string | null;
}

export type StoredProvider = StoredDocument<OidcProvider>;

/** Result of the last test of a provider. */
export interface ProviderCheck {
  readonly isReachable: boolean;
  readonly message: string;
  readonly testedAt: number;
}

const KIND = 'OIDC provider';
const CHECK = 'OIDC provider check';

/** The OpenID providers whose users may come in. */
export class OidcProviders {
  readonly #documents: DocumentStore;
  readonly #connections = new Map<string, ProviderConnection>();
  #list: Promise<StoredProvider[]> | undefined;

  constructor(
    private readonly plain: DocumentStore,
    private readonly sealing: StateCipher,
    private readonly fetch: ProviderFetch,
    private readonly settle: () => Promise<void>,
  ) {
    this.#documents = plain.announcing('access');
  }

  /** Discards the cached providers, so the next use reads them again. */
  forget(): void {
    this.#list = undefined;
  }

  async list(): Promise<StoredProvider[]> {
    this.#list ??= this.plain.list<OidcProvider>(KIND);
    const reading = this.#list;
    try {
      return await reading;
    } catch (error) {
      if (this.#list === reading) this.forget();
      throw error;
    }
  }

  /** Returns a provider. Throws `not-found` if the provider does not exist. */
  async get(id: string): Promise<StoredProvider> {
    return (await this.plain.get<OidcProvider>(KIND, id)) ?? missing(id);
  }

  /** Returns an enabled provider. Throws `not-found` if the provider does not exist or is disabled. */
  async enabled(id: string): Promise<StoredProvider> {
    return (await this.list()).find((one) => one.id === id && one.body.enabled) ?? missing(id);
  }

  async isEnabled(id: string): Promise<boolean> {
    return (await this.list()).some((one) => one.id === id && one.body.enabled);
  }

  async create(body: OidcProvider, by: string): Promise<StoredProvider> {
    const provider = await this.#documents.create(KIND, randomUUID(), body, by);
    await this.#changed();
    return provider;
  }

  /** Throws `not-found` and `precondition-failed`. */
  async update(
    id: string,
    by: string,
    change: (body: OidcProvider) => OidcProvider,
    ifMatch?: readonly string[],
  ): Promise<StoredProvider> {
    const provider = await this.#documents.update(KIND, id, by, change, ifMatch);
    await this.#changed();
    return provider;
  }

  /** Throws `not-found` and `precondition-failed`. */
  async remove(id: string, ifMatch?: readonly string[]): Promise<void> {
    if (!(await this.#documents.remove(KIND, id, ifMatch))) missing(id);
    await this.plain.remove(CHECK, id);
    await this.#changed();
  }

  async #changed(): Promise<void> {
    this.forget();
    await this.settle();
  }

  seal(secret: string): string {
    return this.sealing.seal(secret);
  }

  /** The connection to a provider with its present configuration. */
  connection({ id, etag, body }: StoredProvider): ProviderConnection {
    const name = `${id} ${etag}`;
    const connection = this.#connections.get(name) ?? this.#connect(body);
    for (const other of this.#connections.keys())
      if (other.startsWith(`${id} `) && other !== name) this.#connections.delete(other);
    this.#connections.set(name, connection);
    return connection;
  }

  #connect({ authority, clientId, clientSecret }: OidcProvider): ProviderConnection {
    const secret = clientSecret === null ? undefined : this.sealing.open(clientSecret);
    return new ProviderConnection({ authority, clientId, clientSecret: secret }, this.fetch);
  }

  /** Requests the metadata of a provider, and stores the result of the test. */
  async check(provider: StoredProvider): Promise<ProviderCheck & { issuer?: string; discoveryUrl: string }> {
    const testedAt = Date.now();
    const reached = await this.#reach(provider);
    const check = {
      isReachable: 'issuer' in reached,
      message: 'issuer' in reached ? 'The provider responds.' : reached.message,
      testedAt,
    };
    await this.plain.put<ProviderCheck>(CHECK, provider.id, check, 'system');
    const discoveryUrl = `${provider.body.authority.replace(/\/+$/, '')}/.well-known/openid-configuration`;
    return { ...check, discoveryUrl, ...('issuer' in reached ? { issuer: reached.issuer } : {}) };
  }

  async #reach(provider: StoredProvider): Promise<{ issuer: string } | { message: string }> {
    try {
      return { issuer: (await this.connection(provider).discover()).serverMetadata().issuer };
    } catch (error) {
      if (error instanceof ApiError) return { message: error.message };
      throw error;
    }
  }

  async checks(): Promise<ReadonlyMap<string, ProviderCheck>> {
    return new Map((await this.plain.list<ProviderCheck>(CHECK)).map(({ id, body }) => [id, body]));
  }
}

function missing(id: string): never {
  throw notFound(KIND, id);
}
