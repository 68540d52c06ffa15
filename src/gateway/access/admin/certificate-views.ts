import Type, { type Static } from 'typebox';
import { CERTIFICATE_FAULTS, IDENTITY_TYPES } from '../../../core/access/client-certificates.js';
import type { StoredMapping, StoredRevocation } from '../../../services/access/certificates/profile.js';
import type { WholeProfile } from '../../../services/access/certificates/trust.js';
import { tagged } from '../../admin/entity-tags.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';

/** Trust in client certificates, as the wire has it. */

const Names = Type.Array(Type.String());
export const IdentitySchema = Type.Enum([...IDENTITY_TYPES]);

export const MappingSchema = Type.Object({
  mappingId: Type.String(),
  matchType: IdentitySchema,
  matchValue: Type.String(),
  principalId: Type.String(),
  displayName: Type.String(),
  roles: Names,
  tenantId: OptionalStringSchema,
  environmentScopes: Names,
  enabled: Type.Boolean(),
  notBefore: OptionalTimestampSchema,
  notAfter: OptionalTimestampSchema,
  revision: Type.Integer(),
});

export const RevocationSchema = Type.Object({
  revocationId: Type.String(),
  fingerprintSha256: OptionalStringSchema,
  issuer: OptionalStringSchema,
  serialNumber: OptionalStringSchema,
  reason: Type.String(),
  revokedAt: TimestampSchema,
  actor: Type.String(),
  enabled: Type.Boolean(),
});

export const ProfileSchema = Type.Object({
  profileId: Type.String(),
  environmentId: Type.String(),
  displayName: Type.String(),
  enabled: Type.Boolean(),
  acceptedIssuerThumbprints: Names,
  acceptedIssuerSubjects: Names,
  allowedSanTypes: Type.Array(IdentitySchema),
  allowSubjectFallback: Type.Boolean(),
  requireClientAuthenticationEku: Type.Boolean(),
  requireChainTrust: Type.Boolean(),
  chainRevocationMode: Type.Enum(['NoCheck', 'Offline', 'Online']),
  expirationWarningThresholdDays: Type.Integer(),
  rotationGracePeriodDays: Type.Integer(),
  customTrustAnchorCertificates: Names,
  revision: Type.Integer(),
  principalMappings: Type.Array(MappingSchema),
  revocations: Type.Array(RevocationSchema),
});

export const ValidationSchema = Type.Object({
  valid: Type.Boolean(),
  code: Type.Enum([
    'success',
    'client_certificate_missing',
    'client_certificate_forwarding_untrusted',
    'client_certificate_forwarding_invalid',
    ...CERTIFICATE_FAULTS,
  ]),
  detail: Type.String(),
  environmentId: OptionalStringSchema,
  trustProfileId: OptionalStringSchema,
  mappingId: OptionalStringSchema,
  principalId: OptionalStringSchema,
  fingerprintSha256: OptionalStringSchema,
  daysUntilExpiry: Type.Union([Type.Integer(), Type.Null()]),
});

export function mappingView({ id, etag: tag, version, body }: StoredMapping): Static<typeof MappingSchema> {
  const { profileId: _, roles, environmentScopes, notBefore, notAfter, ...members } = body;
  const view = {
    mappingId: id,
    ...members,
    roles: [...roles],
    environmentScopes: [...environmentScopes],
    notBefore: optionalTimestamp(notBefore),
    notAfter: optionalTimestamp(notAfter),
    revision: version,
  };
  return tagged(view, tag);
}

export function revocationView({ etag: tag, body }: StoredRevocation): Static<typeof RevocationSchema> {
  const { profileId: _, revokedAt, ...members } = body;
  return tagged({ ...members, revokedAt: timestamp(revokedAt) }, tag);
}

export function profileView(whole: WholeProfile): Static<typeof ProfileSchema> {
  const { id, etag: tag, version, body } = whole.profile;
  const view = {
    profileId: id,
    ...body,
    acceptedIssuerThumbprints: [...body.acceptedIssuerThumbprints],
    acceptedIssuerSubjects: [...body.acceptedIssuerSubjects],
    allowedSanTypes: [...body.allowedSanTypes],
    customTrustAnchorCertificates: [...body.customTrustAnchorCertificates],
    revision: version,
    principalMappings: whole.mappings.map(mappingView),
    revocations: whole.revocations.map(revocationView),
  };
  return tagged(view, tag);
}
