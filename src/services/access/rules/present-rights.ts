import { ApiError } from '../../../core/errors/errors.js';
import type { Principal } from '../../../core/http/operation.js';
import type { ApiKeyStore } from '../../../stores/access/api-keys.js';
import type { UserStore } from '../../../stores/access/users.js';
import { readDer } from '../certificates/encodings.js';
import type { CertificateTrust } from '../certificates/trust.js';
import {
  buildKeyIdentity,
  buildPrincipal,
  buildUserIdentity,
  certifiedPrincipal,
} from '../identity/identity.js';
import type { OAuthClients } from '../identity/oauth-clients.js';
import type { JobCaller } from '../identity/submitter.js';
import { keyStatus } from '../keys/api-keys.js';
import type { EmbedKeys } from '../keys/embed-keys.js';
import { permits } from '../permissions.js';
import type { RuleSet } from './rules.js';

/** Stores of callers, and the rules and tenants that determine their rights. */
export interface PresentRightsDeps {
  readonly apiKeys: Pick<ApiKeyStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  readonly clients: Pick<OAuthClients, 'find' | 'labelsOf'>;
  readonly embedKeys: Pick<EmbedKeys, 'principalById'>;
  readonly certificates: Pick<CertificateTrust, 'judge' | 'settings'>;
  /** Whether sessions of a provider may continue. */
  isProvider(key: string): Promise<boolean>;
  rules(): RuleSet;
  /** See `Pauses.current`; absent: the rules are always those of now. */
  current?(): Promise<void> | undefined;
  /** Throws `forbidden` when the tenant does not let the caller in. */
  admitted(principal: Principal): Principal;
}

/** Present rights of earlier callers, for work that runs on their behalf in their absence. */
export class PresentRights {
  constructor(private readonly deps: PresentRightsDeps) {}

  /** The caller with the rights of now. Throws `forbidden` for one who may not come any more. */
  async of(principal: Principal): Promise<Principal> {
    await this.deps.current?.();
    const present = await this.#present(principal);
    if (!present) throw new ApiError('forbidden', `${principal.name} no longer has access.`);
    return principal.kind === 'anonymous' ? present : this.deps.admitted(present);
  }

  /**
   * Throws `forbidden` for a caller whose key, user or client was revoked or disabled, or has lost the permission that the
   * job took. Certificates are not judged again.
   */
  async requireCaller({ principal, permission }: JobCaller): Promise<void> {
    if (principal.kind === 'certificate') return;
    const present = await this.of(principal);
    if (permission === 'public' || permission === 'authenticated' || permits(present, permission)) return;
    throw new ApiError('forbidden', `${principal.name} no longer has the permission ${permission}.`);
  }

  async #present(principal: Principal): Promise<Principal | undefined> {
    const { apiKeys, embedKeys } = this.deps;
    switch (principal.kind) {
      case 'anonymous':
        return principal;
      case 'api-key': {
        const key = await apiKeys.get(principal.id);
        return key && keyStatus(key) === 'active' ? this.#withRules(buildKeyIdentity(key)) : undefined;
      }
      case 'user':
        return this.#user(principal);
      case 'oauth-client':
        return this.#client(principal);
      case 'embed-key':
        return embedKeys.principalById(principal.id);
      case 'certificate':
        return this.#certified(principal);
    }
  }

  /** The present rights of a user. Claims of a provider are valid until the next sign-in, as in a session. */
  async #user({ id, providerClaims = {} }: Principal): Promise<Principal | undefined> {
    const user = await this.deps.users.get(id);
    if (!user?.isActive) return undefined;
    if (user.providerId === null) return this.#withRules(buildUserIdentity(user, {}));
    if (!(await this.deps.isProvider(user.providerId))) return undefined;
    return this.#withRules(buildUserIdentity(user, providerClaims));
  }

  /** The present rights of a client. Only labels that its token already had are granted. */
  async #client(principal: Principal): Promise<Principal | undefined> {
    const { clients } = this.deps;
    const client = await clients.find(principal.id);
    if (!client || keyStatus(client.body) !== 'active') return undefined;
    const labels = await clients.labelsOf(client.body.allowedScopes);
    const held = labels.filter((label) => permits(principal, label));
    return this.#withRules(
      buildKeyIdentity({ ...client.body, id: client.id, permissions: held }, 'oauth-client'),
    );
  }

  /** The present rights of a certificate holder, checked as if the certificate arrived now. */
  #certified({ id, certificates = [] }: Principal): Principal | undefined {
    const { certificates: trust, rules } = this.deps;
    const [leaf, ...chain] = certificates.map(readDer);
    if (!leaf || trust.settings.mode === 'Disabled') return undefined;
    const judgement = trust.judge({ leaf, chain }, Date.now());
    if (judgement.code !== 'success' || judgement.mapping.body.principalId !== id) return undefined;
    return certifiedPrincipal(judgement, { leaf, chain }, rules());
  }

  #withRules(identity: Parameters<typeof buildPrincipal>[0]): Principal {
    return buildPrincipal(identity, this.deps.rules());
  }
}
