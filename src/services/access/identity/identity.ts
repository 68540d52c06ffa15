import type { CertificateMapping } from '../../../core/access/client-certificates.js';
import type { Principal } from '../../../core/http/operation.js';
import type { StoredUser } from '../../../stores/access/users.js';
import { MAX_CHAIN } from '../certificates/chain.js';
import { computeExpiry, type Proof, type Success } from '../certificates/judgement.js';
import type { RuleSet } from '../rules/rules.js';

/** Facts about a caller before the rules are applied. */
export interface Identity
  extends Pick<
    Principal,
    'kind' | 'id' | 'name' | 'tenantId' | 'layers' | 'providerClaims' | 'certificates'
  > {
  /** Permission labels granted directly. */
  readonly labels?: readonly string[];
  readonly roles?: readonly string[];
  readonly claims?: Readonly<Record<string, readonly string[]>>;
}

/**
 * The caller with all permissions of its roles. It also has the labels of its roles (`role:editor`), so it can grant
 * only these roles.
 */
export function buildPrincipal(identity: Identity, rules: RuleSet): Principal {
  const { labels = [], roles = [], claims = {}, ...rest } = identity;
  const own = new Set([...labels, ...roles.map((name) => `role:${name}`), ...rules.labelsOf(roles)]);
  return { ...rest, permissions: [...own], roles, claims };
}

/** The identity from the labels of an API key: `role:editor`, `claim:region=north`, `tenant:acme`. */
export function buildLabelIdentity(
  base: Pick<Identity, 'kind' | 'id' | 'name'>,
  labels: readonly string[],
): Identity {
  const roles: string[] = [];
  // Without a prototype, because a claim type can have the name of an object member.
  const claims: Record<string, string[]> = Object.create(null);
  let tenantId: string | undefined;
  for (const label of labels) {
    const [kind, value] = split(label, ':');
    if (kind === 'role') roles.push(value);
    else if (kind === 'tenant') tenantId = value;
    else if (kind === 'claim') {
      const [type, text] = split(value, '=');
      (claims[type] ??= []).push(text);
    }
  }
  return { ...base, labels, roles, claims, ...(tenantId === undefined ? {} : { tenantId }) };
}

/** An API key, or a client with the labels of its scopes. */
export function buildKeyIdentity(
  { id, name, permissions }: { id: string; name: string; permissions: readonly string[] },
  kind: 'api-key' | 'oauth-client' = 'api-key',
): Identity {
  return buildLabelIdentity({ kind, id, name }, permissions);
}

/** `claims`: what a provider says of the user. */
export function buildUserIdentity(user: StoredUser, claims: StoredUser['claims']): Identity {
  const { id, name, roles, tenantId } = user;
  return {
    kind: 'user',
    id,
    name,
    roles,
    // Claims set by an administrator take precedence over claims of a provider.
    claims: { ...claims, sub: [id], name: [name], ...user.claims },
    ...(user.providerId === null ? {} : { providerClaims: claims }),
    ...(tenantId === null ? {} : { tenantId }),
  };
}

/** The caller of an accepted certificate. */
export function certifiedPrincipal(judgement: Success, proof: Proof, rules: RuleSet): Principal {
  const identity = identityOfCertificate(judgement.mapping.body, proof);
  return { ...buildPrincipal(identity, rules), expiresAt: computeExpiry(judgement, proof.leaf) };
}

function identityOfCertificate(
  { principalId: id, displayName: name, roles, tenantId }: CertificateMapping,
  { leaf, chain }: Proof,
): Identity {
  return {
    kind: 'certificate',
    id,
    name,
    roles,
    claims: { sub: [id], name: [name], certificate: [leaf.fingerprint] },
    certificates: [leaf, ...chain.slice(0, MAX_CHAIN)].map(({ x509 }) => x509.raw.toString('base64')),
    ...(tenantId === null ? {} : { tenantId }),
  };
}

function split(text: string, by: string): [string, string] {
  const cut = text.indexOf(by);
  return cut < 0 ? [text, ''] : [text.slice(0, cut), text.slice(cut + 1)];
}
