/** Client certificates: when they are asked for, whom they are believed to be, and what is kept of that. */

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

/** What of a certificate names its holder. */
export const IDENTITY_TYPES = ['fingerprintSha256', 'sanUri', 'sanEmail', 'sanDns', 'subject'] as const;
export type IdentityType = (typeof IDENTITY_TYPES)[number];

/** What can be wrong with a certificate, in the order in which it is looked at. */
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

/** Which certificates are trusted, as documents keep it. */
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

/** Who a holder is. */
export interface CertificateMapping {
  readonly profileId: string;
  readonly matchType: IdentityType;
  readonly matchValue: string;
  readonly principalId: string;
  readonly displayName: string;
  readonly roles: readonly string[];
  readonly tenantId: string | null;
  /** Environments that it holds in; that of the profile when empty. */
  readonly environmentScopes: readonly string[];
  readonly enabled: boolean;
  /** Milliseconds since 1970. */
  readonly notBefore: number | null;
  readonly notAfter: number | null;
}

/** A certificate that is not believed any more: by its fingerprint, or by its issuer and number. */
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
