import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Rules of access on one server: who sees which countries, by keys that stand for roles and claims. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-rules-'));
const file = join(folder, 'world_map.gpkg');
let server: TestServer;
let layerId: number;

beforeAll(async () => {
  // Edits go into the file.
  cpSync('demo/data/world_map.gpkg', file);
  server = await startServer({ sources: [file] });
  const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json()) as {
    collections: { id: string; name: string }[];
  };
  layerId = Number(collections.find(({ name }) => name === 'countries')!.id);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

async function admin(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = JSON.parse(text) as { data: never; detail?: string; errors?: { name: string }[] };
  return { status: response.status, headers: response.headers, ...json };
}

async function key(...permissions: string[]): Promise<string> {
  const { status, data } = await admin('POST', '/api-keys', { name: 'test', permissions });
  expect(status).toBe(201);
  return (data as { key: string }).key;
}

async function codes(apiKey?: string, query = ''): Promise<string[]> {
  const response = await fetch(
    `${server.url}/ogc/features/collections/countries/items?f=json&limit=1000${query}`,
    { headers: apiKey === undefined ? {} : { 'x-api-key': apiKey } },
  );
  if (response.status !== 200) return [String(response.status)];
  const { features } = (await response.json()) as { features: { properties: Record<string, unknown> }[] };
  return features.map(({ properties }) => String(properties['ISO_A3'] ?? '-')).sort();
}

const tile = (apiKey?: string) =>
  fetch(`${server.url}/tiles/countries/0/0/0.mvt`, { headers: apiKey ? { 'x-api-key': apiKey } : {} });

describe('rules of access', () => {
  let policyId: string;

  it('let a caller of a role see the rows of its claim, at once and everywhere', async () => {
    const { status, data } = await admin('POST', '/roles', {
      name: 'clerk',
      description: 'Sees a few countries.',
    });
    expect(status).toBe(201);
    expect(data).toMatchObject({ name: 'clerk', isBuiltIn: false, permissions: [] });
    const clerk = await key('role:clerk', 'claim:country=CHE', 'claim:country=FRA');
    expect((await codes(clerk)).length).toBeGreaterThan(150);
    const whole = await tile(clerk);
    expect(whole.headers.get('cache-control')).toContain('public');

    const policy = {
      service: 'default',
      layer: 'countries',
      role: 'clerk',
      attribute: 'ISO_A3',
      claimType: 'country',
    };
    const made = await admin('POST', '/rls-policies', policy);
    expect(made.status).toBe(201);
    expect(made.data).toMatchObject({ ...policy, comparison: 'in', description: null });
    ({ policyId } = made.data as { policyId: string });
    expect(made.headers.get('location')).toBe(`/api/v1/admin/rls-policies/${policyId}`);

    expect(await codes(clerk)).toEqual(['CHE', 'FRA']);
    expect(await codes(clerk, '&filter=NAME%20LIKE%20%27S%25%27')).toEqual(['CHE']);
    const part = await tile(clerk);
    expect(part.headers.get('cache-control')).toMatch(/^private/);
    expect((await part.arrayBuffer()).byteLength).toBeLessThan((await whole.arrayBuffer()).byteLength / 5);
    // Everybody else sees all as before.
    expect((await codes()).length).toBeGreaterThan(150);
    // A clerk of no country sees nothing.
    expect(await codes(await key('role:clerk'))).toEqual([]);
  });

  it('hide attributes of a role', async () => {
    const clerk = await key('role:clerk', 'claim:country=CHE');
    const mask = { service: '*', layer: String(layerId), role: 'clerk', attribute: 'NAME' };
    expect((await admin('POST', '/field-mask-policies', mask)).status).toBe(201);
    const path = `${server.url}/ogc/features/collections/countries`;
    const headers = { 'x-api-key': clerk };
    const items = await (await fetch(`${path}/items?f=json`, { headers })).text();
    expect(items).not.toContain('Switzerland');
    expect(JSON.parse(items).features).toHaveLength(1);
    const asked = await fetch(`${path}/items?f=json&filter=NAME%3D%27Switzerland%27`, { headers });
    expect(asked.status).toBe(400);
    expect(
      (await (await fetch(`${path}/queryables?f=json`, { headers })).json()).properties,
    ).not.toHaveProperty('NAME');
  });

  it('name what is wrong with a rule, and keep none of it', async () => {
    const refused = await admin('POST', '/rls-policies', {
      ...{ service: 'other', layer: 'nowhere', role: 'nobody', attribute: 'x', claimType: 'y' },
    });
    expect(refused.status).toBe(400);
    expect(refused.errors!.map(({ name }) => name)).toEqual(['/layer']);
    const attribute = { service: '*', layer: 'countries', role: 'clerk', attribute: 'nope', claimType: 'y' };
    expect((await admin('POST', '/rls-policies', attribute)).errors).toMatchObject([{ name: '/attribute' }]);
    const comparison = { ...attribute, attribute: 'ISO_A3', comparison: 'like' };
    expect((await admin('POST', '/rls-policies', comparison)).errors).toMatchObject([
      { name: '/comparison' },
    ]);
    expect((await admin('GET', '/rls-policies')).data).toHaveLength(1);
  });

  it('name roles and services that are made later', async () => {
    const later = { service: 'later', layer: 'countries', role: 'later', attribute: 'ISO_A3' };
    for (const [path, more] of [
      ['/rls-policies', { claimType: 'y' }],
      ['/field-mask-policies', {}],
    ] as const) {
      const { status, data } = await admin('POST', path, { ...later, ...more });
      expect([path, status, data]).toMatchObject([path, 201, later]);
      const { policyId: id } = data as { policyId: string };
      expect((await admin('DELETE', `${path}/${id}`)).status).toBe(200);
    }
  });

  it('end with the policy', async () => {
    const clerk = await key('role:clerk', 'claim:country=CHE');
    const { headers } = await admin('GET', `/rls-policies/${policyId}`);
    const stale = await admin('DELETE', `/rls-policies/${policyId}`, undefined, { 'if-match': '"other"' });
    expect(stale.status).toBe(412);
    const etag = headers.get('etag')!;
    expect((await admin('DELETE', `/rls-policies/${policyId}`, undefined, { 'if-match': etag })).status).toBe(
      200,
    );
    expect((await codes(clerk)).length).toBeGreaterThan(150);
    expect((await admin('GET', `/rls-policies/${policyId}`)).status).toBe(404);
  });

  it('give roles what is granted to them, and nobody more than they hold', async () => {
    const { data } = await admin('POST', '/roles', { name: 'mapper' });
    const { roleId } = data as { roleId: string };
    const grants = [{ service: 'default', layer: 'countries', operation: 'write' }];
    expect((await admin('PUT', `/roles/${roleId}/permissions`, { permissions: grants })).data).toEqual(
      grants,
    );
    const mapper = await key('role:mapper', 'admin:roles:write', 'admin:api-keys:write');
    const change = (id: string) =>
      fetch(`${server.url}/ogc/features/collections/${id}/items/1`, {
        method: 'PATCH',
        headers: { 'x-api-key': mapper, 'content-type': 'application/merge-patch+json' },
        body: '{}',
      });
    expect((await change('countries')).status).toBe(200);
    expect((await change('disputed_borders')).status).toBe(403);
    const own = { 'x-api-key': mapper };
    const more = [{ service: '*', layer: '*', operation: '*' }];
    expect((await admin('PUT', `/roles/${roleId}/permissions`, { permissions: more }, own)).status).toBe(403);
    const stronger = { name: 'x', permissions: ['role:administrator'] };
    expect((await admin('POST', '/api-keys', stronger, own)).status).toBe(403);
    const unknown = [{ service: '*', layer: '*', operation: 'admin:nothing' }];
    // Only who holds it gives it, and to nobody does it mean anything.
    expect((await admin('PUT', `/roles/${roleId}/permissions`, { permissions: unknown }, own)).status).toBe(
      403,
    );
    expect((await admin('PUT', `/roles/${roleId}/permissions`, { permissions: unknown })).status).toBe(200);
    const narrow = [{ service: 'default', layer: '*', operation: 'admin:jobs:read' }];
    expect((await admin('PUT', `/roles/${roleId}/permissions`, { permissions: narrow })).status).toBe(400);
  });

  it('are changed by those alone who may read all of the layer', async () => {
    const scopes = ['services', 'row-level-security', 'field-masks', 'layer-metadata', 'manifest'];
    const permissions = scopes.map((scope) => `admin:${scope}:write`);
    await admin('POST', '/roles', { name: 'trainee' });
    const manager: Record<string, string> = { 'x-api-key': await key(...permissions, 'role:trainee') };
    const metadata = `/services/default/layers/${layerId}/metadata`;
    const put = async (path: string, body: unknown, headers = manager) =>
      (await admin('PUT', path, body, headers)).status;
    const post = async (path: string, body: unknown, headers = manager) =>
      (await admin('POST', path, body, headers)).status;
    // Whoever may read everything changes who reads, and nobody lets others write who may not write.
    expect(await put(metadata, { accessPolicy: { allowAnonymous: true } })).toBe(200);
    expect(await put(metadata, { accessPolicy: { allowAnonymousWrite: true } })).toBe(403);
    expect(await put('/services/default/access-policy', { allowedWriteRoles: ['editor'] })).toBe(403);

    const everything = async (headers: Record<string, string>, status: number) => {
      expect(await put(metadata, { accessPolicy: { allowAnonymous: true } }, headers)).toBe(status);
      expect(await put('/services/default/protocols', ['OgcFeatures'], headers)).toBe(status);
      const filter = { permanentFilter: { expression: "ISO_A3 = 'CHE'" } };
      expect(await put(`/metadata/layers/${layerId}/filter`, filter, headers)).toBe(status);
      const fields = { fields: [{ name: 'ISO_A3', hidden: true }] };
      expect(await put(`/metadata/layers/${layerId}/fields`, fields, headers)).toBe(status);
      for (const layer of ['countries', '*']) {
        const scope = { service: 'default', layer, role: 'trainee', attribute: 'ISO_A3' };
        expect(await post('/rls-policies', { ...scope, claimType: 'country' }, headers)).toBe(status);
        expect(await post('/field-mask-policies', scope, headers)).toBe(status);
      }
      const spec = {
        allowAnonymous: true,
        allowAnonymousWrite: false,
        allowedRoles: ['reader'],
        allowedWriteRoles: [],
      };
      const resources = [{ kind: 'AccessPolicy', metadata: { name: 'countries' }, spec }];
      expect(await post('/metadata/manifest/apply', { resources, dryRun: true }, headers)).toBe(status);
    };
    expect((await admin('PUT', metadata, { accessPolicy: { allowAnonymous: false } })).status).toBe(200);
    await everything(manager, 403);
    expect((await admin('PUT', metadata, { accessPolicy: { allowAnonymous: true } })).status).toBe(200);

    // That of the service is for the layers that say nothing of their own.
    const service = '/services/default/access-policy';
    expect(await put(service, { allowAnonymous: true })).toBe(200);
    expect((await admin('PUT', service, { allowAnonymous: false })).status).toBe(200);
    expect(await put(service, { allowAnonymous: true })).toBe(403);
    expect((await admin('PUT', service, { allowAnonymous: true })).status).toBe(200);

    // A policy for rows, or a mask, of a role that the manager has.
    const rule = { service: 'default', layer: 'countries', role: 'trainee', attribute: 'ISO_A3' };
    for (const [path, more] of [
      ['/rls-policies', { claimType: 'country' }],
      ['/field-mask-policies', {}],
    ] as const) {
      const { data } = await admin('POST', path, { ...rule, ...more });
      await everything(manager, 403);
      const { policyId: id } = data as { policyId: string };
      expect((await admin('DELETE', `${path}/${id}`, undefined, manager)).status).toBe(403);
      expect((await admin('DELETE', `${path}/${id}`)).status).toBe(200);
    }
  });

  it('keep the built-in roles as they are', async () => {
    const { data } = await admin('GET', '/roles');
    const builtIn = (data as { name: string; isBuiltIn: boolean; roleId: string }[]).filter(
      (r) => r.isBuiltIn,
    );
    expect(builtIn.map(({ name }) => name)).toEqual([
      'reader',
      'editor',
      'publisher',
      'operator',
      'administrator',
    ]);
    expect((await admin('DELETE', `/roles/${builtIn[0]!.roleId}`)).status).toBe(404);
    expect((await admin('POST', '/roles', { name: 'reader' })).status).toBe(400);
  });
});
