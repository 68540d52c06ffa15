import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Configuration } from 'openid-client';
import { ApiError } from '../../../core/errors/errors.js';
import type { ProviderFetch } from './provider-fetch.js';
import { RefreshCache } from './refresh-cache.js';

export interface ProviderAddress {
  readonly authority: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

const METADATA_MS = 3_600_000;
const KEYS_MS = 600_000;
/** Minimum milliseconds between two requests for unknown keys that tokens name. */
const MISS_MS = 30_000;

/** Metadata and keys of a provider. While the provider is unavailable, the last known values are used. */
export class ProviderConnection {
  readonly #metadata: RefreshCache<Configuration>;
  readonly #keys: RefreshCache<JWTVerifyGetKey>;
  #missedAt = 0;

  constructor(
    private readonly address: ProviderAddress,
    private readonly fetch: ProviderFetch,
  ) {
    this.#metadata = new RefreshCache(() => this.#discover(), METADATA_MS);
    this.#keys = new RefreshCache(() => this.#readKeys(), KEYS_MS);
  }

  /** Known metadata of the provider. Rejects with `unavailable`. */
  configuration(): Promise<Configuration> {
    return this.#metadata.get();
  }

  /** Requests the metadata of the provider again. Rejects with `unavailable`. */
  discover(): Promise<Configuration> {
    return this.#metadata.renew();
  }

  /** Finds the key that a token names. An unknown key is requested from the provider. */
  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#keys.get();
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || Date.now() - this.#missedAt < MISS_MS) throw error;
      this.#missedAt = Date.now();
      return (await this.#keys.renew())(header, token);
    }
  };

  async #discover(): Promise<Configuration> {
    // Only servers that have providers load it.
    const client = await import('openid-client');
    const { authority, clientId, clientSecret } = this.address;
    const isPlain = authority.startsWith('http:');
    try {
      const configuration = await client.discovery(
        new URL(authority),
        clientId,
        undefined,
        clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret),
        {
          [client.customFetch]: (url, options) => this.fetch(url, options),
          execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
        },
      );
      return configuration;
    } catch (error) {
      throw (
        findApiError(error) ??
        new ApiError('unavailable', 'The provider has no valid metadata.', { cause: error })
      );
    }
  }

  async #readKeys(): Promise<JWTVerifyGetKey> {
    const { jwks_uri: url } = (await this.configuration()).serverMetadata();
    if (url === undefined) throw new ApiError('unavailable', 'The provider publishes no keys.');
    const response = await this.fetch(url, { method: 'GET', headers: { accept: 'application/json' } });
    try {
      return createLocalJWKSet((await response.json()) as JSONWebKeySet);
    } catch (cause) {
      throw new ApiError('unavailable', 'The keys of the identity provider cannot be read.', { cause });
    }
  }
}

/** The `ApiError` that made a request to a provider fail, within the errors of libraries. */
export function findApiError(error: unknown): ApiError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if (at instanceof ApiError) return at;
  return undefined;
}
