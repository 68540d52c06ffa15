import { hkdfSync, randomBytes } from 'node:crypto';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import type { Configuration } from 'openid-client';
import { ApiError } from '../../../core/errors/errors.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { Sessions } from '../identity/sessions.js';
import type { Users } from '../identity/users.js';
import type { StateCipher } from '../keys/state-cipher.js';
import type { RuleSet } from '../rules/rules.js';
import { findApiError } from './connection.js';
import { filterClaims, type ProviderClaims, providedUser } from './provided-users.js';
import type { OidcProviders } from './providers.js';

/** Seconds that a user may take at the provider. */
export const PENDING_SECONDS = 600;
const SCOPES = 'openid profile email';
const CALLBACK = '/account/callback';
const KIND = 'sign-in secret';

/** A sign-in in progress, stored encrypted in the browser's cookie. */
interface PendingSignIn {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Parameters with which a provider redirects a browser back. */
export interface Callback {
  readonly code: string;
  readonly state: string;
  /** Issuer (RFC 9207), where the provider says it. */
  readonly iss?: string;
}

/** Properties of the request of a returning user. */
export interface ReturningBrowser {
  readonly baseUrl: string;
  /** Cookie of the pending sign-in. */
  readonly cookie: string | undefined;
  readonly userAgent: string | undefined;
}

export interface SignInDeps {
  readonly providers: OidcProviders;
  readonly documents: DocumentStore;
  readonly sealing: StateCipher;
  users(): Users;
  sessions(): Sessions;
  rules(): RuleSet;
}

/** Sign-in of browsers with a provider: authorization code, PKCE, state and nonce. */
export class SignIns {
  #secret: Promise<Uint8Array> | undefined;

  constructor(private readonly deps: SignInDeps) {}

  /** URL to redirect the browser to, and its cookie for the sign-in. Rejects with `not-found` and `unavailable`. */
  async begin(providerId: string, baseUrl: string): Promise<{ authorizeUrl: string; pending: string }> {
    const provider = await this.deps.providers.enabled(providerId);
    const configuration = await this.deps.providers.connection(provider).discover();
    const client = await import('openid-client');
    const verifier = client.randomPKCECodeVerifier();
    // The state identifies the provider for the page that the browser returns to.
    const state = `${provider.id}.${client.randomState()}`;
    const nonce = client.randomNonce();
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: baseUrl + CALLBACK,
      scope: SCOPES,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const pending = await this.#seal({ provider: provider.id, state, nonce, verifier });
    return { authorizeUrl: url.href, pending };
  }

  /**
   * Creates the session of a returning user. Rejects with `invalid-request` for parameters that do not match the
   * cookie or have expired. Also rejects with `not-found`, `forbidden` and `unavailable`.
   */
  async finish(providerId: string, callback: Callback, { cookie, baseUrl, userAgent }: ReturningBrowser) {
    const provider = await this.deps.providers.enabled(providerId);
    const pending = cookie === undefined ? undefined : await this.#open(cookie);
    if (!pending || pending.provider !== provider.id || pending.state !== callback.state)
      throw new ApiError(
        'invalid-request',
        'This browser did not start the sign-in, or the sign-in took too long. Sign in again.',
      );
    const configuration = await this.deps.providers.connection(provider).configuration();
    const claims = await exchange(configuration, callback, pending, baseUrl + CALLBACK);
    const user = await providedUser(provider, claims, this.deps.users(), this.deps.rules());
    if (!user.isActive)
      throw new ApiError('forbidden', 'The user is disabled. An administrator can enable it.');
    return this.deps.sessions().open({
      user,
      providerKey: provider.id,
      claims: filterClaims(claims),
      userAgent,
    });
  }

  /** URL at which the browser ends its session at the provider. Undefined if the provider has no such URL. */
  async logoutUrl(providerId: string, baseUrl: string, idTokenHint?: string): Promise<string | undefined> {
    const provider = await this.deps.providers.enabled(providerId);
    const configuration = await this.deps.providers.connection(provider).configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const { buildEndSessionUrl } = await import('openid-client');
    return buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: `${baseUrl}/`,
      ...(idTokenHint === undefined ? {} : { id_token_hint: idTokenHint }),
    }).href;
  }

  async #seal(pending: PendingSignIn): Promise<string> {
    return new EncryptJWT({ ...pending })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setExpirationTime(`${PENDING_SECONDS}s`)
      .encrypt(await this.#key());
  }

  async #open(cookie: string): Promise<PendingSignIn | undefined> {
    try {
      const { payload } = await jwtDecrypt(cookie, await this.#key(), { requiredClaims: ['exp'] });
      return payload as unknown as PendingSignIn;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  /** All processes of a state share it. */
  #key(): Promise<Uint8Array> {
    this.#secret ??= this.#readSecret().catch((error: unknown) => {
      this.#secret = undefined;
      throw error;
    });
    return this.#secret;
  }

  async #readSecret(): Promise<Uint8Array> {
    const { documents, sealing } = this.deps;
    const sealed = sealing.seal(randomBytes(32).toString('base64url'));
    const stored =
      (await documents.get<string>(KIND, 'current')) ??
      (await documents.create(KIND, 'current', sealed, 'system').catch(() => undefined)) ??
      (await documents.get<string>(KIND, 'current'));
    if (!stored) throw new ApiError('unavailable', 'The state has no secret for sign-ins.');
    return new Uint8Array(hkdfSync('sha256', sealing.open(stored.body), '', 'graticule sign-ins', 32));
  }
}

/** Exchanges the code. The ID token is checked: signature, issuer, audience, nonce, times. */
async function exchange(
  configuration: Configuration,
  { code, state, iss }: Callback,
  { nonce, verifier }: PendingSignIn,
  redirect: string,
): Promise<ProviderClaims> {
  const client = await import('openid-client');
  const url = new URL(redirect);
  // Programs that follow the wire do not pass the issuer on; the pages of this server do.
  url.search = new URLSearchParams({
    code,
    state,
    iss: iss ?? configuration.serverMetadata().issuer,
  }).toString();
  try {
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    };
    const tokens = await client.authorizationCodeGrant(configuration, url, checks);
    return tokens.claims() as ProviderClaims;
  } catch (cause) {
    throw (
      findApiError(cause) ??
      new ApiError('invalid-request', 'The provider does not confirm the sign-in.', { cause })
    );
  }
}
