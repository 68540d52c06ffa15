import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/**
 * An administrator of a tenant sees and changes what belongs to the tenant. Everything outside of it bears a mark in this
 * test, which no answer may have.
 */

const MARK = 'zorilla';
const folder = mkdtempSync(join(tmpdir(), 'graticule-tenants-'));
let server: TestServer;
let secret: string;
const ids: Record<string, string> = {};

type Json = Record<string, unknown>;

async function send(key: string, method: string, path: string, body?: unknown) {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      'x-api-key': key,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}
const own = (method: string, path: string, body?: unknown) =>
  send(secret, method, `/api/v1/admin${path}`, body);

async function make(path: string, body: Json): Promise<Json> {
  const { status, text } = await send(server.adminKey, 'POST', path, body);
  expect([path, status, status < 300 ? '' : text]).toEqual([path, status, '']);
  const json = JSON.parse(text) as { data?: Json };
  return json.data ?? (json as Json);
}

beforeAll(async () => {
  const point = {
    type: 'Feature',
    id: 1,
    properties: { a: 1 },
    geometry: { type: 'Point', coordinates: [1, 2] },
  };
  const text = JSON.stringify({ type: 'FeatureCollection', features: [point] });
  for (const name of ['inside', MARK]) writeFileSync(join(folder, `${name}.geojson`), text);
  server = await startServer({ sources: [folder] });
  const home = await send(server.adminKey, 'GET', '/?f=json');
  const layers = (JSON.parse(home.text) as { collections: { id: string; layerId: number }[] }).collections;
  expect(layers.map(({ id }) => id).sort()).toEqual(['inside', MARK]);
  await make('/api/v1/admin/tenants', { tenantId: 'acme', layers: ['inside'] });
  await make('/api/v1/admin/tenants', { tenantId: MARK });
  await make('/api/v1/admin/roles', { name: `${MARK}-role` });
  const policy = { service: 'default', layer: MARK, role: `${MARK}-role`, filter: 'TRUE' };
  ids['policy'] = (await make('/api/v1/admin/rls-policies', policy))['policyId'] as string;
  const keyOf = async (name: string, permissions: string[]) =>
    (await make('/api/v1/admin/api-keys', { name, permissions })) as { apiKey: Json; key: string };
  secret = (await keyOf('acme', ['tenant:acme', 'admin:*', 'read:*'])).key;
  ids['key'] = (await keyOf(`${MARK}-key`, [`tenant:${MARK}`, 'read:*'])).apiKey['id'] as string;
  for (const tenant of ['acme', MARK]) {
    const user = { name: `${tenant}-user`, password: 'a long password', tenantId: tenant };
    ids[`${tenant} user`] = (await make('/api/v1/users', user))['userId'] as string;
    const scope = { allowedEmbedOrigins: ['https://example.org'], tenantId: tenant };
    const { embedKey } = await make('/api/v1/admin/embed/keys', { name: `${tenant}-page`, scope });
    ids[`${tenant} page`] = (embedKey as Json)['id'] as string;
    const definition = { scope: `${tenant}-scope`, permissions: [`tenant:${tenant}`] };
    const put = await send(server.adminKey, 'PUT', '/api/v1/admin/oauth-scopes', definition);
    expect(put.status).toBe(200);
    const client = { name: `${tenant}-client`, allowedScopes: [`${tenant}-scope`] };
    ids[`${tenant} client`] = ((await make('/api/v1/admin/oauth-clients', client))['client'] as Json)[
      'id'
    ] as string;
  }
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Operations of the management API that are built, by their methods and paths. */
async function operations(): Promise<[method: string, path: string][]> {
  const { paths } = JSON.parse((await own('GET', '/openapi.json')).text) as {
    paths: Record<string, Record<string, { 'x-not-implemented'?: boolean }>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, one]) => !one['x-not-implemented'])
      .map(([method]): [string, string] => [method.toUpperCase(), path]),
  );
}

