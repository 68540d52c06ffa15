import { describe, expect, it } from 'vitest';
import { isGrant, isPermissionCovered, permits } from '../../../src/services/access/permissions.js';

describe('a grant', () => {
  it.each([
    ['*', 'admin:jobs:read'],
    ['admin:jobs:read', 'admin:jobs:read'],
    ['admin:*', 'admin:jobs:read'],
    ['admin:read', 'admin:jobs:read'],
    ['admin:write', 'admin:jobs:read'],
    ['admin:write', 'admin:jobs:write'],
    ['write:parcels', 'write:parcels/3'],
  ])('%s covers %s', (grant, permission) => {
    expect(isPermissionCovered(grant, permission)).toBe(true);
  });

  it.each([
    ['admin:read', 'admin:jobs:write'],
    ['admin:read', 'administrator:jobs:read'],
    ['admin:jobs:read', 'admin:read'],
    ['admin:*', 'administrator:read'],
    ['admin:read', 'data:read'],
    ['read', 'admin:read'],
    ['write:parcels', 'write:parcelsold'],
    ['write:parcels/3', 'write:parcels'],
    ['write:parcels/3', 'write:parcels/30'],
    ['admin:delete', 'admin:jobs:read'],
  ])('%s does not cover %s', (grant, permission) => {
    expect(isPermissionCovered(grant, permission)).toBe(false);
  });

  it('of several, any serves', () => {
    const principal = { permissions: ['data:read', 'admin:read'] };
    expect(permits(principal, 'admin:keys:read')).toBe(true);
    expect(permits(principal, 'admin:keys:write')).toBe(false);
    expect(permits({ permissions: [] }, 'admin:keys:read')).toBe(false);
  });
});

describe('a label that is to be granted', () => {
  const permissions = ['admin:jobs:read', 'admin:jobs:write'];

  it.each(['*', 'admin:jobs:read', 'admin:read', 'admin:*', 'write:parcels', 'write:parcels/3'])(
    '%s means something',
    (label) => {
      expect(isGrant(label, permissions)).toBe(true);
    },
  );

  it.each([
    'admin:jobs:delete',
    'admn:*',
    '',
    'write:',
    'write:a b',
    'write:a/b/c',
    'x write:a',
    'write:a:b',
  ])('"%s" means nothing', (label) => {
    expect(isGrant(label, permissions)).toBe(false);
  });
});
