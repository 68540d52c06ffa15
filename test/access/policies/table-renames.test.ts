import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { adminClient } from '../../catalog/support/admin-client.js';
import { run } from '../../providers/postgis/support.js';
import { makeGeoPackage } from '../../support/geopackage.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Restricted tables and files that get another name are no new, open layers. */

const POINT = 'ST_SetSRID(ST_MakePoint(1, 2), 4326)';
const parent = mkdtempSync(join(tmpdir(), 'graticule-renamed-'));
const files = join(parent, 'files');
const dataDir = join(parent, 'data');
let postgres: TestPostgres;
let server: TestServer;
const admin = adminClient(() => server);

const start = async () => {
  server = await startServer({ sources: [files, postgres.url], dataDir });
};

beforeAll(async () => {
  mkdirSync(files);
  mkdirSync(dataDir);
  postgres = await startPostgres();
  const tables = ['psecret', 'popen', 'parcels', 'parcels_new', 'swapped', 'swapped_new', 'published'];
  await run(
    postgres.url,
    `CREATE EXTENSION IF NOT EXISTS postgis; ${tables
      .map(
        (name) => `CREATE TABLE ${name} (id int PRIMARY KEY, secret text, geom geometry(Point, 4326));
                   INSERT INTO ${name} VALUES (1, 'of ${name}', ${POINT});`,
      )
      .join('\n')}`,
  );
  for (const name of ['fsecret', 'fopen']) writeFileSync(join(files, `${name}.geojson`), geoJson(name));
  makeGeoPackage(join(files, 'several.gpkg'), ['inner_secret', 'inner_open']);
  await start();
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(parent, { recursive: true, force: true });
});

function geoJson(name: string) {
  const geometry = { type: 'Point', coordinates: [1, 2] };
  return JSON.stringify({
    type: 'FeatureCollection',
    features: [{ type: 'Feature', id: 1, geometry, properties: { secret: `of ${name}` } }],
  });
}

async function status(collection: string, key?: string) {
  const response = await fetch(`${server.url}/ogc/features/collections/${collection}/items?f=json`, {
    headers: key === undefined ? {} : { 'x-api-key': key },
  });
  const text = await response.text();
  return response.status === 200
    ? JSON.parse(text).features.map((one: { properties: { secret: string } }) => one.properties.secret)
    : response.status;
}
const asAdmin = (collection: string) => status(collection, server.adminKey);

async function layerId(collection: string) {
  const home = (await (
    await fetch(`${server.url}/?f=json`, { headers: { 'x-api-key': server.adminKey } })
  ).json()) as { collections: { id: string; layerId: number }[] };
  return home.collections.find(({ id }) => id === collection)!.layerId;
}
const setPolicy = async (collection: string, allowAnonymous: boolean) => {
  const path = `/services/default/layers/${await layerId(collection)}/metadata`;
  const answer = await admin('PUT', path, { accessPolicy: { allowAnonymous } });
  expect(answer.status, answer.text).toBe(200);
};

/** Waits until administrators see a collection. */
async function appears(collection: string) {
  for (let i = 0; i < 200 && (await asAdmin(collection)) === 404; i++)
    await new Promise((next) => setTimeout(next, 50));
}
async function reloaded(collection: string) {
  server.reload();
  await appears(collection);
}

