import { randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import type {
  CertificateMapping,
  CertificateRevocation,
  TrustProfile,
} from '../../../core/access/client-certificates.js';
import { type BodyProblem, problem, requireSound } from '../../../core/http/body-problems.js';
import type { Principal } from '../../../core/http/operation.js';
import { readAll, UnreadableCertificate } from '../../../services/access/certificates/encodings.js';
import {
  plainFingerprint,
  plainIdentity,
  plainName,
  plainSerial,
} from '../../../services/access/certificates/names.js';
import { requireHeld } from '../../../services/access/permissions.js';
import { requireBound } from '../../../services/access/rules/restrictions.js';
import type { RuleSet } from '../../../services/access/rules/rules.js';
import type { Services } from '../../admin/deps.js';
import { roleLabels } from '../user-views.js';
import type { MappingBody, ProfilePatch, RevocationBody } from './certificate-bodies.js';

/** Changes to trust profiles and certificate mappings, with the checks that schemas cannot express. */

const NEW_PROFILE: TrustProfile = {
  environmentId: '',
  displayName: '',
  enabled: true,
  acceptedIssuerThumbprints: [],
  acceptedIssuerSubjects: [],
  allowedSanTypes: ['sanUri', 'sanEmail', 'sanDns'],
  allowSubjectFallback: false,
  requireClientAuthenticationEku: true,
  requireChainTrust: false,
  chainRevocationMode: 'NoCheck',
  expirationWarningThresholdDays: 30,
  rotationGracePeriodDays: 0,
  customTrustAnchorCertificates: [],
};

/** Throws 400 with the name of the invalid member. */
export function changedProfile(
  before: TrustProfile | undefined,
  input: Static<typeof ProfilePatch>,
): TrustProfile {
  const after = { ...(before ?? NEW_PROFILE), ...buildMembers(NEW_PROFILE, input) } as Draft;
  const { acceptedIssuerThumbprints: thumbprints, acceptedIssuerSubjects: subjects } = after;
  const anchors = after.customTrustAnchorCertificates;
  requireSound([
    after.chainRevocationMode === 'NoCheck'
      ? undefined
      : problem(
          'chainRevocationMode',
          'must be NoCheck. The server does not query revocation lists and services of authorities',
        ),
    ...thumbprints.map((one, n) =>
      plainFingerprint(one)
        ? undefined
        : problem(`acceptedIssuerThumbprints/${n}`, 'must be a SHA-256 fingerprint'),
    ),
    ...subjects.map((one, n) =>
      plainName(one)
        ? undefined
        : problem(
            `acceptedIssuerSubjects/${n}`,
            'must be a distinguished name, for example CN=example,O=Example',
          ),
    ),
    ...anchors.map((one, n) => anchorProblem(one, n)),
    after.requireChainTrust && anchors.length + thumbprints.length === 0 && subjects.length > 0
      ? problem(
          'customTrustAnchorCertificates',
          'are required with requireChainTrust. The roots of the operating system are not used',
        )
      : undefined,
  ]);
  return {
    ...after,
    displayName: after.displayName || after.environmentId,
    chainRevocationMode: 'NoCheck',
    acceptedIssuerThumbprints: thumbprints.map((one) => plainFingerprint(one)!),
    customTrustAnchorCertificates: anchors.flatMap((one) => readAll(one, 'pem').map(formatPem)),
  };
}

type Draft = Omit<TrustProfile, 'chainRevocationMode'> & { chainRevocationMode: string };

/** Members of a shape that an input has. */
function buildMembers<T extends object>(shape: T, input: object): Partial<T> {
  const entries = Object.entries(input).filter(([name, value]) => name in shape && value !== undefined);
  return Object.fromEntries(entries) as Partial<T>;
}

function anchorProblem(pem: string, n: number): BodyProblem | undefined {
  try {
    readAll(pem, 'pem');
    return undefined;
  } catch (error) {
    if (!(error instanceof UnreadableCertificate)) throw error;
    return problem(`customTrustAnchorCertificates/${n}`, `cannot be read: ${error.message}`);
  }
}

const formatPem = ({ x509 }: ReturnType<typeof readAll>[number]) => x509.toString();

const NEW_MAPPING: CertificateMapping = {
  profileId: '',
  matchType: 'sanUri',
  matchValue: '',
  principalId: '',
  displayName: '',
  roles: [],
  tenantId: null,
  environmentScopes: [],
  enabled: true,
  notBefore: null,
  notAfter: null,
};

/** Throws 400 with the name of the invalid member. */
export function changedMapping(
  before: CertificateMapping | undefined,
  input: Static<typeof MappingBody> & { readonly profileId: string },
): CertificateMapping {
  const { notBefore, notAfter, ...members } = input;
  const times = { ...buildTime('notBefore', notBefore), ...buildTime('notAfter', notAfter) };
  const after = { ...(before ?? NEW_MAPPING), ...buildMembers(NEW_MAPPING, members), ...times };
  const value = plainIdentity(after.matchType, after.matchValue);
  const isOrdered = after.notBefore === null || after.notAfter === null || after.notBefore < after.notAfter;
  requireSound([
    value === undefined ? problem('matchValue', `must be a ${after.matchType}`) : undefined,
    isOrdered ? undefined : problem('notAfter', 'must be later than notBefore'),
  ]);
  // A distinguished name is stored unchanged.
  const matchValue = after.matchType === 'subject' ? after.matchValue : value!;
  return { ...after, matchValue, displayName: after.displayName || after.principalId };
}

function buildTime(name: 'notBefore' | 'notAfter', text: string | null | undefined) {
  if (text === undefined) return {};
  return { [name]: text === null ? null : Date.parse(text) };
}

/**
 * Throws 400 for a second mapping of the same value: the identity of a caller must not depend on the order of
 * mappings.
 */
export function requireNoOther(
  { matchType, matchValue, enabled }: CertificateMapping,
  others: readonly { readonly body: CertificateMapping }[],
): void {
  const isSame = ({ body }: { readonly body: CertificateMapping }) =>
    body.enabled && body.matchType === matchType && body.matchValue === matchValue;
  requireSound([
    enabled && others.some(isSame)
      ? problem('matchValue', 'is already mapped by the profile. Change that mapping')
      : undefined,
  ]);
}

/** Throws 400 with the name of the invalid member. */
export function newRevocation(
  profileId: string,
  input: Static<typeof RevocationBody>,
  by: string,
): CertificateRevocation {
  const { revocationId, fingerprintSha256, issuer, serialNumber, reason } = input;
  const fingerprint = fingerprintSha256 ? plainFingerprint(fingerprintSha256) : null;
  const serial = serialNumber ? plainSerial(serialNumber) : null;
  requireSound([
    fingerprint === undefined ? problem('fingerprintSha256', 'must be a SHA-256 fingerprint') : undefined,
    serial === undefined ? problem('serialNumber', 'must be a hexadecimal number') : undefined,
    issuer && !plainName(issuer)
      ? problem('issuer', 'must be a distinguished name, for example CN=example,O=Example')
      : undefined,
    fingerprintSha256 || (issuer && serialNumber)
      ? undefined
      : problem('fingerprintSha256', 'is required, or issuer and serialNumber'),
  ]);
  return {
    profileId,
    revocationId: revocationId ?? randomUUID(),
    fingerprintSha256: fingerprint ?? null,
    issuer: issuer ?? null,
    serialNumber: serial ?? null,
    reason: reason || 'unspecified',
    revokedAt: Date.now(),
    actor: by,
    enabled: true,
  };
}

/**
 * Throws `forbidden`. A caller who can change trust could sign in as any mapped user, and callers may grant only what
 * they hold.
 */
export function requireRights(
  principal: Principal,
  mappings: readonly { readonly body: CertificateMapping }[],
  { rules }: Services<'rules'>,
): void {
  for (const { body } of mappings) {
    requireHeld(principal, listLabels(body, rules.current));
    requireBound(principal, body, rules.current);
  }
}

function listLabels({ principalId, roles, tenantId }: CertificateMapping, rules: RuleSet): readonly string[] {
  const tenant = tenantId === null ? [] : [`tenant:${tenantId}`];
  return [...roleLabels(roles), ...rules.labelsOf(roles), `claim:sub=${principalId}`, ...tenant];
}
