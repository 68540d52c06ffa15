import type {
  CertificateMapping,
  CertificateRevocation,
  TrustProfile,
} from '../../../core/access/client-certificates.js';
import type { StoredDocument } from '../../../stores/state/documents.js';
import { Certificate } from './certificate.js';
import { isSameName, plainIdentity, plainName } from './names.js';

export type StoredProfile = StoredDocument<TrustProfile>;
export type StoredMapping = StoredDocument<CertificateMapping>;
export type StoredRevocation = StoredDocument<CertificateRevocation>;

/** A trust profile with what belongs to it, ready to judge by. */
export class Profile {
  readonly id: string;
  readonly body: TrustProfile;
  readonly anchors: readonly Certificate[];
  readonly #mappings = new Map<string, StoredMapping[]>();
  readonly #revoked = new Set<string>();

  constructor(
    { id, body }: StoredProfile,
    mappings: readonly StoredMapping[],
    revocations: readonly StoredRevocation[],
  ) {
    this.id = id;
    this.body = body;
    this.anchors = body.customTrustAnchorCertificates.map((pem) => Certificate.read(pem));
    for (const mapping of mappings) if (mapping.body.enabled) this.#addMapping(mapping);
    for (const { body: revocation } of revocations) if (revocation.enabled) this.#addRevocation(revocation);
  }

  #addMapping(mapping: StoredMapping): void {
    const { matchType, matchValue } = mapping.body;
    for (const value of spellings(matchType, matchValue)) {
      const name = `${matchType} ${value}`;
      this.#mappings.set(name, [...(this.#mappings.get(name) ?? []), mapping]);
    }
  }

  #addRevocation({ fingerprintSha256, issuer, serialNumber }: CertificateRevocation): void {
    if (fingerprintSha256 !== null) this.#revoked.add(fingerprintSha256);
    if (issuer === null || serialNumber === null) return;
    for (const name of spellings('subject', issuer)) this.#revoked.add(`${name} ${serialNumber}`);
  }

  /** Mappings of one identity, the oldest first. */
  mappings(type: CertificateMapping['matchType'], value: string): readonly StoredMapping[] {
    return this.#mappings.get(`${type} ${value}`) ?? [];
  }

  isRevoked({ fingerprint, issuer, serial }: Certificate): boolean {
    return this.#revoked.has(fingerprint) || this.#revoked.has(`${issuer} ${serial}`);
  }

  /** Whether the profile lists this authority. */
  acceptsName(issuer: string): boolean {
    return this.body.acceptedIssuerSubjects.some((name) => isSameName(name, issuer));
  }
}

/** A distinguished name may be written from either end. */
function spellings(type: CertificateMapping['matchType'], value: string): readonly string[] {
  if (type !== 'subject') return [plainIdentity(type, value) ?? value];
  const name = plainName(value) ?? value;
  return [...new Set([name, name.split('\n').reverse().join('\n')])];
}
