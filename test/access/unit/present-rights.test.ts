import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/core/http/operation.js';
import { readProof } from '../../../src/services/access/certificates/encodings.js';
import { CertificateTrust } from '../../../src/services/access/certificates/trust.js';
import {
  buildPrincipal,
  buildUserIdentity,
  certifiedPrincipal,
} from '../../../src/services/access/identity/identity.js';
import { PresentRights, type PresentRightsDeps } from '../../../src/services/access/rules/present-rights.js';
import { NO_RULES } from '../../../src/services/access/rules/rules.js';
import type { StoredApiKey } from '../../../src/stores/access/api-keys.js';
import type { StoredUser } from '../../../src/stores/access/users.js';
import type { DocumentStore } from '../../../src/stores/state/documents.js';
import { AUTHORITY, FOR_CLIENTS, type IssuedCertificate, openAuthority } from '../../support/authority.js';

/** What callers of an earlier time may do now. */

const key = { id: '1', name: 'a key', permissions: ['processes:read'], expiresAt: null, revokedAt: null };
const user = {
  ...{ id: 'u', name: 'anna', roles: ['viewer'], claims: { region: ['north'] }, tenantId: 'acme' },
  ...{ isActive: true, providerId: null as string | null },
};
/** Rights where all of these are there. */
function rights(
  state: {
    key?: object;
    user?: object;
    scopes?: string[];
    isProvider?: boolean;
    trust?: CertificateTrust;
  } = {},
) {
  const deps: PresentRightsDeps = {
    apiKeys: { get: async () => ({ ...key, ...state.key }) as StoredApiKey },
    users: { get: async () => ({ ...user, ...state.user }) as unknown as StoredUser },
    clients: {
      find: async (id) =>
        ({ id, body: { name: 'client', allowedScopes: ['s'], expiresAt: null, revokedAt: null } }) as never,
      labelsOf: async () => state.scopes ?? ['processes:execute', 'admin:read'],
    },
    embedKeys: { principalById: () => undefined },
    certificates: state.trust as CertificateTrust,
    isProvider: async (name) => name === 'oidc' && state.isProvider !== false,
    rules: () => NO_RULES,
    admitted: (principal) => principal,
  };
  return new PresentRights(deps);
}

const caller = (kind: Principal['kind'], id: string, more: Partial<Principal> = {}): Principal => ({
  ...{ kind, id, name: 'before', permissions: ['*'], ...more },
});

describe('a caller has the rights of now', () => {
  it('by a key', async () => {
    const { permissions } = await rights().of(caller('api-key', '1'));
    expect(permissions).toEqual(['processes:read']);
  });

  it('as a user, with what a provider said', async () => {
    const claims = { region: ['south'], team: ['gis'] };
    const local = await rights().of(caller('user', 'u', { claims, roles: ['editor'] }));
    expect(local).toMatchObject({ tenantId: 'acme', roles: ['viewer'] });
    expect(local.claims).toEqual({ region: ['north'], sub: ['u'], name: ['anna'] });
    const provided = await rights({ user: { providerId: 'oidc' } }).of(providedUser(claims));
    expect(provided.claims).toEqual({ region: ['north'], team: ['gis'], sub: ['u'], name: ['anna'] });
  });

  it('as a user of a provider whose claims an administrator took away', async () => {
    const before = providedUser({ team: ['gis'] });
    expect(before.claims).toMatchObject({ region: ['north'] });
    const after = await rights({ user: { providerId: 'oidc', claims: {} } }).of(before);
    expect(after.claims).toEqual({ team: ['gis'], sub: ['u'], name: ['anna'] });
  });

  it('as a client, and none that its token had not', async () => {
    const { permissions } = await rights().of(
      caller('oauth-client', 'x', { permissions: ['processes:execute', 'features:write'] }),
    );
    expect(permissions).toEqual(['processes:execute']);
  });
});

/** Who came from a provider, while an administrator said what `user` has. */
function providedUser(claims: Record<string, string[]>): Principal {
  const stored = { ...user, providerId: 'oidc' } as unknown as StoredUser;
  return JSON.parse(JSON.stringify(buildPrincipal(buildUserIdentity(stored, claims), NO_RULES)));
}

