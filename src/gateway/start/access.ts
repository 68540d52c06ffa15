import { isAboutCertificates } from '../../services/access/certificates/trust.js';
import type { IdentityParts } from '../../services/access/identity/identity-parts.js';
import type { FirstKey } from '../../services/access/keys/api-keys.js';
import { EMBED_KIND, EmbedKeys } from '../../services/access/keys/embed-keys.js';
import { endChanged, endHeld, watchHeldKeys } from '../../services/access/keys/held-keys.js';
import {
  type CountedRequest,
  type LimitHeaders,
  RATE_LIMIT_KIND,
  RateLimits,
} from '../../services/access/rate-limits.js';
import { PresentRights } from '../../services/access/rules/present-rights.js';
import { givesRights } from '../../services/access/rules/rules.js';
import { TENANT_KIND, Tenants } from '../../services/access/tenants.js';
import { exception } from '../../services/telemetry/log.js';
import type { LostSecret } from '../../stores/access/api-keys.js';
import { type Authenticator, createAuthenticator } from '../auth/authenticator.js';
import { type Certificates, startCertificates } from './certificates.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';
import { startIdentity } from './identity.js';

/** Services for authentication and permissions. */
export interface AccessServices {
  readonly authenticator: Authenticator;
  readonly firstKey: FirstKey;
  readonly tenants: Tenants;
  readonly limits: RateLimits;
  readonly embedKeys: EmbedKeys;
  /** Counts a request, for its tenant and for the limits that speak of it. */
  count(request: CountedRequest): LimitHeaders | Promise<LimitHeaders> | undefined;
  readonly identity: IdentityParts;
  readonly certificates: Certificates;
  readonly presentRights: PresentRights;
  close(): Promise<void>;
}

/** Reads keys; connections that outlive the request that they were opened with end with their key. */
export async function startAccess(foundation: Foundation, { events, rules }: Data): Promise<AccessServices> {
  const { config, state, cluster, alerts, log, first } = foundation;
  const settle = async () => void (await cluster.settle());
  const onLost = (error: unknown) => log.write('access.count.failed', exception(error));
  const tenants = new Tenants(state.documents, state.tenantUsage, settle, onLost);
  const limits = new RateLimits({
    documents: state.documents,
    buckets: state.rateBuckets,
    planOf: (tenantId) => tenants.planOf(tenantId),
    onError: onLost,
  });
  const embedKeys = new EmbedKeys(state.documents, state.embedUsage, settle, onLost);
  const certificates = startCertificates(
    foundation,
    () => rules.current,
    (principal) => tenants.admitted(principal),
  );
  rules.loadWith(
    () => tenants.load(),
    (kind) => kind === TENANT_KIND,
  );
  rules.loadWith(
    () => limits.load(),
    (kind) => kind === RATE_LIMIT_KIND,
  );
  rules.loadWith(
    () => embedKeys.load(),
    (kind) => kind === EMBED_KIND,
  );
  rules.loadWith(() => certificates.trust.load(), isAboutCertificates);
  const { attempts, forget, ...parts } = startIdentity(
    foundation,
    () => rules.current,
    () => authenticator,
  );
  const authenticator: Authenticator = createAuthenticator(state, {
    settle,
    attempts,
    tokens: parts.tokens,
    isProvider: (key) => parts.providers.isEnabled(key),
    rules: () => rules.current,
    admitted: (principal) => tenants.admitted(principal),
    embedKey: (secret) => embedKeys.principalOf(secret),
    onError: (error) => log.write('key.use.failed', exception(error)),
  });
  const heldConnections = () => [...events.hub.held(), ...alerts.held()];
  // Permissions from roles are part of the cached data of a key.
  const unfollow = rules.follow((change) => {
    forget();
    authenticator.forgetAll();
    certificates.callers?.forget();
    endChanged(heldConnections(), change);
  }, concernsHolders);
  cluster.announcements.on('lost-secret', (secrets) => {
    // Missed changes are noticed when a key is next looked up.
    heldKeys.forget();
    if (secrets === 'all') return authenticator.forgetAll();
    for (const { hash, keyId } of secrets as LostSecret[]) {
      authenticator.forget(hash);
      endHeld(heldConnections(), keyId);
    }
  });
  const heldKeys = watchHeldKeys(heldConnections, (id) => state.apiKeys.get(id));
  const { keys } = authenticator;
  const { adminKey } = config.security;
  // A gateway that is ready before the first one must accept the key of the environment already.
  const makesFirstKey = config.server.role === 'server' && (first || adminKey !== '');
  return {
    authenticator,
    tenants,
    limits,
    embedKeys,
    count(request) {
      tenants.count(request.principal);
      if (request.principal.kind === 'embed-key') countEmbedded(request, embedKeys);
      return limits.count(request);
    },
    identity: { ...parts, sessions: authenticator.sessions },
    certificates,
    presentRights: new PresentRights({
      apiKeys: state.apiKeys,
      users: state.users,
      clients: parts.clients,
      embedKeys,
      certificates: certificates.trust,
      isProvider: (key) => parts.providers.isEnabled(key),
      rules: () => rules.current,
      current: () => cluster.pauses.current(),
      admitted: (principal) => tenants.admitted(principal),
    }),
    firstKey: makesFirstKey ? await keys.ensureFirst(adminKey || undefined) : { from: 'stored' },
    async close() {
      heldKeys.close();
      unfollow();
      limits.close();
      await tenants.close();
      await embedKeys.close();
      return authenticator.close();
    },
  };
}

/** Rate limits and layer rules do not affect the cached data of callers. */
const concernsHolders = (kind: string) => kind !== RATE_LIMIT_KIND && givesRights(kind);

/** Throws `forbidden` for a page that the key is not for. */
function countEmbedded(request: CountedRequest, keys: EmbedKeys): void {
  const origin = request.header('origin') ?? findOrigin(request.header('referer'));
  const { principal, operation, path } = request;
  const use = { principal, operation, origin, layer: LAYER.exec(path)?.[1] };
  try {
    keys.requirePlace(principal, origin, new URL(request.baseUrl).origin);
  } catch (error) {
    keys.count(use, 'policyDenial');
    throw error;
  }
  keys.count(use);
}

/** The collection in a path. */
const LAYER = /\/(?:collections|tiles)\/([^/]+)/;

function findOrigin(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
}
