import { describe, expect, it } from 'vitest';
import type { Collection } from '../../../src/core/catalog/collection.js';
import { ANONYMOUS, type Principal } from '../../../src/core/http/operation.js';
import { bothFields } from '../../../src/services/access/access.js';
import { defaultPolicy } from '../../../src/services/access/rules/policy.js';

const parcels = { id: 'parcels' } as Collection;
const holder = (...permissions: string[]): Principal => ({
  kind: 'api-key',
  id: 'k',
  name: 'k',
  permissions,
});

describe('the default access policy', () => {
  it('lets everybody read', () => {
    expect(defaultPolicy(ANONYMOUS, parcels, 'read')).toEqual({ allowed: true });
  });

  it.each([
    ['*', true],
    ['features:write', true],
    ['features:*', true],
    ['write:parcels', true],
    ['write:parcel', false],
    ['write:roads', false],
    ['features:read', false],
    ['admin:read', false],
  ])('with the grant %s writing is %s', (grant, allowed) => {
    expect(defaultPolicy(holder(grant), parcels, 'write')).toEqual({ allowed });
  });

  it('lets nobody without credentials write', () => {
    expect(defaultPolicy(ANONYMOUS, parcels, 'write').allowed).toBe(false);
  });
});

describe('narrowing access', () => {
  it('keeps the names of both lists', () => {
    expect(bothFields(undefined, undefined)).toBeUndefined();
    expect(bothFields(['a', 'b'], ['b', 'c'])).toEqual(['b']);
    expect(bothFields(undefined, ['a'])).toEqual(['a']);
  });
});
