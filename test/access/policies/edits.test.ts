import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROTOCOLS } from '../../../src/core/catalog/layer-settings.js';
import type { Row } from './support/oracle.js';
import { until } from './support/streams.js';
import { startWorld, type World } from './support/world.js';

/** Edits by a caller who has some rows and some attributes, and what the management API says of access. */

let world: World;
let own: Row;
let hidden: Row;

beforeAll(async () => {
  world = await startWorld();
  const { rows, hiddenRows } = world.oracle.known('both', 'sites');
  [own, hidden] = [rows[0]!, hiddenRows[0]!];
  const roles = await world.admin<{ name: string; roleId: string }[]>('GET', '/roles');
  const { roleId } = roles.find(({ name }) => name === 'both')!;
  const permissions = world.stores.map((store) => ({
    ...{ service: 'default', layer: `${store}_sites`, operation: 'write' },
  }));
  await world.admin('PUT', `/roles/${roleId}/permissions`, { permissions });
});
afterAll(() => world?.stop());

const path = (store: string, feature?: number | string) =>
  `/ogc/features/collections/${store}_sites/items${feature === undefined ? '' : `/${feature}`}`;

async function send(method: string, at: string, body?: unknown, headers: object = {}) {
  const response = await world.fetch('both', at, { method, body, headers });
  const text = await response.text();
  expect(text).not.toMatch(/snt\d\dz4|"hidden_(note|amount)":/);
  return { status: response.status, etag: response.headers.get('etag') ?? '', text };
}

async function stored(store: string, feature: number): Promise<Record<string, unknown>> {
  const response = await world.fetch('administrator', path(store, feature));
  return ((await response.json()) as { properties: Record<string, unknown> }).properties;
}

const point = { type: 'Point', coordinates: [6, 46] };
const feature = (properties: object, id?: number) => ({
  ...{ type: 'Feature', ...(id === undefined ? {} : { id }), geometry: point, properties },
});

describe('edits within a policy', () => {
  it('reach what may be seen, and find nothing else', async () => {
    for (const store of world.stores) {
      expect((await send('PATCH', path(store, hidden.id), { properties: { token: 'x' } })).status).toBe(404);
      expect((await send('PUT', path(store, hidden.id), feature({ token: 'x' }))).status).toBe(404);
      expect((await send('DELETE', path(store, hidden.id))).status).toBe(404);
      expect(await stored(store, hidden.id)).toMatchObject({ token: hidden.token });
      const changed = await send('PATCH', path(store, own.id), { properties: { token: 'changed' } });
      expect(changed.status).toBe(200);
      expect(await stored(store, own.id)).toMatchObject({ token: 'changed', hidden_note: own.note });
    }
  });

  it('put nothing out of sight', async () => {
    for (const store of world.stores) {
      const away = await send('PATCH', path(store, own.id), { properties: { country: 'ITA' } });
      expect(away.status).toBe(403);
      const insert = feature({ country: 'ITA', level: 1, token: 'n' }, store === 'pg' ? 500 : undefined);
      expect((await send('POST', path(store), insert)).status).toBe(403);
      const fine = feature({ country: 'CHE', level: 1, token: 'n' }, store === 'pg' ? 501 : undefined);
      expect((await send('POST', path(store), fine)).status).toBe(201);
    }
  });

  it('keep masked attributes as they are', async () => {
    for (const store of world.stores) {
      for (const properties of [{ hidden_note: 'mine' }, { hidden_amount: 1 }])
        expect((await send('PATCH', path(store, own.id), { properties })).status).toBe(400);
      const whole = feature({ country: 'CHE', level: 1, token: 'replaced' });
      expect((await send('PUT', path(store, own.id), whole)).status).toBe(200);
      expect(await stored(store, own.id)).toMatchObject({ token: 'replaced', hidden_note: own.note });
    }
  });

  it('are told of one by one in a batch', async () => {
    for (const store of world.stores) {
      const operations = [
        { type: 'UPDATE', featureId: String(hidden.id), feature: feature({ token: 'x' }) },
        { type: 'DELETE', featureId: String(hidden.id) },
        {
          ...{ type: 'UPDATE', featureId: String(own.id) },
          feature: feature({ country: 'ITA', level: 1, token: 'x' }),
        },
      ];
      const { status, text } = await send('POST', `${path(store)}/batch`, { operations });
      expect([status, text]).toEqual([expect.any(Number), expect.stringContaining('results')]);
      const { results } = JSON.parse(text) as { results: { statusCode: number }[] };
      expect(results.map(({ statusCode }) => statusCode)).toEqual([404, 404, 403]);
    }
  });

  it('are bound to tags that say nothing of what is masked', async () => {
    for (const store of world.stores) {
      const before = await send('GET', path(store, own.id));
      const body = { properties: { hidden_note: 'another' } };
      const at = path(store, own.id);
      expect((await world.fetch('administrator', at, { method: 'PATCH', body })).status).toBe(200);
      const after = await send('GET', at);
      expect(after.etag).toBe(before.etag);
      const change = (etag: string, token: string) =>
        send('PATCH', at, { properties: { token } }, { 'if-match': etag });
      expect((await change(before.etag, 'first')).status).toBe(200);
      expect((await change(before.etag, 'second')).status).toBe(412);
    }
  });
});

