import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** How often somebody may ask, counted by two gateways of one server together; and tenants, which may be shut out. */

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ sources: ['demo/data/years'], env: { SVC_SERVER__PROCESSES: '2' } });
});
afterAll(() => server?.stop());

async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const json = (await response.json()) as { data: Record<string, unknown>; errors?: { name: string }[] };
  return { status: response.status, headers: response.headers, ...json };
}

async function key(...permissions: string[]): Promise<{ id: string; secret: string }> {
  const { data } = await admin('POST', '/api-keys', { name: 'test', permissions });
  const { apiKey, key: secret } = data as { apiKey: { id: string }; key: string };
  return { id: apiKey.id, secret };
}

/** A new connection each time, so that both gateways are met. */
const ask = (secret: string, path = '/ogc/features/collections?f=json') =>
  fetch(server.url + path, { headers: { 'x-api-key': secret, connection: 'close' } });

async function put(policy: Record<string, unknown>): Promise<string> {
  const { status, data, headers } = await admin('POST', '/rate-limits', {
    ...{ name: 'test', requestsPerWindow: 20, windowDurationSeconds: 3600 },
    ...policy,
  });
  expect(status).toBe(201);
  expect(headers.get('location')).toBe(`/api/v1/admin/rate-limits/${data['policyId']}`);
  return data['policyId'] as string;
}
const drop = (id: string) => admin('DELETE', `/rate-limits/${id}`);

describe('rate limits', () => {
  it('count the requests of a key over all gateways, and no others', async () => {
    const [one, other] = [await key(), await key()];
    const id = await put({ scope: 'api-key', key: one.id, name: 'small key' });
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask(one.secret)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(40);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('ratelimit-policy')).toBe('"small key";q=20;w=3600');
    expect(refused.headers.get('ratelimit')).toMatch(/^"small key";r=0;t=\d+$/);
    expect(await refused.json()).toMatchObject({ status: 429, detail: expect.stringContaining('small key') });
    expect((await ask(other.secret)).status).toBe(200);
    expect((await ask(other.secret)).headers.get('ratelimit')).toBeNull();
    const status = await admin('GET', `/rate-limits/status?key=${one.id}`);
    expect(status.data).toMatchObject({ policyId: id, requestsConsumed: 20, requestsRemaining: 0 });
    // Another limit holds at once.
    expect((await admin('PUT', `/rate-limits/${id}`, { enabled: false })).status).toBe(200);
    expect((await ask(one.secret)).status).toBe(200);
    await drop(id);
  });

  it('give everybody a limit of their own where the key is *', async () => {
    const id = await put({ scope: 'api-key', key: '*', requestsPerWindow: 5 });
    const keys = [await key(), await key()];
    for (const { secret } of keys) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(secret)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    }
    await drop(id);
  });

  it('count operations, paths and addresses', async () => {
    const { secret } = await key();
    const id = await put({ scope: 'endpoint', key: '/ogc/maps', requestsPerWindow: 2 });
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await ask(secret, '/ogc/maps?f=json')).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await ask(secret)).status).toBe(200);
    await drop(id);
    const address = await put({ scope: 'address', key: '127.0.0.1', requestsPerWindow: 1_000_000 });
    expect((await fetch(`${server.url}/ogc/features?f=json`)).headers.get('ratelimit')).toMatch(
      /^"test";r=\d+/,
    );
    // Probes are not counted.
    expect((await fetch(`${server.url}/healthz/live`)).headers.get('ratelimit')).toBeNull();
    await drop(address);
  });

  it('refill with time', async () => {
    const { id: keyId, secret } = await key();
    const id = await put({ scope: 'api-key', key: keyId, requestsPerWindow: 2, windowDurationSeconds: 1 });
    const first = await Promise.all(Array.from({ length: 4 }, () => ask(secret)));
    expect(first.some(({ status }) => status === 429)).toBe(true);
    await expect.poll(async () => (await ask(secret)).status, { timeout: 20_000 }).toBe(200);
    await drop(id);
  });

  it('let callers in at once when they are raised, and tell what is left', async () => {
    const { id: keyId, secret } = await key();
    const id = await put({
      scope: 'api-key',
      key: keyId,
      requestsPerWindow: 4,
      windowDurationSeconds: 86_400,
    });
    const answered = async (n: number) => {
      const answers = await Promise.all(Array.from({ length: n }, () => ask(secret)));
      return answers.filter(({ status }) => status === 200).length;
    };
    const status = async () => (await admin('GET', `/rate-limits/status?key=${keyId}`)).data;
    expect(await answered(12)).toBe(4);
    expect(await status()).toMatchObject({ requestsConsumed: 4, requestsRemaining: 0 });
    await admin('PUT', `/rate-limits/${id}`, { requestsPerWindow: 10 });
    expect(await status()).toMatchObject({ policyId: id, requestsConsumed: 4, requestsRemaining: 6 });
    expect(await answered(12)).toBe(6);
    // A smaller limit is used up, and no more than that.
    await admin('PUT', `/rate-limits/${id}`, { requestsPerWindow: 2 });
    expect(await status()).toMatchObject({ requestsConsumed: 2, requestsRemaining: 0 });
    expect(await answered(4)).toBe(0);
    await drop(id);
  });

  it('tell what is left of the limit that counts a key, of several for *', async () => {
    const { id: keyId, secret } = await key();
    await admin('POST', '/tenants', { tenantId: 'counted', plan: 'counted-plan' });
    const tenant = await key('tenant:counted');
    const byAddress = await put({ scope: 'address', key: '*', requestsPerWindow: 1_000_000 });
    const byKey = await put({ scope: 'api-key', key: '*', requestsPerWindow: 50 });
    const byPlan = await put({ scope: 'plan', key: 'counted-plan', requestsPerWindow: 30 });
    for (let i = 0; i < 3; i++) expect((await ask(secret)).status).toBe(200);
    for (let i = 0; i < 2; i++) expect((await ask(tenant.secret)).status).toBe(200);
    const status = async (name: string) =>
      (await admin('GET', `/rate-limits/status?key=${encodeURIComponent(name)}`)).data;
    expect(await status(keyId)).toMatchObject({
      policyId: byKey,
      requestsConsumed: 3,
      requestsRemaining: 47,
    });
    for (const name of ['counted', 'counted-plan'])
      expect(await status(name)).toMatchObject({ policyId: byPlan, requestsConsumed: 2 });
    expect(await status('127.0.0.1')).toMatchObject({ policyId: byAddress });
    for (const id of [byAddress, byKey, byPlan]) await drop(id);
  });

  it('are refused when they mean nothing', async () => {
    const wrong = await admin('POST', '/rate-limits', {
      name: 'x',
      scope: 'planet',
      key: '*',
      requestsPerWindow: 0,
    });
    expect(wrong.status).toBe(400);
    expect((await admin('GET', '/rate-limits/status?key=nobody')).status).toBe(404);
    for (const query of ['', '?key='])
      expect(await admin('GET', `/rate-limits/status${query}`)).toMatchObject({
        status: 400,
        errors: [{ name: 'key' }],
      });
    expect((await admin('PUT', '/rate-limits/nothing', {})).status).toBe(404);
  });
});