describe('a restricted table', () => {
  it('is closed under another name, and named to operators', async () => {
    await setPolicy('psecret', false);
    const mask = { service: 'default', layer: 'popen', role: 'anonymous', attribute: 'secret' };
    expect((await admin('POST', '/field-mask-policies', mask)).status).toBe(201);
    await run(postgres.url, 'ALTER TABLE psecret RENAME TO psecret_y; ALTER TABLE popen RENAME TO popen_y');
    await reloaded('psecret_y');
    expect([await status('psecret_y'), await asAdmin('psecret_y')]).toEqual([401, ['of psecret']]);
    expect([await status('popen_y'), await asAdmin('popen_y')]).toEqual([401, ['of popen']]);
    const told =
      'layer psecret_y is hidden from all but administrators: its table or file belongs to the restricted layer psecret';
    while (!server.log().includes(told)) await new Promise((next) => setTimeout(next, 50));
    const { catalog } = await (
      await fetch(`${server.url}/healthz/metrics`, { headers: { 'x-api-key': server.adminKey } })
    ).json();
    expect(catalog.warnings).toContainEqual({
      collection: 'psecret_y',
      warning: expect.stringContaining('belongs to the restricted layer psecret.'),
    });
  });

  it('stays closed after a restart, and is open when it has its name again', async () => {
    await server.stop();
    await start();
    expect([await status('psecret_y'), await status('popen_y')]).toEqual([401, 401]);
    await run(postgres.url, 'ALTER TABLE popen_y RENAME TO popen');
    await reloaded('popen');
    expect(await status('popen')).toEqual([undefined]);
  });

  it('is open when an operator decides it', async () => {
    await setPolicy('psecret_y', true);
    expect(await status('psecret_y')).toEqual(['of psecret']);
  });

  it('is closed after it changed places with another table', async () => {
    await setPolicy('parcels', false);
    await run(
      postgres.url,
      'ALTER TABLE parcels RENAME TO parcels_old; ALTER TABLE parcels_new RENAME TO parcels',
    );
    await reloaded('parcels_old');
    expect([await status('parcels'), await status('parcels_old')]).toEqual([401, 401]);
    expect([await asAdmin('parcels'), await asAdmin('parcels_old')]).toEqual([
      ['of parcels_new'],
      ['of parcels'],
    ]);
  });

  it('is closed if it is published through a connection under the other name', async () => {
    await setPolicy('published', false);
    await run(postgres.url, 'ALTER TABLE published RENAME TO published_y');
    const { body: list } = await admin('GET', '/connections');
    const connection = list.data.find(({ name }: { name: string }) => !name.startsWith('/'));
    const body = { schema: 'public', table: 'published_y', layerName: 'published again' };
    const made = await admin('POST', `/connections/${connection.connectionId}/layers`, body);
    expect(made.status, made.text).toBe(201);
    expect([await status('published-again'), await asAdmin('published-again')]).toEqual([
      401,
      ['of published'],
    ]);
  });
});

