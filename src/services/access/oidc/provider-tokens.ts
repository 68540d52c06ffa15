import { type JWTPayload, jwtVerify } from 'jose';
import type { Bearer, ForeignTokens } from '../identity/bearers.js';
import type { Users } from '../identity/users.js';
import type { RuleSet } from '../rules/rules.js';
import { filterClaims, type ProviderClaims, providedUser } from './provided-users.js';
import type { OidcProviders, StoredProvider } from './providers.js';

/** Accepts only signatures by private keys, because a public key must never be used as a shared secret. */
const ASYMMETRIC = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const SKEW_SECONDS = 60;

/** Bearer tokens of OpenID providers. */
export class ProviderTokens implements ForeignTokens {
  constructor(
    private readonly providers: OidcProviders,
    private readonly users: () => Users,
    private readonly rules: () => RuleSet,
  ) {}

  /** Rejects as `jose` does for a token that is not valid, and with `unavailable` while keys are not known. */
  async find(token: string, { iss }: JWTPayload): Promise<Bearer | undefined> {
    const provider = typeof iss === 'string' ? await this.#providerOf(iss) : undefined;
    if (!provider) return undefined;
    const connection = this.providers.connection(provider);
    const { issuer } = (await connection.configuration()).serverMetadata();
    const { payload } = await jwtVerify(token, connection.keyOf, {
      issuer,
      audience: provider.body.clientId,
      algorithms: ASYMMETRIC,
      clockTolerance: SKEW_SECONDS,
      requiredClaims: ['sub', 'exp'],
    });
    const claims = payload as ProviderClaims;
    const user = await providedUser(provider, claims, this.users(), this.rules());
    if (!user.isActive) return undefined;
    return { user, claims: filterClaims(claims), expiresAt: (payload.exp! + SKEW_SECONDS) * 1000 };
  }

  /** The provider of an issuer. Only listed providers are contacted, regardless of the issuer in a token. */
  async #providerOf(issuer: string): Promise<StoredProvider | undefined> {
    const providers = await this.providers.list();
    return providers.find(
      ({ body }) => body.enabled && withoutSlash(body.authority) === withoutSlash(issuer),
    );
  }
}

const withoutSlash = (url: string) => url.replace(/\/+$/, '');
