import { Attempts } from '../../services/access/identity/attempts.js';
import { Bearers } from '../../services/access/identity/bearers.js';
import { EndedTokens } from '../../services/access/identity/ended-tokens.js';
import type { IdentityParts } from '../../services/access/identity/identity-parts.js';
import { OAuthClients } from '../../services/access/identity/oauth-clients.js';
import { SigningKeys } from '../../services/access/identity/signing-keys.js';
import { StateCipher } from '../../services/access/keys/state-cipher.js';
import { providerFetch } from '../../services/access/oidc/provider-fetch.js';
import { ProviderTokens } from '../../services/access/oidc/provider-tokens.js';
import { OidcProviders } from '../../services/access/oidc/providers.js';
import { SignIns } from '../../services/access/oidc/sign-ins.js';
import type { RuleSet } from '../../services/access/rules/rules.js';
import { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import type { Authenticator } from '../auth/authenticator.js';
import type { Foundation } from './foundation.js';

interface Identity extends Omit<IdentityParts, 'sessions'> {
  /** Counts wrong passwords and secrets. */
  readonly attempts: Attempts;
  /** Drops all cached data that may have changed. */
  forget(): void;
}

/** Services that verify and issue tokens. `authenticator` is available after the first user exists. */
export function startIdentity(
  { config, state, cluster }: Foundation,
  rules: () => RuleSet,
  authenticator: () => Authenticator,
): Identity {
  const settle = async () => void (await cluster.settle());
  const { documents, users } = state;
  const sealing = new StateCipher(config.security.stateKey);
  const signing = new SigningKeys(documents, sealing, settle);
  const attempts = new Attempts(state.rateBuckets, config.security.passwordAttempts);
  const clients = new OAuthClients(documents, settle, attempts);
  const fetch = providerFetch(new AllowedHosts(config.remote.allow));
  const providers = new OidcProviders(documents, sealing, fetch, settle);
  const tokens = new Bearers({
    keys: signing,
    clients,
    users,
    sessions: {
      find: (hash) => authenticator().sessions.find(hash),
      end: (hash) => authenticator().sessions.end(hash),
    },
    ended: new EndedTokens(documents, settle),
    isProvider: (key) => providers.isEnabled(key),
    rules,
    foreign: new ProviderTokens(providers, () => authenticator().users, rules),
  });
  const signIns = new SignIns({
    providers,
    documents,
    sealing,
    rules,
    users: () => authenticator().users,
    sessions: () => authenticator().sessions,
  });
  const forget = () => {
    signing.forget();
    providers.forget();
  };
  return { signing, clients, providers, signIns, tokens, attempts, forget };
}