describe('a certificate is judged again', () => {
  const DEVICE = 'urn:device';
  const authority = openAuthority();
  let root: IssuedCertificate;
  let middle: IssuedCertificate;
  let leaf: IssuedCertificate;
  beforeAll(() => {
    root = authority.issue('root', { extensions: [AUTHORITY] });
    middle = authority.issue('middle', { extensions: [AUTHORITY], by: root });
    leaf = authority.issue('leaf', { extensions: [FOR_CLIENTS, `subjectAltName=URI:${DEVICE}`], by: middle });
  });
  afterAll(() => authority.close());

  const mapping = {
    ...{ profileId: 'p', matchType: 'sanUri', matchValue: DEVICE, principalId: 'c', displayName: 'device' },
    ...{ roles: ['viewer'], tenantId: null, enabled: true, environmentScopes: [] },
    ...{ notBefore: null, notAfter: null },
  };
  async function trust(state: { mappings?: object[]; revocation?: object; mode?: 'Disabled' } = {}) {
    const profile = {
      ...{ environmentId: 'default', enabled: true, customTrustAnchorCertificates: [root.pem] },
      ...{ requireChainTrust: true, requireClientAuthenticationEku: true, allowedSanTypes: ['sanUri'] },
      ...{ acceptedIssuerThumbprints: [], acceptedIssuerSubjects: [], allowSubjectFallback: false },
      ...{ rotationGracePeriodDays: 0, expirationWarningThresholdDays: 30 },
    };
    const nothing = { fingerprintSha256: null, issuer: null, serialNumber: null };
    const revocation = { ...nothing, ...state.revocation, profileId: 'p', enabled: true };
    const bodies = (kind: string): object[] => {
      if (kind.startsWith('trust profile')) return [profile];
      return kind.startsWith('mapping') ? (state.mappings ?? [mapping]) : [revocation];
    };
    const list = async (kind: string) => bodies(kind).map((body) => ({ id: 'p', body }));
    const settings = { mode: state.mode ?? 'Optional', environmentId: 'default', header: '' } as const;
    const all = new CertificateTrust({ list } as unknown as DocumentStore, settings, async () => {});
    await all.load();
    return all;
  }

  /** Who came with it, as a draft keeps it. */
  async function earlier(): Promise<Principal> {
    const proof = readProof(leaf.pem + middle.pem, 'pem');
    const judgement = (await trust()).judge(proof, Date.now());
    if (judgement.code !== 'success') throw new Error(judgement.detail);
    return JSON.parse(JSON.stringify(certifiedPrincipal(judgement, proof, NO_RULES)));
  }
  const x509 = ({ pem }: IssuedCertificate) => new X509Certificate(pem);
  const computeFingerprint = (one: IssuedCertificate) =>
    x509(one).fingerprint256.replaceAll(':', '').toLowerCase();

  it('and lets in who it stands for, with the roles of now', async () => {
    const principal = await earlier();
    const editor = await trust({ mappings: [{ ...mapping, roles: ['editor'] }] });
    const present = await rights({ trust: editor }).of(principal);
    expect(present).toMatchObject({ id: 'c', roles: ['editor'], expiresAt: Date.parse(x509(leaf).validTo) });
  });

  it.each([
    ['revoked', () => ({ revocation: { fingerprintSha256: computeFingerprint(leaf) } })],
    [
      'revoked by its number',
      () => ({
        revocation: { issuer: 'CN=middle', serialNumber: x509(leaf).serialNumber.toLowerCase() },
      }),
    ],
    ['of a revoked authority', () => ({ revocation: { fingerprintSha256: computeFingerprint(middle) } })],
    ['no longer mapped, as another one is', () => ({ mappings: [{ ...mapping, matchValue: 'urn:other' }] })],
    ['mapped to somebody else', () => ({ mappings: [{ ...mapping, principalId: 'd' }] })],
    ['not looked at any more', () => ({ mode: 'Disabled' as const })],
  ])('and not let in when it is %s', async (_what, state) => {
    const present = rights({ trust: await trust(state()) });
    await expect(present.of(await earlier())).rejects.toMatchObject({ code: 'forbidden' });
  });
});

it.each([
  ['a key that is revoked', caller('api-key', '1'), { key: { revokedAt: 1 } }],
  ['a key that has expired', caller('api-key', '1'), { key: { expiresAt: 1 } }],
  ['a user who is not active', caller('user', 'u'), { user: { isActive: false } }],
  ['a user whose provider is off', caller('user', 'u'), { user: { providerId: 'oidc' }, isProvider: false }],
  ['an embed key that is gone', caller('embed-key', 'e'), {}],
])('%s has none', async (_what, principal, state) => {
  await expect(rights(state).of(principal)).rejects.toMatchObject({ code: 'forbidden' });
});
