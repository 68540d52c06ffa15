import Type from 'typebox';
import { ENCODINGS } from '../../../services/access/certificates/encodings.js';
import { NAME_SCHEMA } from '../../admin/rule-schemas.js';
import { IdentitySchema } from './certificate-views.js';

/** Bodies of requests about client certificates. */

const optional = Type.Optional;
const Environment = Type.String({ pattern: '^[\\w.-]{1,100}$' });
const Texts = (maxItems: number, maxLength: number) =>
  Type.Array(Type.String({ minLength: 1, maxLength }), { maxItems });
const Time = optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()]));
const OptionalName = optional(Type.Union([NAME_SCHEMA, Type.Null()]));

const PROFILE = {
  displayName: optional(NAME_SCHEMA),
  enabled: optional(Type.Boolean()),
  acceptedIssuerThumbprints: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      maxItems: 100,
      description:
        'SHA-256 fingerprints of the certificates of issuers, which must be among the anchors or come along.',
    }),
  ),
  acceptedIssuerSubjects: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1000 }), {
      maxItems: 100,
      description: 'Distinguished names of issuers. A name does not prove the issuer; see requireChainTrust.',
    }),
  ),
  allowedSanTypes: optional(Type.Array(IdentitySchema, { minItems: 1, maxItems: 5, uniqueItems: true })),
  allowSubjectFallback: optional(Type.Boolean()),
  requireClientAuthenticationEku: optional(Type.Boolean()),
  requireChainTrust: optional(Type.Boolean()),
  chainRevocationMode: optional(
    Type.Enum(['NoCheck', 'Offline', 'Online'], {
      description: 'Only NoCheck is supported. The profile lists revoked certificates.',
    }),
  ),
  expirationWarningThresholdDays: optional(Type.Integer({ minimum: 0, maximum: 3650 })),
  rotationGracePeriodDays: optional(Type.Integer({ minimum: 0, maximum: 365 })),
  customTrustAnchorCertificates: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 20_000 }), {
      maxItems: 20,
      description: 'PEM. Chains must lead to one of them where there are any.',
    }),
  ),
};

export const ProfileBody = Type.Object({ environmentId: Environment, ...PROFILE });
export const ProfilePatch = Type.Object({ environmentId: optional(Environment), ...PROFILE });

export const MappingBody = Type.Object({
  matchType: IdentitySchema,
  matchValue: Type.String({ minLength: 1, maxLength: 1000 }),
  principalId: Type.String({ pattern: '^[!-~]{1,200}$' }),
  displayName: optional(NAME_SCHEMA),
  roles: optional(Texts(100, 200)),
  tenantId: OptionalName,
  environmentScopes: optional(Type.Array(Environment, { maxItems: 100 })),
  enabled: optional(Type.Boolean()),
  notBefore: Time,
  notAfter: Time,
});

const Part = optional(Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Null()]));
export const RevocationBody = Type.Object({
  revocationId: optional(Type.Union([Type.String({ pattern: '^[\\w.-]{1,100}$' }), Type.Null()])),
  fingerprintSha256: Part,
  issuer: Part,
  serialNumber: Part,
  reason: optional(Type.Union([Type.String({ maxLength: 500 }), Type.Null()])),
});

export const ValidationBody = Type.Object({
  certificate: Type.String({ maxLength: 100_000 }),
  encoding: optional(Type.Enum([...ENCODINGS])),
  profileId: OptionalName,
});
