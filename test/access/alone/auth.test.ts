import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { STATE_UNREACHABLE } from '../../../src/core/errors/storage-faults.js';
import { ANONYMOUS } from '../../../src/core/http/operation.js';
import { type Authenticator, createAuthenticator } from '../../../src/gateway/auth/authenticator.js';
import { Attempts } from '../../../src/services/access/identity/attempts.js';
import { permits } from '../../../src/services/access/permissions.js';
import { StateError } from '../../../src/workers/state/link.js';
import { describeStates, type TemporaryState } from '../../support/state.js';

const REFUSED = { code: 'unauthenticated', status: 401 };
const attempt = async (auth: Authenticator, credentials: Parameters<Authenticator['authenticate']>[0]) =>
  auth.authenticate(credentials);

describeStates('API keys', (temporary) => {
  let t: TemporaryState;
  let auth: Authenticator;
  const closing: Authenticator[] = [];
  const authenticator = (options = {}) => {
    const made = createAuthenticator(t.state, options);
    closing.push(made);
    return made;
  };
  beforeEach(async () => {
    t = await temporary();
    auth = authenticator();
  });
  afterEach(async () => {
    for (const one of closing.splice(0)) await one.close();
    await t.close();
  });

  it('admits a key by header, bearer token and basic password, the second time at once', async () => {
    const { secret, key } = await auth.keys.create({ name: 'ci', permissions: ['admin:read'] }, 'me');
    expect(secret).toMatch(/^grt_[\w-]{43}$/);
    expect(key.prefix).toBe(secret.slice(0, 12));
    const basic = `Basic ${Buffer.from(`anyone:${secret}`).toString('base64')}`;
    for (const credentials of [
      { apiKey: secret },
      { authorization: `bearer ${secret}` },
      { authorization: basic },
    ]) {
      expect(await attempt(auth, credentials)).toMatchObject({
        id: key.id,
        kind: 'api-key',
        permissions: ['admin:read'],
      });
    }
    expect(auth.authenticate({ apiKey: secret })).not.toBeInstanceOf(Promise);
    expect(auth.authenticate({})).toBe(ANONYMOUS);
  });

  it('counts each of the passwords that are guessed side by side, and knows of the lock behind the last hash', async () => {
    const password = 'correct horse battery';
    const { id } = await auth.users.create({ name: 'ann', password }, 'system');
    const guess = (text: string) => auth.users.withPassword('ann', text, '');
    // Hashes are computed in the order in which they were asked for: the right one is the last.
    const guesses = Array.from({ length: 9 }, (_, i) => guess(`wrong password ${i}`));
    const found = await Promise.all([...guesses, guess(password)]);
    expect(found.every((one) => one === undefined)).toBe(true);
    const locked = await t.state.users.get(id);
    expect(locked!.failures).toBeGreaterThanOrEqual(5);
    expect(locked!.lockedUntil).toBeGreaterThan(Date.now());
    await t.run(`UPDATE users SET locked_until = 0`);
    const start = Date.now();
    expect(await guess('wrong again')).toBeUndefined();
    const { failures, lockedUntil } = (await t.state.users.get(id))!;
    expect(failures).toBe(locked!.failures + 1);
    // Each failure behind the fifth doubles the lock of 30 seconds.
    const wait = 30_000 * 2 ** (failures - 5);
    expect(lockedUntil).toBeGreaterThanOrEqual(start + wait);
    expect(lockedUntil).toBeLessThanOrEqual(Date.now() + wait);
    for (const [before, longest] of [
      [11, 3_600_000],
      [60, 3_600_000],
    ] as const) {
      await t.run(`UPDATE users SET locked_until = 0, failures = ${before}`);
      await guess('wrong once more');
      expect((await t.state.users.get(id))!.lockedUntil - Date.now()).toBeLessThanOrEqual(longest);
      expect((await t.state.users.get(id))!.lockedUntil - Date.now()).toBeGreaterThan(longest / 2);
    }
    await t.run(`UPDATE users SET locked_until = 0`);
    expect(await guess(password)).toMatchObject({ id });
    expect(await t.state.users.get(id)).toMatchObject({ failures: 0, lockedUntil: 0 });
  });

  it('counts wrong passwords of an address, however many come at once, and gives the right ones back', async () => {
    const attempts = new Attempts(t.state.rateBuckets, 3);
    const spend = (address: string, found: string | undefined) =>
      attempts.spend(address, async () => found).catch(({ code }) => code);
    expect(await Promise.all(Array.from({ length: 20 }, () => spend('192.0.2.1', 'yes')))).toContain('yes');
    for (let i = 0; i < 10; i++) expect(await spend('192.0.2.1', 'yes')).toBe('yes');
    const wrong = await Promise.all(Array.from({ length: 20 }, () => spend('192.0.2.1', undefined)));
    expect(wrong.filter((one) => one === undefined)).toHaveLength(3);
    expect(await spend('192.0.2.1', 'yes')).toBe('too-many-requests');
    expect(await spend('192.0.2.2', 'yes')).toBe('yes');
    // Of IPv6 a client has a whole network.
    for (const host of ['1', '2', '3']) expect(await spend(`2001:db8::${host}`, undefined)).toBeUndefined();
    expect(await spend('2001:db8::4', undefined)).toBe('too-many-requests');
    expect(await spend('2001:db8:0:1::4', undefined)).toBeUndefined();
    const failing = attempts.spend('192.0.2.3', async () => Promise.reject(new Error('the state is away')));
    await expect(failing).rejects.toThrow('away');
    for (let i = 0; i < 3; i++) expect(await spend('192.0.2.3', undefined)).toBeUndefined();
  });

  describe('while the database does not answer', () => {
    const lost = () => Promise.reject(new StateError(STATE_UNREACHABLE, 'gone'));

    it('believes a key that it knows, for as long as it may, and asks meanwhile', async () => {
      const own = authenticator({ trustMs: 0, lostTrustMs: 300 });
      const { secret, key } = await own.keys.create({ name: 'ci', permissions: [] }, 'me');
      const other = await own.keys.create({ name: 'other', permissions: [] }, 'me');
      await attempt(own, { apiKey: secret });
      await sleep(2);
      const byHash = vi.spyOn(t.state.apiKeys, 'byHash').mockImplementation(lost);
      expect(await attempt(own, { apiKey: secret })).toMatchObject({ id: key.id });
      // From the second time on without waiting.
      expect(own.authenticate({ apiKey: secret })).toMatchObject({ id: key.id });
      await expect(attempt(own, { apiKey: other.secret })).rejects.toMatchObject({ code: STATE_UNREACHABLE });
      await sleep(300);
      await expect(attempt(own, { apiKey: secret })).rejects.toMatchObject({ code: STATE_UNREACHABLE });
      byHash.mockRestore();
      expect(await attempt(own, { apiKey: secret })).toMatchObject({ id: key.id });
    });

    it('believes none that has expired, and refuses one that was revoked meanwhile when it answers again', async () => {
      const own = authenticator({ trustMs: 0 });
      const short = await own.keys.create({ name: 's', permissions: [], expiresAt: Date.now() + 3000 }, 'me');
      const { secret, key } = await own.keys.create({ name: 'ci', permissions: [] }, 'me');
      for (const apiKey of [short.secret, secret]) await attempt(own, { apiKey });
      await sleep(3100);
      const byHash = vi.spyOn(t.state.apiKeys, 'byHash').mockImplementation(lost);
      await expect(attempt(own, { apiKey: short.secret })).rejects.toMatchObject({ code: 'unauthenticated' });
      await attempt(own, { apiKey: secret });
      await t.state.apiKeys.revoke(key.id, Date.now());
      expect(own.authenticate({ apiKey: secret })).toMatchObject({ id: key.id });
      byHash.mockRestore();
      await vi.waitFor(() =>
        expect(attempt(own, { apiKey: secret })).rejects.toMatchObject({ code: 'unauthenticated' }),
      );
    });
  });

  it('never stores the key itself', async () => {
    const { secret } = await auth.keys.create({ name: 'ci', permissions: [] }, 'me');
    expect(JSON.stringify(await t.state.apiKeys.list())).not.toContain(secret.slice(13));
  });

  it.each([
    { apiKey: 'grt_unknown' },
    { apiKey: 'x'.repeat(513) },
    { authorization: 'Bearer' },
    { authorization: 'Bearer ' },
    { authorization: 'Digest a=b' },
    { authorization: 'Basic !!!' },
    { authorization: `Basic ${Buffer.from('nocolon').toString('base64')}` },
  ])('refuses %j', async (credentials) => {
    await expect(attempt(auth, credentials)).rejects.toMatchObject(REFUSED);
  });

  it('refuses a revoked key at once here and within the trust time elsewhere', async () => {
    const other = createAuthenticator(await t.again(), { trustMs: 50 });
    const { secret, key } = await auth.keys.create({ name: 'ci', permissions: ['*'] }, 'me');
    await attempt(auth, { apiKey: secret });
    await attempt(other, { apiKey: secret });
    const revoked = await auth.keys.revoke(key.id);
    await expect(attempt(auth, { apiKey: secret })).rejects.toMatchObject(REFUSED);
    await new Promise((resolve) => setTimeout(resolve, 80));
    await expect(attempt(other, { apiKey: secret })).rejects.toMatchObject(REFUSED);
    expect((await auth.keys.revoke(key.id)).revokedAt).toBe(revoked.revokedAt);
    await expect(auth.keys.rotate(key.id)).rejects.toMatchObject({ code: 'not-found' });
    await other.close();
  });

  it('refuses a key revoked while it was being looked up', async () => {
    const { secret, key } = await auth.keys.create({ name: 'ci', permissions: ['*'] }, 'me');
    const asked = attempt(auth, { apiKey: secret });
    await auth.keys.revoke(key.id);
    await asked.catch(() => {});
    await expect(attempt(auth, { apiKey: secret })).rejects.toMatchObject(REFUSED);
  });

  it('refuses an expired key, also one that was known before', async () => {
    const expiresAt = Date.now() + 60;
    const { secret } = await auth.keys.create({ name: 'brief', permissions: [], expiresAt }, 'me');
    await attempt(auth, { apiKey: secret });
    await new Promise((resolve) => setTimeout(resolve, 80));
    await expect(attempt(auth, { apiKey: secret })).rejects.toMatchObject(REFUSED);
  });

  it('rotation ends the old secret and keeps the key', async () => {
    const first = await auth.keys.create({ name: 'ci', permissions: ['*'] }, 'me');
    await attempt(auth, { apiKey: first.secret });
    const second = await auth.keys.rotate(first.key.id);
    expect(second.key.id).toBe(first.key.id);
    await expect(attempt(auth, { apiKey: first.secret })).rejects.toMatchObject(REFUSED);
    expect(await attempt(auth, { apiKey: second.secret })).toMatchObject({ id: first.key.id });
  });

  it('generates the first key once, and takes the environment key instead when there is one', async () => {
    const first = await auth.keys.ensureFirst(undefined);
    expect(first).toMatchObject({ from: 'generated' });
    expect(await auth.keys.ensureFirst(undefined)).toEqual({ from: 'stored' });
    const chosen = 'a-long-key-that-someone-chose';
    expect(await auth.keys.ensureFirst(chosen)).toEqual({ from: 'environment', weak: false, revoked: false });
    expect(await attempt(auth, { apiKey: chosen })).toMatchObject({ permissions: ['*'] });
    expect(await auth.keys.ensureFirst('short')).toMatchObject({ weak: true });
    await expect(attempt(auth, { apiKey: chosen })).rejects.toMatchObject(REFUSED);
    expect(await auth.keys.ensureFirst('short')).toMatchObject({ revoked: false });
    expect(await t.state.apiKeys.list()).toHaveLength(3);
  });

  it('keeps the environment key that another server stores while this one starts', async () => {
    const { apiKeys } = t.state;
    const list = apiKeys.list.bind(apiKeys);
    const chosen = 'a-long-key-that-someone-chose';
    vi.spyOn(apiKeys, 'list').mockImplementationOnce(async () => {
      await auth.keys.ensureFirst(chosen);
      return list();
    });
    expect(await auth.keys.ensureFirst(chosen)).toMatchObject({ revoked: false });
    expect(await attempt(auth, { apiKey: chosen })).toMatchObject({ permissions: ['*'] });
    expect(await list()).toHaveLength(1);
  });

  it('writes the time of use in batches', async () => {
    const { secret, key } = await auth.keys.create({ name: 'ci', permissions: [] }, 'me');
    await attempt(auth, { apiKey: secret });
    expect((await auth.keys.get(key.id)).lastUsedAt).toBeNull();
    await auth.flush();
    expect((await auth.keys.get(key.id)).lastUsedAt).toBeGreaterThan(Date.now() - 5000);
  });
});

describe('permissions', () => {
  it.each([
    ['*', 'admin:jobs:write', true],
    ['admin:read', 'admin:jobs:read', true],
    ['admin:read', 'admin:jobs:write', false],
    ['admin:write', 'admin:jobs:read', true],
    ['admin:write', 'admin:jobs:write', true],
    ['admin:jobs:write', 'admin:jobs:read', true],
    ['admin:jobs:read', 'admin:api-keys:read', false],
    ['admin:job:read', 'admin:jobs:read', false],
    ['admin:jobs:read', 'admin:read', false],
    ['admin:*', 'admin:api-keys:write', true],
    ['admin:*', 'administrator:read', false],
    ['write:parcels', 'write:parcels/3', true],
    ['write:parcels/3', 'write:parcels/31', false],
    ['write:parcels', 'write:parcels2', false],
    ['read', 'admin:read', false],
    ['', 'admin:read', false],
    ['features:read', 'features:read', true],
  ])('%s on %s: %s', (grant, label, expected) => {
    expect(permits({ permissions: [grant] }, label)).toBe(expected);
  });
});