describe('an administrator of a tenant', () => {
  it('reads nothing of what belongs to others, by any operation', async () => {
    const reads = (await operations()).filter(([method, path]) => method === 'GET' && !path.includes('{'));
    expect(reads.length).toBeGreaterThan(60);
    const seen: string[] = [];
    for (const [, path] of [...reads, ['GET', '/healthz/metrics'] as const]) {
      const { status, text } = await send(secret, 'GET', path);
      expect([path, [200, 204, 400, 403, 404, 503].includes(status), status]).toEqual([path, true, status]);
      if (text.includes(MARK)) seen.push(`${path} ${status} ${text.slice(0, 300)}`);
    }
    expect(seen).toEqual([]);
  });

  it('lists users, keys, clients and its tenant', async () => {
    const text = async (path: string) => (await own('GET', path)).text;
    expect(await text('/users')).toContain('acme-user');
    expect(JSON.parse(await text('/users')).data.totalCount).toBe(1);
    expect(await text('/api-keys')).toContain('"acme"');
    expect(await text('/embed/keys')).toContain('acme-page');
    expect(await text('/oauth-clients')).toContain('acme-client');
    expect(await text('/oauth-scopes')).toContain('acme-scope');
    expect(await text('/tenants')).toContain('"acme"');
    expect((await own('GET', '/tenants/acme')).status).toBe(200);
    expect((await own('GET', `/users/${ids['acme user']}`)).status).toBe(200);
    const count = JSON.parse(await text('/services')).data[0].layerCount;
    expect(count).toBe(1);
  });

  it('finds nothing of other tenants', async () => {
    for (const [method, path, body] of [
      ['GET', `/tenants/${MARK}`],
      ['GET', `/users/${ids[`${MARK} user`]}`],
      ['GET', `/users/${ids[`${MARK} user`]}/effective-permissions`],
      ['DELETE', `/users/${ids[`${MARK} user`]}`],
      ['PUT', `/users/${ids[`${MARK} user`]}/roles`, { roles: [] }],
      ['GET', `/api-keys/${ids['key']}/effective-permissions`],
      ['POST', `/api-keys/${ids['key']}/rotate`],
      ['POST', `/api-keys/${ids['key']}/revoke`],
      ['GET', `/embed/keys/${ids[`${MARK} page`]}`],
      ['POST', `/embed/keys/${ids[`${MARK} page`]}/rotate`],
      ['POST', `/embed/keys/${ids[`${MARK} page`]}/revoke`],
      ['GET', `/oauth-clients/${ids[`${MARK} client`]}`],
      ['DELETE', `/oauth-clients/${ids[`${MARK} client`]}`],
      ['DELETE', `/oauth-scopes/${MARK}-scope`],
      ['GET', `/rls-policies/${ids['policy']}`],
      ['DELETE', `/rls-policies/${ids['policy']}`],
    ] as const) {
      const { status, text } = await own(method, path, body);
      expect([method, path, status, text.slice(0, 200)]).toEqual([method, path, 404, text.slice(0, 200)]);
    }
    for (const [method, path, body] of [
      ['PATCH', '', { isActive: false }],
      ['PUT', '/password', { password: 'another long one' }],
    ] as const)
      expect((await send(secret, method, `/api/v1/users/${ids[`${MARK} user`]}${path}`, body)).status).toBe(
        404,
      );
  });

  it('changes nothing that belongs to the complete server', async () => {
    for (const [method, path, body] of [
      ['POST', `/tenants/${MARK}/suspend`],
      ['DELETE', `/tenants/${MARK}`],
      ['POST', '/tenants', { tenantId: 'third' }],
      ['DELETE', `/roles/${MARK}-role`],
      ['POST', '/roles', { name: 'another' }],
      [
        'POST',
        '/rate-limits',
        { name: 'x', scope: 'tenant', key: MARK, requestsPerWindow: 1, windowDurationSeconds: 60 },
      ],
      ['POST', '/operations/cache/invalidate', { scope: 'all' }],
      ['POST', '/tile-operations/evict'],
      ['POST', '/tile-operations/jobs', { operation: 'purge' }],
      ['PUT', '/services/default/access-policy', { allowAnonymous: true }],
      ['PUT', '/services/default/protocols', { enabledProtocols: [] }],
      ['POST', '/rls-policies', { service: 'default', layer: '*', role: 'clerk', filter: 'TRUE' }],
      ['POST', '/metadata/release-packages', { sourceEnvironment: 'default' }],
      ['GET', '/metadata/manifest'],
      ['GET', '/observability/audit/verify'],
    ] as const) {
      const { status, text } = await own(method, path, body);
      expect([method, path, status, text.includes("tenant 'acme'") || text]).toEqual([
        method,
        path,
        403,
        true,
      ]);
    }
  });
});

describe('a caller that may only manage keys', () => {
  it('cannot revoke a key that can do more', async () => {
    const permissions = ['admin:api-keys:write', 'admin:api-keys:read'];
    const { key } = (await make('/api/v1/admin/api-keys', { name: 'weak', permissions })) as { key: string };
    const { text } = await send(server.adminKey, 'GET', '/api/v1/admin/api-keys');
    const keys = JSON.parse(text).data as { id: string; name: string; permissions: string[] }[];
    const main = keys.find((one) => one.permissions.includes('*'))!;
    for (const change of ['rotate', 'revoke'])
      expect((await send(key, 'POST', `/api/v1/admin/api-keys/${main.id}/${change}`)).status).toBe(403);
    const weak = keys.find(({ name }) => name === 'weak')!;
    expect((await send(key, 'POST', `/api/v1/admin/api-keys/${weak.id}/revoke`)).status).toBe(200);
  });
});
