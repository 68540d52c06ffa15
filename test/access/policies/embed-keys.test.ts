import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Keys that pages carry in the open: good for pages of some origins, for some layers, and for reading alone. */

const PAGE = 'https://maps.example.org';
let server: TestServer;

beforeAll(async () => {
  server = await startServer({
    sources: ['demo/data/years', 'demo/data/L7_ETMs.tif', 'demo/data/world_map.gpkg'],
  });
});
afterAll(() => server?.stop());

async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const json = (await response.json()) as { data: never; errors?: { name: string }[] };
  return { status: response.status, headers: response.headers, ...json };
}
interface Made {
  embedKey: { id: string; status: string; scope: object; keyPrefix: string };
  key: string;
}
async function make(scope: object): Promise<Made> {
  const { status, data } = await admin('POST', '/embed/keys', { name: 'a page', scope });
  expect(status).toBe(201);
  return data as Made;
}
const collections = async (key: string, headers: Record<string, string> = { origin: PAGE }) => {
  const response = await fetch(`${server.url}/ogc/coverages/collections?f=json&embed_key=${key}`, {
    headers,
  });
  const { collections: all = [] } = (await response.json()) as { collections?: { id: string }[] };
  return { status: response.status, ids: all.map(({ id }) => id) };
};

describe('embed keys', () => {
  it('are good for pages of their origins, and for the layers that they name', async () => {
    const { embedKey, key } = await make({ allowedEmbedOrigins: [PAGE], allowedContentIds: ['l7_etms'] });
    expect(key).toMatch(/^gre_/);
    expect(embedKey).toMatchObject({ status: 'active', keyPrefix: key.slice(0, 12) });
    expect(await collections(key)).toEqual({ status: 200, ids: ['l7_etms'] });
    expect(await collections(key, { referer: `${PAGE}/a/page.html` })).toEqual({
      status: 200,
      ids: ['l7_etms'],
    });
    const elsewhere: Record<string, string>[] = [
      {},
      { origin: 'https://evil.example' },
      { referer: 'nonsense' },
    ];
    for (const headers of elsewhere) expect((await collections(key, headers)).status).toBe(403);
    // As a header it is bound alike.
    const header = await fetch(`${server.url}/ogc/maps?f=json`, { headers: { 'x-api-key': key } });
    expect(header.status).toBe(403);
  });

  it('see what anonymous callers see, no more', async () => {
    const { key } = await make({ allowedEmbedOrigins: [PAGE], allowedContentIds: ['countries', 'l7_etms'] });
    const { data } = await admin('POST', '/api-keys', { name: 'bare', permissions: [] });
    const { data: other } = await admin('POST', '/api-keys', {
      name: 'jobs',
      permissions: ['admin:jobs:read'],
    });
    const { data: reader } = await admin('POST', '/api-keys', { name: 'r', permissions: ['read:countries'] });
    const keys = [key, (data as Made).key, (other as Made).key];
    const scope = { service: 'default', layer: 'countries', role: 'anonymous' };
    const filter = "iso_a2 IN ('CH', 'FR')";
    const rows = (await admin('POST', '/rls-policies', { ...scope, filter })).data as { policyId: string };
    const mask = { ...scope, attribute: 'NAME' };
    const masked = (await admin('POST', '/field-mask-policies', mask)).data as { policyId: string };
    const items = async (one?: string) => {
      const response = await fetch(`${server.url}/ogc/features/collections/countries/items?f=json&limit=9`, {
        headers: { origin: PAGE, ...(one === undefined ? {} : { 'x-api-key': one }) },
      });
      const { features = [] } = (await response.json()) as { features?: { properties: object }[] };
      return [response.status, features.length, Object.hasOwn(features[0]?.properties ?? {}, 'NAME')];
    };
    expect(await items()).toEqual([200, 2, false]);
    for (const one of keys) expect(await items(one)).toEqual([200, 2, false]);
    expect(await items((reader as Made).key)).toEqual([200, 9, true]);
    await admin('DELETE', `/rls-policies/${rows.policyId}`);
    await admin('DELETE', `/field-mask-policies/${masked.policyId}`);
    expect(await items(key)).toEqual([200, 9, true]);

    const tile = (one?: string) =>
      fetch(`${server.url}/tiles/l7_etms/0/0/0.png`, {
        headers: { origin: PAGE, ...(one === undefined ? {} : { 'x-api-key': one }) },
      });
    expect((await tile(key)).status).toBe(200);
    const collections = (await (await fetch(`${server.url}/?f=json`)).json()) as {
      collections: { id: string; layerId: number }[];
    };
    const { layerId } = collections.collections.find(({ id }) => id === 'l7_etms')!;
    const close = (allowAnonymous: boolean) =>
      admin('PUT', `/services/default/layers/${layerId}/metadata`, { accessPolicy: { allowAnonymous } });
    await close(false);
    expect((await tile()).status).toBe(401);
    for (const one of keys) expect((await tile(one)).status).toBe(403);
    await close(true);
    expect((await tile(key)).status).toBe(200);
  });

  it('change nothing, and manage nothing', async () => {
    const { key } = await make({ allowedEmbedOrigins: [PAGE] });
    const headers = { origin: PAGE, 'x-api-key': key };
    expect((await fetch(`${server.url}/api/v1/admin/version`, { headers })).status).toBe(403);
    const made = await fetch(`${server.url}/api/v1/admin/roles`, {
      ...{
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"name":"x"}',
      },
    });
    expect(made.status).toBe(403);
  });

  it('have a limit of their own', async () => {
    const limit = { rateLimitRequestsPerWindow: 3, rateLimitWindowSeconds: 3600 };
    const { key } = await make({ allowedEmbedOrigins: [PAGE], ...limit });
    const statuses = (await Promise.all(Array.from({ length: 8 }, () => collections(key)))).map(
      (one) => one.status,
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  });

  it('are rotated and revoked at once', async () => {
    const { embedKey, key } = await make({ allowedEmbedOrigins: [PAGE] });
    expect((await collections(key)).status).toBe(200);
    const rotated = (await admin('POST', `/embed/keys/${embedKey.id}/rotate`)).data as Made;
    expect((await collections(key)).status).toBe(401);
    expect((await collections(rotated.key)).status).toBe(200);
    expect((await admin('POST', `/embed/keys/${embedKey.id}/revoke`)).data).toMatchObject({
      status: 'revoked',
    });
    expect((await collections(rotated.key)).status).toBe(401);
    expect((await admin('POST', `/embed/keys/${embedKey.id}/rotate`)).status).toBe(404);
    expect((await admin('GET', `/embed/keys/${embedKey.id}`)).data).toMatchObject({ status: 'revoked' });
    expect(JSON.stringify((await admin('GET', '/embed/keys')).data)).not.toContain(rotated.key);
  });

  it('have their use counted by what it is of', async () => {
    const integrationId = 'counted';
    const { key } = await make({ allowedEmbedOrigins: [PAGE], integrationId });
    for (let i = 0; i < 3; i++) await collections(key);
    await collections(key, { origin: 'https://evil.example' });
    const { data } = await admin('GET', `/embed/usage?integrationId=${integrationId}`);
    expect(data).toEqual({
      groupBy: 'eventType',
      total: 4,
      aggregates: [
        { key: 'view', count: 3 },
        { key: 'policyDenial', count: 1 },
      ],
    });
    const origins = await admin(
      'GET',
      `/embed/usage?groupBy=ORIGIN&integrationId=${integrationId}&eventType=View`,
    );
    expect(origins.data).toMatchObject({ aggregates: [{ key: PAGE, count: 3 }] });
    expect((await admin('GET', '/embed/usage?groupBy=weather')).status).toBe(400);
  });

  it('tell when they were used last, and refusals are no use', async () => {
    const { embedKey, key } = await make({ allowedEmbedOrigins: [PAGE] });
    const stored = async () =>
      (await admin('GET', `/embed/keys/${embedKey.id}`)).data as {
        lastUsedAt: string | null;
        updatedAt: string;
      };
    await collections(key, { origin: 'https://evil.example' });
    const before = await stored();
    expect(before.lastUsedAt).toBeNull();
    await collections(key);
    const after = await stored();
    expect(Date.parse(after.lastUsedAt!)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt));
    // To be used is no change of the key.
    expect(after.updatedAt).toBe(before.updatedAt);
    const all = (await admin('GET', '/embed/keys')).data as { id: string; lastUsedAt: string | null }[];
    expect(all.find(({ id }) => id === embedKey.id)?.lastUsedAt).not.toBeNull();
  });

  it('are refused when they name no origin', async () => {
    const wrong = await admin('POST', '/embed/keys', {
      name: 'x',
      scope: { allowedEmbedOrigins: ['example.org/a'] },
    });
    expect(wrong.status).toBe(400);
    expect(wrong.errors).toMatchObject([{ name: '/scope/allowedEmbedOrigins/0' }]);
    expect(
      (await admin('POST', '/embed/keys', { name: 'x', scope: { allowedEmbedOrigins: [] } })).status,
    ).toBe(400);
  });
});
