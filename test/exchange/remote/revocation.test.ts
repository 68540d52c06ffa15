import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Jobs end with the rights of their callers: nothing is written or published for them any more. */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
type Json = any;

let server: TestServer;
let requests: ServerResponse[] = [];
const remote = createServer((_, response) => requests.push(response));
const POINTS = {
  type: 'FeatureCollection',
  features: [
    { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { name: 'late' } },
  ],
};
const RIGHTS = ['read:*', 'write:*', 'features:write', 'admin:*'];

beforeAll(async () => {
  await new Promise<void>((resolve) => remote.listen(0, '127.0.0.1', resolve));
  server = await startServer({
    sources: ['demo/data/world_map.gpkg'],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1' },
  });
});
afterAll(async () => {
  remote.closeAllConnections();
  remote.close();
  await server?.stop();
});

async function manage(method: string, path: string, body?: object, headers: Json = {}) {
  const response = await fetch(`${server.url}${path.startsWith('/api/') ? '' : '/api/v1/admin'}${path}`, {
    method,
    headers: {
      ...('authorization' in headers ? {} : { 'x-api-key': server.adminKey }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: (text === '' ? {} : JSON.parse(text)) as Json };
}

/** Imports a file that the other server sends after `work`, and resolves with what was answered. */
async function importWhile(headers: Json, form: object, work: () => Promise<unknown>) {
  requests = [];
  const { port } = remote.address() as AddressInfo;
  const sourceUrl = `http://127.0.0.1:${port}/late.geojson`;
  const answer = manage('POST', '/import/upload-url', { sourceUrl, ...form }, headers);
  await expect.poll(() => requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
  await work();
  for (const one of requests) {
    one.setHeader('content-type', 'application/geo+json');
    one.end(JSON.stringify(POINTS));
  }
  return answer;
}

async function newKey() {
  const { json } = await manage('POST', '/api-keys', { name: 'importer', permissions: RIGHTS });
  const { key, apiKey } = json.data;
  return { headers: { 'x-api-key': key }, revoke: () => manage('POST', `/api-keys/${apiKey.id}/revoke`) };
}

const itemsOf = async (id: string) =>
  fetch(`${server.url}/ogc/features/collections/${id}/items?limit=1`, {
    headers: { 'x-api-key': server.adminKey },
  });
const count = async (id: string) => ((await (await itemsOf(id)).json()) as Json).numberMatched as number;

describe('an import', () => {
  it('publishes and writes nothing for a key that was revoked', async () => {
    const first = await newKey();
    const kept = await importWhile(first.headers, { tableName: 'places' }, async () => undefined);
    expect([kept.status, await count('places')]).toEqual([200, 1]);
    const appended = await importWhile(first.headers, { tableName: 'places', mode: 'append' }, first.revoke);
    expect(appended.status).toBe(403);
    expect(JSON.stringify(appended.json)).toContain('importer no longer has access');
    expect(await count('places')).toBe(1);
    const second = await newKey();
    const made = await importWhile(second.headers, { tableName: 'revoked' }, second.revoke);
    expect([made.status, (await itemsOf('revoked')).status]).toEqual([403, 404]);
  });

  it('publishes nothing for a user who was switched off, or whose roles were taken', async () => {
    const permissions = ['read', 'write', 'admin:*'].map((operation) => ({
      service: '*',
      layer: '*',
      operation,
    }));
    const { json: role } = await manage('POST', '/roles', { name: 'importers' });
    const rights = await manage('PUT', `/roles/${role.data.roleId}/permissions`, { permissions });
    expect([rights.status, rights.json]).toEqual([200, expect.anything()]);
    for (const [name, take] of [
      ['off', (id: string) => manage('PATCH', `/api/v1/users/${id}`, { isActive: false })],
      ['bare', (id: string) => manage('PUT', `/users/${id}/roles`, { roles: [] })],
    ] as const) {
      const user = { name, password: 'a long pass phrase 1', roles: ['importers'] };
      const { status, json } = await manage('POST', '/api/v1/users', user);
      expect([status, json]).toEqual([201, expect.anything()]);
      const authorization = `Basic ${Buffer.from(`${name}:a long pass phrase 1`).toString('base64')}`;
      const answer = await importWhile({ authorization }, { tableName: `of_${name}` }, async () => {
        expect((await take(json.userId)).status).toBeLessThan(300);
      });
      expect([name, answer.status]).toEqual([name, 403]);
      expect((await itemsOf(`of_${name}`)).status).toBe(404);
    }
  });
});

describe('a tile job', () => {
  it('stops when its key is revoked, and publishes nothing', async () => {
    const { headers, revoke } = await newKey();
    const home = (await (await fetch(`${server.url}/?f=json`)).json()) as Json;
    const { layerId } = home.collections.find(({ id }: Json) => id === 'countries');
    const about = { operation: 'publish', layerId, minZoom: 0, maxZoom: 12 };
    const { status: began, json } = await manage('POST', '/tile-operations/jobs', about, headers);
    expect(began).toBe(202);
    const state = async () => (await manage('GET', `/jobs/${json.JobId}`)).json as Json;
    const status = async () => (await state()).status as string;
    await expect.poll(status, { timeout: 60_000 }).toBe('Running');
    await revoke();
    await expect.poll(status, { timeout: 15_000 }).toBe('Failed');
    expect(JSON.stringify(await state())).toContain('importer no longer has access');
    expect((await fetch(`${server.url}/tiles/countries-tiles/0/0/0.mvt`)).status).toBe(404);
  });
});
