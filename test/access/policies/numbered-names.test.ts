import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** A name of digits is the number of a layer, in every rule. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape
type Json = any;

const work = mkdtempSync(join(tmpdir(), 'graticule-numbers-'));
const sheets = join(work, 'sheets');
const dataDir = join(work, 'data');
let server: TestServer;
const keys: Record<string, string> = {};

const start = () => startServer({ sources: [sheets], dataDir });

beforeAll(async () => {
  for (const folder of [sheets, dataDir]) mkdirSync(folder);
  const feature = {
    ...{ type: 'Feature', properties: { country: 'CH' } },
    geometry: { type: 'Point', coordinates: [7, 46] },
  };
  const file = JSON.stringify({ type: 'FeatureCollection', features: [feature] });
  for (const name of ['2', '3', '4']) writeFileSync(join(sheets, `${name}.geojson`), file);
  server = await start();
  // An id of an earlier version, which gave ids of digits.
  const former = await layers();
  expect(former.map(({ id }) => id).sort()).toEqual(['data-2', 'data-3', 'data-4']);
  await server.stop();
  const state = new Database(join(dataDir, 'state.db'));
  for (const name of ['2', '3', '4'])
    state.prepare('UPDATE collection_ids SET slug = ? WHERE slug = ?').run(name, `data-${name}`);
  state.close();
  server = await start();
}, 120_000);
afterAll(async () => {
  await server?.stop();
  rmSync(work, { recursive: true, force: true });
});

async function send(key: string | undefined, method: string, path: string, body?: unknown) {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith('{') ? (JSON.parse(text) as Json) : text };
}
const admin = (method: string, path: string, body?: unknown) =>
  send(server.adminKey, method, `/api/v1/admin${path}`, body);
const layers = async () =>
  (await send(server.adminKey, 'GET', '/?f=json')).body.collections as { id: string; layerId: number }[];
/** Ids of the layers that a caller reads. */
async function readable(key?: string): Promise<string[]> {
  const all = await Promise.all(
    ['2', '3', '4'].map(async (id) => ({
      id,
      status: (await send(key, 'GET', `/ogc/features/collections/${id}/items`)).status,
    })),
  );
  return all.filter(({ status }) => status === 200).map(({ id }) => id);
}
const setAccess = async (layerId: number, allowAnonymous: boolean) => {
  const path = `/services/default/layers/${layerId}/metadata`;
  expect((await admin('PUT', path, { accessPolicy: { allowAnonymous } })).status).toBe(200);
};
async function newKey(...permissions: string[]): Promise<string> {
  const name = permissions.join(' ');
  return (keys[name] ??= (await admin('POST', '/api-keys', { name, permissions })).body.data.key);
}

it('means one layer, whatever the ids of the others', async () => {
  const found = await layers();
  const idOf = (layerId: number) => found.find((one) => one.layerId === layerId)!.id;
  const numbers = found.map(({ layerId }) => layerId).sort();
  expect(numbers).toEqual([1, 2, 3]);
  // The id of one is the number of another.
  expect(found.some(({ id, layerId }) => id !== String(layerId) && numbers.includes(Number(id)))).toBe(true);

  await admin('PUT', '/services/default/access-policy', { allowAnonymous: false });
  expect(await readable()).toEqual([]);
  for (const layerId of numbers) {
    expect(await readable(await newKey(`read:default/${layerId}`))).toEqual([idOf(layerId)]);
    const role = `sheet-${layerId}`;
    const { roleId } = (await admin('POST', '/roles', { name: role })).body.data;
    const permissions = [{ service: 'default', layer: String(layerId), operation: 'read' }];
    expect((await admin('PUT', `/roles/${roleId}/permissions`, { permissions })).status).toBe(200);
    expect(await readable(await newKey(`role:${role}`))).toEqual([idOf(layerId)]);
    await admin('POST', '/tenants', { tenantId: `t${layerId}`, layers: [String(layerId)] });
    expect(await readable(await newKey(`tenant:t${layerId}`, 'read:*'))).toEqual([idOf(layerId)]);
    await setAccess(layerId, true);
    expect(await readable()).toEqual([idOf(layerId)]);
    await setAccess(layerId, false);
  }
  expect(await readable()).toEqual([]);
  // The other way round: everything is open but one.
  for (const layerId of numbers) await setAccess(layerId, true);
  await admin('PUT', '/services/default/access-policy', { allowAnonymous: true });
  for (const layerId of numbers) {
    const others = ['2', '3', '4'].filter((id) => id !== idOf(layerId));
    await setAccess(layerId, false);
    expect(await readable()).toEqual(others);
    await setAccess(layerId, true);
    const scope = { service: 'default', layer: String(layerId), role: 'anonymous', attribute: 'country' };
    const countries = async () => {
      const all = await Promise.all(
        ['2', '3', '4'].map((id) => send(undefined, 'GET', `/ogc/features/collections/${id}/items`)),
      );
      return all.map(({ body }) => body.features[0]?.properties.country ?? null);
    };
    // A rule of this name would apply to no layer.
    const padded = { ...scope, layer: `0${layerId}`, claimType: 'country', comparison: 'in' };
    expect((await admin('POST', '/rls-policies', padded)).status).toBe(400);
    const expected = ['2', '3', '4'].map((id) => (id === idOf(layerId) ? null : 'CH'));
    for (const [kind, rule] of [
      ['rls-policies', { ...scope, claimType: 'country', comparison: 'in' }],
      ['field-mask-policies', scope],
    ] as const) {
      const made = await admin('POST', `/${kind}`, rule);
      expect(made.status, made.text).toBe(201);
      expect(await countries(), kind).toEqual(expected);
      expect((await admin('DELETE', `/${kind}/${made.body.data.policyId}`)).status).toBeLessThan(300);
    }
    expect(await readable()).toEqual(['2', '3', '4']);
  }
});
