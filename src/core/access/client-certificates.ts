/** Client certificates: modes, identities, faults, and the documents of trust profiles. */

export const CERTIFICATE_MODES = [
  'Disabled',
  'Optional',
  'RequiredForNative',
  'RequiredForAdmin',
  'RequiredForEnvironment',
] as const;
export type CertificateMode = (typeof CERTIFICATE_MODES)[number];

/** Headers in which proxies pass a certificate on; empty: none does. */
export const CERTIFICATE_HEADERS = [
  '',
  'Client-Cert',
  'X-SSL-Client-Cert',
  'X-Forwarded-Client-Cert',
] as const;
export type CertificateHeader = (typeof CERTIFICATE_HEADERS)[number];

/** Parts of a certificate that can identify its holder. */
export const IDENTITY_TYPES = ['fingerprintSha256', 'sanUri', 'sanEmail', 'sanDns', 'subject'] as const;
export type IdentityType = (typeof IDENTITY_TYPES)[number];

/** Faults of a certificate in the order of the checks. */
export const CERTIFICATE_FAULTS = [
  'client_certificate_untrusted_issuer',
  'client_certificate_untrusted_chain',
  'client_certificate_revoked',
  'client_certificate_not_yet_valid',
  'client_certificate_expired',
  'client_certificate_invalid_eku',
  'client_certificate_missing_identity',
  'client_certificate_unmapped_identity',
  'client_certificate_wrong_environment',
  'client_certificate_insufficient_rbac',
] as const;
export type CertificateFault = (typeof CERTIFICATE_FAULTS)[number];

/** Trust profile as stored: the rules for trusted certificates. */
export interface TrustProfile {
  readonly environmentId: string;
  readonly displayName: string;
  readonly enabled: boolean;
  /** SHA-256 of the issuer's certificate, 64 small hexadecimal digits. */
  readonly acceptedIssuerThumbprints: readonly string[];
  readonly acceptedIssuerSubjects: readonly string[];
  readonly allowedSanTypes: readonly IdentityType[];
  readonly allowSubjectFallback: boolean;
  readonly requireClientAuthenticationEku: boolean;
  readonly requireChainTrust: boolean;
  readonly chainRevocationMode: 'NoCheck';
  readonly expirationWarningThresholdDays: number;
  readonly rotationGracePeriodDays: number;
  /** PEM. */
  readonly customTrustAnchorCertificates: readonly string[];
}

/** Mapping from certificate holders to principals. */
export interface CertificateMapping {
  readonly profileId: string;
  readonly matchType: IdentityType;
  readonly matchValue: string;
  readonly principalId: string;
  readonly displayName: string;
  readonly roles: readonly string[];
  readonly tenantId: string | null;
  /** Environments in which the mapping applies. Empty: the environment of the profile. */
  readonly environmentScopes: readonly string[];
  readonly enabled: boolean;
  /** Milliseconds since 1970. */
  readonly notBefore: number | null;
  readonly notAfter: number | null;
}

/** Revoked certificate, identified by its fingerprint, or by its issuer and serial number. */
export interface CertificateRevocation {
  readonly profileId: string;
  readonly revocationId: string;
  readonly fingerprintSha256: string | null;
  readonly issuer: string | null;
  readonly serialNumber: string | null;
  readonly reason: string;
  readonly revokedAt: number;
  readonly actor: string;
  readonly enabled: boolean;
}
