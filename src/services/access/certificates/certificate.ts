import { X509Certificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate as CertificateSyntax,
  type Extension,
  id_ce_basicConstraints,
  id_ce_certificatePolicies,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509';
import type { IdentityType } from '../../../core/access/client-certificates.js';
import { plainFingerprint, plainIdentity, plainName, plainSerial } from './names.js';

const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2';

/** Supported critical extensions. A certificate with another critical extension must be rejected (RFC 5280, 4.2). */
const UNDERSTOOD: readonly string[] = [
  id_ce_basicConstraints,
  id_ce_certificatePolicies,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
];

type AlternativeType = Extract<IdentityType, `san${string}`>;

/** A certificate with the properties that the checks need. */
export class Certificate {
  readonly fingerprint: string;
  readonly serial: string;
  readonly subject: string;
  readonly issuer: string;
  /** Milliseconds since 1970. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly isForClients: boolean;
  readonly isAuthority: boolean;
  /** Authorities that may stand between this one and a holder. */
  readonly pathLength: number;
  /** Number of a critical extension that is not understood. */
  readonly strange: string | undefined;
  readonly #names: ReadonlyMap<AlternativeType, readonly string[]>;

  private constructor(readonly x509: X509Certificate) {
    const extensions: readonly Extension[] =
      AsnConvert.parse(x509.raw, CertificateSyntax).tbsCertificate.extensions ?? [];
    this.fingerprint = plainFingerprint(x509.fingerprint256)!;
    this.serial = plainSerial(x509.serialNumber) ?? '0';
    this.subject = plainName(x509.subject ?? '') ?? '';
    this.issuer = plainName(x509.issuer ?? '') ?? '';
    this.notBefore = Date.parse(x509.validFrom);
    this.notAfter = Date.parse(x509.validTo);
    this.isForClients = x509.keyUsage?.includes(CLIENT_AUTHENTICATION) ?? false;
    this.isAuthority = x509.ca;
    this.pathLength = computePathLength(extensions);
    this.strange = extensions.find(
      ({ critical, extnID }) => critical && !UNDERSTOOD.includes(extnID),
    )?.extnID;
    this.#names = alternativeNames(extensions);
  }

  /** Reads PEM or DER. Throws if the bytes are not a certificate. */
  static read(bytes: string | Uint8Array): Certificate {
    return new Certificate(new X509Certificate(bytes as Buffer));
  }

  /** Values of this member that identify the holder. */
  identities(type: IdentityType): readonly string[] {
    if (type === 'fingerprintSha256') return [this.fingerprint];
    if (type === 'subject') return this.subject === '' ? [] : [this.subject];
    return this.#names.get(type) ?? [];
  }

  isValidAt(time: number): boolean {
    return this.notBefore <= time && time <= this.notAfter;
  }

  /** Whether this authority signed the other one. */
  hasSigned({ x509 }: Certificate): boolean {
    if (!this.isAuthority || !x509.checkIssued(this.x509)) return false;
    try {
      return x509.verify(this.x509.publicKey);
    } catch {
      // A key of a kind that is not supported.
      return false;
    }
  }
}

function computePathLength(extensions: readonly Extension[]): number {
  const constraints = extensions.find(({ extnID }) => extnID === id_ce_basicConstraints);
  const length = constraints && AsnConvert.parse(constraints.extnValue, BasicConstraints).pathLenConstraint;
  return length ?? Number.POSITIVE_INFINITY;
}

function alternativeNames(extensions: readonly Extension[]): Map<AlternativeType, string[]> {
  const names = new Map<AlternativeType, string[]>();
  const add = (type: AlternativeType, value: string | undefined) => {
    const plain = value === undefined ? undefined : plainIdentity(type, value);
    if (plain !== undefined) names.set(type, [...(names.get(type) ?? []), plain]);
  };
  const extension = extensions.find(({ extnID }) => extnID === id_ce_subjectAltName);
  const all = extension ? AsnConvert.parse(extension.extnValue, SubjectAlternativeName) : [];
  for (const { uniformResourceIdentifier, rfc822Name, dNSName } of all) {
    add('sanUri', uniformResourceIdentifier);
    add('sanEmail', rfc822Name);
    add('sanDns', dNSName);
  }
  return names;
}