describe('a second layer of a table', () => {
  const first = 'popen';
  const second = 'second-popen';
  let connection: string;
  const settings = async (collection: string, what: 'filter' | 'fields', body: unknown, key?: string) => {
    const path = `/api/v1/admin/metadata/layers/${await layerId(collection)}/${what}`;
    const headers = { 'x-api-key': key ?? server.adminKey, 'content-type': 'application/json' };
    return (await fetch(server.url + path, { method: 'PUT', headers, body: JSON.stringify(body) })).status;
  };
  const filterBy = (expression: string) => ({ permanentFilter: { expression } });

  beforeAll(async () => {
    await run(postgres.url, `INSERT INTO popen VALUES (2, 'two', ${POINT}), (3, 'three', ${POINT})`);
    const { data } = (await admin('GET', '/field-mask-policies')).body;
    for (const { policyId } of data)
      expect((await admin('DELETE', `/field-mask-policies/${policyId}`)).status).toBeLessThan(300);
    const { body: list } = await admin('GET', '/connections');
    connection = list.data.find(({ name }: { name: string }) => !name.startsWith('/')).connectionId;
    const body = { schema: 'public', table: 'popen', layerName: second };
    const made = await admin('POST', `/connections/${connection}/layers`, body);
    expect(made.status, made.text).toBe(201);
  });

  it('has a permanent filter of its own, which an administrator chose', async () => {
    expect(await status(second)).toHaveLength(3);
    expect(await settings(first, 'filter', filterBy('id = 2'))).toBe(200);
    expect([await status(first), await status(second)]).toEqual([['two'], 401]);
    expect(await settings(second, 'filter', filterBy('id = 3'))).toBe(200);
    expect([await status(first), await status(second)]).toEqual([['two'], ['three']]);
    // In the other order, too.
    expect(await settings(first, 'filter', null)).toBe(200);
    expect(await settings(first, 'filter', filterBy('id < 3'))).toBe(200);
    expect(await status(second)).toEqual(['three']);
    // Without a filter of its own it would show all.
    expect(await settings(second, 'filter', null)).toBe(200);
    expect(await status(second)).toBe(401);
    // The same filter shows no more.
    expect(await settings(second, 'filter', filterBy('id < 3'))).toBe(200);
    expect(await status(second)).toEqual(['of popen', 'two']);
  });

  it('hides the fields of the first one, or those that an administrator chose', async () => {
    expect(await settings(first, 'fields', { fields: [{ name: 'secret', hidden: true }] })).toBe(200);
    expect(await status(second)).toBe(401);
    expect(await settings(second, 'fields', { fields: [{ name: 'secret', hidden: true }] })).toBe(200);
    expect(await status(second)).toEqual([undefined, undefined]);
    const shown = { fields: [{ name: 'secret', hidden: false }] };
    expect(await settings(second, 'fields', shown)).toBe(200);
    expect(await status(second)).toBe(401);
    expect(await settings(first, 'fields', shown)).toBe(200);
    expect(await status(second)).toEqual(['of popen', 'two']);
  });

  it('does not show by a filter what access rules close, nor by a filter that another caller chose', async () => {
    await setPolicy(first, false);
    expect(await status(second)).toBe(401);
    await setPolicy(first, true);
    expect(await status(second)).toEqual(['of popen', 'two']);
    const rows = { service: 'default', layer: first, role: 'anonymous', attribute: null, claimType: null };
    const policy = await admin('POST', '/rls-policies', { ...rows, filter: 'id = 1' });
    expect(policy.status, policy.text).toBe(201);
    expect(await status(second)).toBe(401);
    expect((await admin('DELETE', `/rls-policies/${policy.body.data.policyId}`)).status).toBeLessThan(300);
    expect(await settings(first, 'filter', null)).toBe(200);
    const permissions = ['admin:layer-metadata:write', 'admin:metadata:write', 'read:*', 'write:*'];
    const editor = (await admin('POST', '/api-keys', { name: 'editor', permissions })).body.data.key;
    expect(await settings(second, 'filter', filterBy('id > 0'), editor)).toBe(200);
    expect(await status(second)).toHaveLength(3);
    expect(await settings(first, 'filter', filterBy('id = 2'))).toBe(200);
    expect(await status(second)).toBe(401);
  });

  it('keeps what a manifest of an administrator chose', async () => {
    const about = { kind: 'Layer', metadata: { name: second } };
    const spec = { filter: { expression: 'id = 1', language: 'arcgis-sql' } };
    const applied = await admin('POST', '/metadata/manifest/apply', { resources: [{ ...about, spec }] });
    expect(applied.status, applied.text).toBe(200);
    expect([await status(first), await status(second)]).toEqual([['two'], ['of popen']]);
  });
});

describe('a restricted file', () => {
  it('is closed under another name and in another folder, and its copies of the same name are not', async () => {
    await setPolicy('fsecret', false);
    renameSync(join(files, 'fsecret.geojson'), join(files, 'fother.geojson'));
    await appears('fother');
    expect([await status('fother'), await asAdmin('fother')]).toEqual([401, ['of fsecret']]);
    mkdirSync(join(files, 'deep'));
    renameSync(join(files, 'fother.geojson'), join(files, 'deep', 'fdeep.geojson'));
    await appears('fdeep');
    expect([await status('fdeep'), await status('fopen')]).toEqual([401, ['of fopen']]);
  });

  it('is closed when another file took its place', async () => {
    renameSync(join(files, 'deep', 'fdeep.geojson'), join(files, 'fsecret.geojson'));
    await appears('fsecret');
    renameSync(join(files, 'fsecret.geojson'), join(files, 'fold.geojson'));
    renameSync(join(files, 'fopen.geojson'), join(files, 'fsecret.geojson'));
    await appears('fold');
    expect([await status('fsecret'), await status('fold')]).toEqual([401, 401]);
    expect(await asAdmin('fold')).toEqual(['of fsecret']);
  });

  it('opens its other tables, and no table that got another name', async () => {
    await setPolicy('inner_secret', false);
    const db = new Database(join(files, 'several.gpkg'));
    db.exec(`ALTER TABLE inner_secret RENAME TO inner_other;
      UPDATE gpkg_contents SET table_name = 'inner_other', identifier = 'inner_other' WHERE table_name = 'inner_secret';
      UPDATE gpkg_geometry_columns SET table_name = 'inner_other' WHERE table_name = 'inner_secret'`);
    db.close();
    await appears('inner_other');
    expect([await status('inner_other'), await status('inner_open')]).toEqual([401, ['of inner_open']]);
  });
});