describe('rules about columns', () => {
  it('close the layer when the column is gone, and say so', async () => {
    expect((await send('GET', path('pg'))).status).toBe(200);
    await world.sql('ALTER TABLE pg_sites RENAME COLUMN country TO land');
    world.reload();
    const closed = 'layer pg_sites is hidden from role limited';
    await until('a line of the log', () => world.log().includes(closed));
    expect((await send('GET', path('pg'))).status).toBe(403);
    expect((await world.fetch('reader', path('pg'))).status).toBe(200);
  });
});

describe('access of services and layers', () => {
  const settings = '/services/default/access-policy';

  it('keeps what is left out, and clears what is empty', async () => {
    const set = async (body: object) =>
      (await world.admin<{ accessPolicy: object }>('PUT', settings, body)).accessPolicy;
    expect(await set({ allowAnonymous: false, allowedRoles: ['both'] })).toEqual({
      ...{ allowAnonymous: false, allowAnonymousWrite: false, allowedRoles: ['both'], allowedWriteRoles: [] },
    });
    expect((await world.fetch('anonymous', path('gp'))).status).toBe(401);
    expect((await world.fetch('reader', path('gp'))).status).toBe(403);
    expect((await world.fetch('both', path('gp'))).status).toBe(200);
    expect(await set({ allowedRoles: [] })).toMatchObject({ allowAnonymous: false, allowedRoles: [] });
    expect((await world.fetch('reader', path('gp'))).status).toBe(200);
    expect(await set({ allowAnonymous: true })).toMatchObject({ allowAnonymous: true });
    expect((await world.fetch('anonymous', path('gp'))).status).toBe(200);
    const summary = await world.admin<object[]>('GET', '/services');
    expect(summary).toEqual([
      {
        ...{ serviceName: 'default', description: 'Collections that are in no other service.' },
        ...{ layerCount: 8, enabledProtocols: [...PROTOCOLS] },
      },
    ]);
    expect(await world.admin('GET', '/services/default/settings')).toMatchObject({ timeInfo: null });
  });

  it('takes roles that are made later, and is closed until then', async () => {
    const put = (body: object) =>
      world.fetch('administrator', `/api/v1/admin${settings}`, { method: 'PUT', body });
    const before = (await (await put({})).json()) as { data: { accessPolicy: object } };
    const closed = await put({ allowAnonymous: false, allowedRoles: ['made later'] });
    expect([closed.status, await closed.json()]).toMatchObject([
      200,
      { data: { accessPolicy: { allowedRoles: ['made later'] } } },
    ]);
    expect((await put(before.data.accessPolicy)).status).toBe(200);
  });

  it('names what is wrong', async () => {
    const put = (at: string, body: unknown) =>
      world.fetch('administrator', `/api/v1/admin${at}`, { method: 'PUT', body });
    expect((await put('/services/other/access-policy', {})).status).toBe(404);
    expect((await put('/services/default/layers/99999/metadata', {})).status).toBe(404);
    const { layerId } = world.layer('gp_sites');
    const metadata = `/services/default/layers/${layerId}/metadata`;
    expect((await put(metadata, { rasterMosaic: { mergeStrategy: 'oldest' } })).status).toBe(400);
    const kept = await put(metadata, { license: null, accessPolicy: null });
    expect(((await kept.json()) as { data: object }).data).toMatchObject({
      ...{ layerId, accessPolicy: { allowAnonymous: true, allowAnonymousWrite: false } },
    });
  });
});
