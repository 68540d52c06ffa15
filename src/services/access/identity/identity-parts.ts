import type { OidcProviders } from '../oidc/providers.js';
import type { SignIns } from '../oidc/sign-ins.js';
import type { Bearers } from './bearers.js';
import type { OAuthClients } from './oauth-clients.js';
import type { Sessions } from './sessions.js';
import type { SigningKeys } from './signing-keys.js';

/** Components that verify and issue credentials other than keys and passwords. */
export interface IdentityParts {
  readonly signing: SigningKeys;
  readonly tokens: Bearers;
  readonly clients: OAuthClients;
  readonly providers: OidcProviders;
  readonly signIns: SignIns;
  readonly sessions: Sessions;
}
