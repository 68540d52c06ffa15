import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileSchema } from '../../src/core/http/schema-check.js';
import { type EditableStore, geoPackageStore } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';

describe('the errors of a body', () => {
  const Body = Type.Object({ name: Type.String(), size: Type.Integer(), tags: Type.Array(Type.String()) });

  it('are all told at once', () => {
    const errors = compileSchema(Body)({ size: 'large', tags: ['a', 1, 'b', 2] });
    expect(errors.map(({ code, path }) => [code, path])).toEqual([
      ['required', '/name'],
      ['type', '/size'],
      ['type', '/tags/1'],
      ['type', '/tags/3'],
    ]);
  });

  it('are bounded in number, and looked for in small bodies only', () => {
    const tags = (count: number) => ({ name: 'x', size: 1, tags: new Array(count).fill(1) });
    expect(compileSchema(Body)(tags(1000))).toHaveLength(20);
    expect(compileSchema(Body)(tags(100_000))).toHaveLength(1);
  });
});

describe('a server', () => {
  let server: TestServer;
  let store: EditableStore;
  beforeAll(async () => {
    store = geoPackageStore();
    server = await startServer({ sources: store.sources });
  }, 90_000);
  afterAll(async () => {
    await server?.stop();
    await store?.release();
  });

  const post = async (path: string, body: unknown, type = 'application/json') => {
    const headers = { 'x-api-key': server.adminKey, 'content-type': type };
    const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  it('gives errors the members that clients read', async () => {
    expect(await post('/api/v1/admin/api-keys', { permissions: ['*', 7] })).toMatchObject({
      status: 400,
      body: {
        kind: 'validation',
        machineCode: 'invalid-body',
        retryable: false,
        errors: [
          { code: 'required', severity: 'error', path: '/name', fieldId: 'name', itemIndex: null },
          { code: 'type', path: '/permissions/1', fieldId: 'permissions', itemIndex: 1 },
        ],
      },
    });
  });

  it.each([{}, { geometry: null }, { properties: {} }])('refuses a Feature with only %j', async (members) => {
    const path = '/ogc/features/collections/parcels/items';
    const { status, body } = await post(path, { type: 'Feature', ...members }, 'application/geo+json');
    expect(status).toBe(400);
    expect(body['errors']).toHaveLength(2 - Object.keys(members).length);
  });

  it.each([
    [
      '/ogc/features/colections',
      404,
      "The path '/ogc/features/colections' does not exist. Did you mean '/ogc/features/collections'?",
    ],
    [
      '/ogc/features/collections/parcel/items',
      404,
      "There is no collection 'parcel'. Did you mean 'parcels'?",
    ],
    [
      '/ogc/features/collections/parcels/items?limt=1',
      400,
      "limt: is neither a parameter of this operation nor a queryable of this collection. Did you mean 'limit'?",
    ],
    [
      '/ogc/features/collections/parcels/items?limit=0',
      400,
      "limit: must be an integer from 1 to 2000; received '0'.",
    ],
    [
      '/ogc/tiles/tiles/WebMercatorQuadd/0/0/0',
      404,
      "There is no tile matrix set 'WebMercatorQuadd'. Did you mean 'WebMercatorQuad'?",
    ],
    [
      '/tiles/parcels/1/0/0.gif',
      400,
      "format: '.gif' is not the extension of a tile format. Use .mvt, .pbf, .mlt, .png, .jpg, .jpeg or .webp.",
    ],
  ])('says what would work: %s', async (path, status, detail) => {
    const answer = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
    expect([answer.status, ((await answer.json()) as { detail: string }).detail]).toEqual([status, detail]);
  });

  it('names methods, media types and headers that would work', async () => {
    const ask = async (path: string, options: RequestInit) => {
      const headers = { 'x-api-key': server.adminKey, ...options.headers };
      const answer = await fetch(server.url + path, { ...options, headers });
      return [answer.status, ((await answer.json()) as { detail: string }).detail];
    };
    expect(await ask('/ogc/features/collections', { method: 'DELETE' })).toEqual([
      405,
      'DELETE: is not a method of /ogc/features/collections. Use GET, HEAD, OPTIONS.',
    ]);
    expect(await ask('/ogc/features/collections', { headers: { accept: 'image/png' } })).toEqual([
      406,
      "Accept: 'image/png' matches none of the available formats. Use application/json, text/html or application/xml, or the parameter f.",
    ]);
    const text = { method: 'POST', body: 'a', headers: { 'content-type': 'text/csv' } };
    expect(await ask('/api/v1/admin/api-keys', text)).toEqual([
      415,
      "Content-Type: 'text/csv' is not supported here. Use application/json.",
    ]);
  });

  it('tells anybody what it can do', async () => {
    const answer = await fetch(`${server.url}/api/v1/capabilities`);
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { protocols: { path: string; enabled: boolean }[] };
    expect(body).toMatchObject({
      serverVersion: expect.stringMatching(/^\d+\.\d+\.\d+/),
      releaseChannel: 'preview',
      features: { editing: true },
      compatibility: { features: { editing: true } },
    });
    for (const { path, enabled } of body.protocols) {
      const answer = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
      const { status } = answer;
      await answer.body?.cancel();
      expect([path, enabled]).toEqual([path, status !== 404 && status !== 501]);
    }
  });
});