describe('tenants', () => {
  it('shut their callers out when they are suspended, and for ever when they are deleted', async () => {
    const made = await admin('POST', '/tenants', { tenantId: 'acme', plan: 'small' });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe('/api/v1/admin/tenants/acme');
    expect(made.data).toMatchObject({
      tenantId: 'acme',
      displayName: 'acme',
      plan: 'small',
      status: 'Active',
    });
    expect((await admin('POST', '/tenants', { tenantId: 'acme' })).status).toBe(409);
    const { secret } = await key('tenant:acme');
    expect((await ask(secret)).status).toBe(200);
    const suspended = await admin('POST', '/tenants/acme/suspend');
    expect(suspended.data).toMatchObject({ status: 'Suspended', suspendedAt: expect.any(String) });
    expect((await ask(secret)).status).toBe(403);
    expect((await ask(secret)).status).toBe(403);
    expect((await admin('POST', '/tenants/acme/suspend')).status).toBe(409);
    expect((await admin('POST', '/tenants/acme/resume')).data).toMatchObject({
      status: 'Active',
      suspendedAt: null,
    });
    expect((await ask(secret)).status).toBe(200);
    expect((await admin('DELETE', '/tenants/acme')).data).toMatchObject({ status: 'Deleted' });
    expect((await ask(secret)).status).toBe(403);
    expect((await admin('POST', '/tenants/acme/resume')).status).toBe(409);
    expect((await ask((await key('tenant:nobody')).secret)).status).toBe(403);
  });

  it('have catalogs of their own, limits by plan, and a count of what they ask', async () => {
    const [collection] = (
      (await (await fetch(`${server.url}/ogc/coverages/collections?f=json`)).json()) as {
        collections: { id: string }[];
      }
    ).collections;
    await admin('POST', '/tenants', { tenantId: 'none', layers: [], plan: 'tiny' });
    await admin('POST', '/tenants', { tenantId: 'one', layers: [collection!.id], plan: 'tiny' });
    const count = async (secret: string) => {
      const answer = await ask(secret, '/ogc/coverages/collections?f=json');
      return ((await answer.json()) as { collections: unknown[] }).collections.length;
    };
    const [none, one] = [await key('tenant:none'), await key('tenant:one')];
    expect([await count(none.secret), await count(one.secret)]).toEqual([0, 1]);
    const id = await put({ scope: 'plan', key: 'tiny', requestsPerWindow: 3 });
    for (const { secret } of [none, one]) {
      const answers = await Promise.all(Array.from({ length: 6 }, () => ask(secret)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    }
    await drop(id);
    const requests = async () => {
      const { records } = (await admin('GET', '/tenants/usage')).data as {
        records: { tenantId: string; requestCount: number }[];
      };
      return records.find(({ tenantId }) => tenantId === 'one')?.requestCount;
    };
    // The other gateway tells of its part within seconds.
    await expect.poll(requests, { timeout: 30_000 }).toBe(7);
  });

  it('learn nothing of the layers and jobs of others', async () => {
    await admin('POST', '/tenants', { tenantId: 'blind', layers: [] });
    const [collection] = (
      (await (await fetch(`${server.url}/ogc/coverages/collections?f=json`)).json()) as {
        collections: { id: string }[];
      }
    ).collections;
    const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json()) as {
      collections: { id: string }[];
    };
    const id = collection!.id;
    const number = collections[0]!.id;
    const { secret } = await key('tenant:blind', 'admin:read', 'admin:styles:write', 'admin:jobs:write');
    const job = await admin('POST', '/tile-operations/jobs', {
      ...{ operation: 'seed', layerId: Number(number), minZoom: 0, maxZoom: 0 },
    });
    const jobId = (job as unknown as { JobId: string }).JobId;
    const admins = ['tile-operations/jobs', 'operations', 'jobs'].map(
      (path) => `/api/v1/admin/${path}/${jobId}`,
    );
    for (const path of [
      `/ogc/coverages/collections/${id}`,
      `/ogc/coverages/collections/${id}/coverage`,
      `/ogc/maps/collections/${id}/map`,
      `/ogc/tiles/collections/${number}`,
      `/tiles/${id}/0/0/0.png`,
      `/stac/collections/${id}`,
      `/rest/services/${id}/ImageServer?f=json`,
      `/api/v1/admin/metadata/layers/${number}/style`,
      `/api/v1/admin/metadata/layers/${number}/validation`,
      ...admins,
    ]) {
      const [own, others] = [await ask(secret, path), await ask(server.adminKey, path)];
      const text = await own.text();
      // GeoServices say failures in the body.
      expect([path, path.startsWith('/rest') ? /"code":404/.test(text) : own.status === 404]).toEqual([
        path,
        true,
      ]);
      expect([path, others.status]).toEqual([path, 200]);
    }
    const listed = async (who: string) => (await ask(who, '/api/v1/admin/jobs')).text();
    expect(await listed(server.adminKey)).toContain(jobId);
    expect(await listed(secret)).not.toContain(jobId);
  });

  it('have a number of requests a day, which the state keeps', async () => {
    expect((await admin('POST', '/tenants', { tenantId: 'frugal', requestsPerDay: -1 })).status).toBe(400);
    expect((await admin('POST', '/tenants', { tenantId: 'mute', requestsPerDay: 0 })).status).toBe(201);
    const made = await admin('POST', '/tenants', { tenantId: 'frugal', requestsPerDay: 30 });
    expect(made.data).toMatchObject({ tenantId: 'frugal', requestsPerDay: 30 });
    const refused = await ask((await key('tenant:mute')).secret);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('content-type')).toContain('application/problem+json');
    // Until midnight in UTC; a second for the request itself.
    const seconds = 86_400 - (Date.now() % 86_400_000) / 1000;
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(Math.ceil(seconds) + 60);
    const { secret } = await key('tenant:frugal');
    const answered = async (n: number) => {
      const answers = await Promise.all(Array.from({ length: n }, () => ask(secret)));
      return answers.filter(({ status }) => status === 200).length;
    };
    const before = await answered(20);
    expect(before).toBe(20);
    const requests = async () => {
      const { records } = (await admin('GET', '/tenants/usage')).data as {
        records: { tenantId: string; requestCount: number }[];
      };
      const own = records.filter(({ tenantId }) => tenantId === 'frugal');
      return own.reduce((sum, { requestCount }) => sum + requestCount, 0);
    };
    await expect.poll(requests, { timeout: 30_000 }).toBe(20);
    // Each process knows what was written, and its own: at most one of them twice the rest.
    const after = await answered(60);
    expect(after).toBeGreaterThanOrEqual(10);
    expect(after).toBeLessThanOrEqual(60);
    await expect.poll(() => answered(2), { timeout: 30_000 }).toBe(0);
    expect((await ask((await key()).secret)).status).toBe(200);
  });
});
