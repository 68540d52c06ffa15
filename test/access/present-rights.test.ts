import { describe, expect, it } from 'vitest';
import type { CertificateMapping } from '../../src/core/client-certificates.js';
import type { Principal } from '../../src/core/operation.js';
import { PresentRights, type PresentRightsDeps } from '../../src/services/access/present-rights.js';
import { NO_RULES } from '../../src/services/access/rules.js';
import type { StoredApiKey } from '../../src/stores/api-keys.js';
import type { StoredUser } from '../../src/stores/users.js';

/** What callers of an earlier time may do now. */

const key = { id: '1', name: 'a key', permissions: ['processes:read'], expiresAt: null, revokedAt: null };
const user = {
  ...{ id: 'u', name: 'anna', roles: ['viewer'], claims: { region: ['north'] }, tenantId: 'acme' },
  ...{ isActive: true, providerId: null as string | null },
};
const mapping = { principalId: 'c', displayName: 'device', roles: ['viewer'], tenantId: null };

/** Rights where all of these are there. */
function rights(state: { key?: object; user?: object; scopes?: string[]; mapping?: object } = {}) {
  const deps: PresentRightsDeps = {
    apiKeys: { get: async () => ({ ...key, ...state.key }) as StoredApiKey },
    users: { get: async () => ({ ...user, ...state.user }) as unknown as StoredUser },
    clients: {
      find: async (id) =>
        ({ id, body: { name: 'client', allowedScopes: ['s'], expiresAt: null, revokedAt: null } }) as never,
      labelsOf: async () => state.scopes ?? ['processes:execute', 'admin:read'],
    },
    embedKeys: { principalById: () => undefined },
    certificates: {
      mappingOf: (id, fingerprint) =>
        id === 'c' && fingerprint === 'f'
          ? ({ ...mapping, ...state.mapping } as unknown as CertificateMapping)
          : undefined,
    },
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
    const before = caller('user', 'u', { claims: { region: ['south'], team: ['gis'] }, roles: ['editor'] });
    const local = await rights().of(before);
    expect(local).toMatchObject({ tenantId: 'acme', roles: ['viewer'] });
    expect(local.claims).toEqual({ region: ['north'], sub: ['u'], name: ['anna'] });
    const provided = await rights({ user: { providerId: 'oidc' } }).of(before);
    expect(provided.claims).toEqual({ region: ['north'], team: ['gis'], sub: ['u'], name: ['anna'] });
  });

  it('as a client, and none that its token had not', async () => {
    const { permissions } = await rights().of(
      caller('oauth-client', 'x', { permissions: ['processes:execute', 'features:write'] }),
    );
    expect(permissions).toEqual(['processes:execute']);
  });

  it('by a certificate', async () => {
    const before = caller('certificate', 'c', {
      claims: { certificate: ['f'] },
      expiresAt: Date.now() + 9999,
    });
    expect(await rights().of(before)).toMatchObject({ roles: ['viewer'], expiresAt: before.expiresAt });
    await expect(rights().of({ ...before, claims: { certificate: ['g'] } })).rejects.toThrow(/no access/);
    await expect(rights().of({ ...before, expiresAt: 1 })).rejects.toThrow(/no access/);
  });
});

it.each([
  ['a key that is revoked', caller('api-key', '1'), { key: { revokedAt: 1 } }],
  ['a key that has expired', caller('api-key', '1'), { key: { expiresAt: 1 } }],
  ['a user who is not active', caller('user', 'u'), { user: { isActive: false } }],
  ['an embed key that is gone', caller('embed-key', 'e'), {}],
])('%s has none', async (_what, principal, state) => {
  await expect(rights(state).of(principal)).rejects.toMatchObject({ code: 'forbidden' });
});
