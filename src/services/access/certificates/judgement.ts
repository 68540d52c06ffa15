import {
  CERTIFICATE_FAULTS,
  type CertificateFault,
  type CertificateMapping,
  type IdentityType,
} from '../../../core/access/client-certificates.js';
import type { Certificate } from './certificate.js';
import { findIssuer, pathTo } from './chain.js';
import type { Profile, StoredMapping } from './profile.js';

const DAY_MS = 86_400_000;

/** A certificate and the chain that the client sent with it. */
export interface Proof {
  readonly leaf: Certificate;
  readonly chain: readonly Certificate[];
}

/** Rules and time for the check of a certificate. */
export interface Court {
  readonly profiles: readonly Profile[];
  readonly environmentId: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

interface About {
  readonly detail: string;
  readonly profile?: Profile;
  readonly mapping?: StoredMapping;
}
export type Success = About & {
  readonly code: 'success';
  readonly profile: Profile;
  readonly mapping: StoredMapping;
};

export type Judgement = Success | (About & { readonly code: CertificateFault });

/** Full days until a certificate expires. Negative after it has expired. */
export function daysLeft({ notAfter }: Certificate, now: number): number {
  return Math.floor((notAfter - now) / DAY_MS);
}

/**
 * Time at which the accepted certificate (with the grace period of its profile) or its mapping expires, in
 * milliseconds since 1970.
 */
export function computeExpiry({ profile, mapping }: Success, { notAfter }: Certificate): number {
  const end = notAfter + profile.body.rotationGracePeriodDays * DAY_MS;
  return Math.min(end, mapping.body.notAfter ?? Number.POSITIVE_INFINITY);
}

/**
 * Checks a certificate and finds its holder. The profiles of this environment are tried one after another. If none
 * accepts it, the fault is from the profile whose checks got furthest.
 */
export function judge(proof: Proof, court: Court): Judgement {
  const enabled = court.profiles.filter(({ body }) => body.enabled);
  const isHere = ({ body }: Profile) => body.environmentId === court.environmentId;
  const judgements = enabled.filter(isHere).map((profile) => judgeBy(profile, proof, court));
  const best = judgements.reduce<Judgement>((one, other) => (rank(other) > rank(one) ? other : one), NOBODY);
  if (rank(best) > computeRank('client_certificate_untrusted_chain')) return best;
  const elsewhere = enabled.find((profile) => !isHere(profile) && !trustFault(profile, proof, court.now));
  return elsewhere ? ofOther(elsewhere) : best;
}

const NOBODY: Judgement = {
  code: 'client_certificate_untrusted_issuer',
  detail: 'No trust profile of this environment accepts the issuer.',
};

function ofOther(profile: Profile): Judgement {
  const detail = `The certificate is for the environment '${profile.body.environmentId}'.`;
  return { code: 'client_certificate_wrong_environment', detail, profile };
}

const computeRank = (code: CertificateFault) => CERTIFICATE_FAULTS.indexOf(code);
const rank = ({ code }: Judgement) => (code === 'success' ? Number.POSITIVE_INFINITY : computeRank(code));

type Fault = Judgement & { readonly code: CertificateFault };

function judgeBy(profile: Profile, proof: Proof, court: Court): Judgement {
  const { leaf } = proof;
  const fault =
    trustFault(profile, proof, court.now) ??
    revocationFault(profile, proof, court.now) ??
    timeFault(profile, leaf, court.now) ??
    useFault(profile, leaf);
  return fault ?? buildMapping(profile, leaf, court);
}

function refusal(profile: Profile, code: CertificateFault, detail: string): Fault {
  return { code, detail, profile };
}

/** Checks the issuer and the chain of the certificate. */
function trustFault(profile: Profile, proof: Proof, now: number): Fault | undefined {
  const { leaf } = proof;
  if (!acceptsIssuer(profile, proof))
    return refusal(
      profile,
      'client_certificate_untrusted_issuer',
      'The issuer is not accepted by the trust profile.',
    );
  if (leaf.strange !== undefined)
    return refusal(
      profile,
      'client_certificate_untrusted_chain',
      `The critical extension ${leaf.strange} is not supported.`,
    );
  if (!profile.body.requireChainTrust && profile.anchors.length === 0) return undefined;
  if (listAuthorities(profile, proof, now)) return undefined;
  const detail = 'No chain of valid signatures leads to a trust anchor.';
  return refusal(profile, 'client_certificate_untrusted_chain', detail);
}

/**
 * The path to an anchor of the profile. If the profile has no anchors, the path to an authority whose thumbprint it
 * accepts.
 */
function listAuthorities(profile: Profile, { leaf, chain }: Proof, now: number) {
  const { acceptedIssuerThumbprints: thumbprints } = profile.body;
  const pinned = chain.filter(({ fingerprint }) => thumbprints.includes(fingerprint));
  return pathTo(profile.anchors.length > 0 ? profile.anchors : pinned, leaf, chain, now);
}

/**
 * Whether the profile accepts the issuer. A profile that lists no issuers accepts the issuers of its anchors. Without
 * anchors it accepts no issuer.
 */
function acceptsIssuer(profile: Profile, { leaf, chain }: Proof): boolean {
  const { acceptedIssuerThumbprints: thumbprints, acceptedIssuerSubjects: subjects } = profile.body;
  if (thumbprints.length === 0 && subjects.length === 0) return profile.anchors.length > 0;
  if (profile.acceptsName(leaf.issuer)) return true;
  if (thumbprints.length === 0) return false;
  const issuer = findIssuer(leaf, [...profile.anchors, ...chain]);
  return issuer !== undefined && thumbprints.includes(issuer.fingerprint);
}

function revocationFault(profile: Profile, proof: Proof, now: number): Fault | undefined {
  if (profile.isRevoked(proof.leaf))
    return refusal(profile, 'client_certificate_revoked', 'The certificate is revoked.');
  const isRevoked = listAuthorities(profile, proof, now)?.some((one) => profile.isRevoked(one));
  return isRevoked
    ? refusal(profile, 'client_certificate_revoked', 'An authority of the chain is revoked.')
    : undefined;
}

function timeFault(profile: Profile, { notBefore, notAfter }: Certificate, now: number): Fault | undefined {
  if (now < notBefore)
    return refusal(profile, 'client_certificate_not_yet_valid', 'The certificate is not valid yet.');
  const graceMs = profile.body.rotationGracePeriodDays * DAY_MS;
  if (now > notAfter + graceMs)
    return refusal(profile, 'client_certificate_expired', 'The certificate has expired.');
  return undefined;
}

function useFault(profile: Profile, { isForClients }: Certificate): Fault | undefined {
  if (isForClients || !profile.body.requireClientAuthenticationEku) return undefined;
  const detail = 'The extended key usage does not include client authentication.';
  return refusal(profile, 'client_certificate_invalid_eku', detail);
}

function buildMapping(profile: Profile, leaf: Certificate, { environmentId, now }: Court): Judgement {
  const identities = listIdentities(profile, leaf);
  const all = identities.flatMap(([type, value]) => profile.mappings(type, value));
  const current = all.filter(({ body }) => isCurrent(body, now));
  const mapping = current.find(({ body }) => isFor(body, environmentId));
  if (mapping) return { code: 'success', detail: 'The certificate is valid.', profile, mapping };
  if (current.length > 0)
    return refusal(profile, 'client_certificate_wrong_environment', 'The mapping is for other environments.');
  // Every certificate has its fingerprint.
  return identities.length > 1
    ? refusal(
        profile,
        'client_certificate_unmapped_identity',
        'No mapping applies to the holder of the certificate.',
      )
    : refusal(profile, 'client_certificate_missing_identity', 'The certificate does not name a holder.');
}

type Identity = readonly [IdentityType, string];

/** Identities in the certificate, the strongest first. The fingerprint is always allowed. */
function listIdentities({ body }: Profile, leaf: Certificate): readonly Identity[] {
  const of = (type: IdentityType) => leaf.identities(type).map((value): Identity => [type, value]);
  const types = body.allowedSanTypes.filter((type) => type !== 'fingerprintSha256');
  const names = types.flatMap(of);
  const fallback = names.length === 0 && body.allowSubjectFallback ? of('subject') : [];
  return [...of('fingerprintSha256'), ...names, ...fallback];
}

function isCurrent({ notBefore, notAfter }: CertificateMapping, now: number): boolean {
  return (notBefore === null || notBefore <= now) && (notAfter === null || now <= notAfter);
}

function isFor({ environmentScopes }: CertificateMapping, environmentId: string): boolean {
  return environmentScopes.length === 0 || environmentScopes.includes(environmentId);
}
