import { randomUUID } from 'node:crypto';
import type {
  CertificateHeader,
  CertificateMapping,
  CertificateMode,
  CertificateRevocation,
  TrustProfile,
} from '../../../core/access/client-certificates.js';
import { notFound } from '../../../core/errors/errors.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import { type Judgement, judge, type Proof } from './judgement.js';
import { Profile, type StoredMapping, type StoredProfile, type StoredRevocation } from './profile.js';

/** Kinds of the documents, as messages call them. */
const KINDS = {
  profile: 'trust profile of client certificates',
  mapping: 'mapping of client certificates',
  revocation: 'revocation of a client certificate',
} as const;

/** Kind of the documents that say whose a certificate is. */
export const MAPPING_KIND = KINDS.mapping;

/** Whether documents of a kind determine the holders of certificates. */
export const isAboutCertificates = (kind: string) => Object.values<string>(KINDS).includes(kind);

/** A profile with what belongs to it. */
export interface WholeProfile {
  readonly profile: StoredProfile;
  readonly mappings: readonly StoredMapping[];
  readonly revocations: readonly StoredRevocation[];
}

/** When certificates are taken, and from where. */
export interface CertificateSettings {
  readonly mode: CertificateMode;
  readonly environmentId: string;
  readonly header: CertificateHeader;
}

/** Trust settings for client certificates: profiles, mappings and revocations of the state. */
export class CertificateTrust {
  #profiles: readonly Profile[] = [];

  constructor(
    private readonly documents: DocumentStore,
    readonly settings: CertificateSettings,
    private readonly settle: () => Promise<void>,
  ) {}

  async load(): Promise<void> {
    this.#profiles = (await this.list()).map(
      ({ profile, mappings, revocations }) => new Profile(profile, mappings, revocations),
    );
  }

  /** The profiles of this environment. */
  get current(): readonly Profile[] {
    const isCurrent = ({ body }: Profile) =>
      body.enabled && body.environmentId === this.settings.environmentId;
    return this.#profiles.filter(isCurrent);
  }

  /** Checks a certificate and finds its holder. With `profileId`, only that profile is used. */
  judge(proof: Proof, now: number, profileId?: string): Judgement {
    const profiles =
      profileId === undefined ? this.#profiles : this.#profiles.filter(({ id }) => id === profileId);
    return judge(proof, { profiles, environmentId: this.settings.environmentId, now });
  }

  async list(): Promise<WholeProfile[]> {
    const list = <T>(kind: string) => this.documents.list<T>(kind);
    const [profiles, mappings, revocations] = await Promise.all([
      list<TrustProfile>(KINDS.profile),
      list<CertificateMapping>(KINDS.mapping),
      list<CertificateRevocation>(KINDS.revocation),
    ]);
    const mappingsOf = byProfile(mappings);
    const revocationsOf = byProfile(revocations);
    return profiles.map((profile) => ({
      profile,
      mappings: mappingsOf.get(profile.id) ?? [],
      revocations: revocationsOf.get(profile.id) ?? [],
    }));
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<WholeProfile> {
    return (await this.list()).find(({ profile }) => profile.id === id) ?? missing('profile', id);
  }

  async create(body: TrustProfile, by: string): Promise<WholeProfile> {
    const { id } = await this.#rules().create(KINDS.profile, randomUUID(), body, by);
    return this.#settled(id);
  }

  /** Throws `not-found` and `precondition-failed`. */
  async update(
    id: string,
    by: string,
    change: (before: TrustProfile) => TrustProfile,
    ifMatch?: readonly string[],
  ): Promise<WholeProfile> {
    await this.#rules().update(KINDS.profile, id, by, change, ifMatch);
    return this.#settled(id);
  }

  async addMapping(body: CertificateMapping, by: string): Promise<StoredMapping> {
    return this.#changePart(body.profileId, (rules) => rules.create(KINDS.mapping, randomUUID(), body, by));
  }

  /** Throws `not-found` and `precondition-failed`. */
  async changeMapping(
    { profileId, mappingId }: { readonly profileId: string; readonly mappingId: string },
    by: string,
    change: (before: CertificateMapping) => CertificateMapping,
    ifMatch?: readonly string[],
  ): Promise<StoredMapping> {
    const ofProfile = (before: CertificateMapping) => {
      if (before.profileId !== profileId) missing('mapping', mappingId);
      return change(before);
    };
    return this.#changePart(profileId, (rules) =>
      rules.update(KINDS.mapping, mappingId, by, ofProfile, ifMatch),
    );
  }

  /** Throws `conflict` when the profile has one of the id. */
  async revoke(body: CertificateRevocation, by: string): Promise<StoredRevocation> {
    const id = documentId(body.profileId, body.revocationId);
    return this.#changePart(body.profileId, (rules) => rules.create(KINDS.revocation, id, body, by));
  }

  /** Throws `not-found` and `precondition-failed`. */
  async unrevoke(profileId: string, revocationId: string, ifMatch?: readonly string[]): Promise<void> {
    const id = documentId(profileId, revocationId);
    await this.#changePart(profileId, async (rules) => {
      if (!(await rules.remove(KINDS.revocation, id, ifMatch))) missing('revocation', revocationId);
    });
  }

  /** Changes a mapping or a revocation, and with it the etag of the profile, which shows both. */
  async #changePart<T>(profileId: string, change: (rules: DocumentStore) => Promise<T>): Promise<T> {
    const changed = await this.#rules().together([KINDS.profile, profileId], async (rules) => {
      await rules.touch(KINDS.profile, profileId);
      return change(rules);
    });
    await this.settle();
    return changed;
  }

  async #settled(id: string): Promise<WholeProfile> {
    await this.settle();
    return this.get(id);
  }

  #rules(): DocumentStore {
    return this.documents.announcing('access');
  }
}

/** Id of a revocation document. The creator chooses the revocation id, which is unique within the profile. */
const documentId = (profileId: string, revocationId: string) => `${profileId}/${revocationId}`;

function byProfile<T extends { readonly body: { readonly profileId: string } }>(all: readonly T[]) {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(one.body.profileId, [...(groups.get(one.body.profileId) ?? []), one]);
  return groups;
}

function missing(what: keyof typeof KINDS, id: string): never {
  throw notFound(KINDS[what], id);
}
