import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProcessClient } from '../processes/support.js';
import { tilesOf } from '../support/archives.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';
import { query } from './support/database.js';
import { openEvents, until } from './support/streams.js';

/** What masks make of values of all types: the same in both stores, on streams and in every format. */

let folder: string;
let postgres: TestPostgres;
let server: TestServer;

/** Columns with two values each: of the first two rows, which are alike, and of the third. */
const COLUMNS: Record<string, readonly [type: string, twice: string, once: string]> = {
  word: ['text', `'Zürich 8001'`, `'Genève'`],
  whole: ['int8', '9007199254740993', '12'],
  real: ['float8', '0.1', '1e20'],
  small: ['float4', '0.1', '-2.5'],
  exact: ['numeric(9,2)', '1.50', '-0.07'],
  one: ['int4', '1', '2'],
  one_real: ['float8', '1', '2'],
  one_exact: ['numeric(9,2)', '1.00', '2.00'],
  far: ['float8', '1.5e-70', '-1e80'],
  flag: ['boolean', 'true', 'false'],
  day: ['date', `'2024-02-29'`, `'1999-12-31'`],
  time: ['timestamptz', `'2024-02-29T23:30:00.123+02'`, `'1999-12-31T00:00:00Z'`],
};
const NAMES = Object.keys(COLUMNS);
const STORES = ['gp', 'pg'] as const;

const tableOf = (name: string) => `CREATE TABLE ${name} (id int PRIMARY KEY, geom geometry(Point, 4326),
    ${NAMES.map((column) => `${column} ${COLUMNS[column]![0]}`).join(', ')});
  ${[1, 1, 2].map((n, i) => `INSERT INTO ${name} VALUES (${i + 1}, ST_SetSRID(ST_MakePoint(${8 + i}, 47), 4326), ${NAMES.map((column) => COLUMNS[column]![n]).join(', ')});`).join('\n')}
  INSERT INTO ${name} (id, geom) VALUES (4, ST_SetSRID(ST_MakePoint(12, 47), 4326));`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-treatments-'));
  postgres = await startPostgres();
  await query(postgres.url, STORES.map((store) => tableOf(`${store}_kinds`)).join('\n'));
  const file = join(folder, 'gp.gpkg');
  execFileSync('ogr2ogr', ['-f', 'GPKG', file, `PG:${postgres.url}`, 'gp_kinds']);
  await query(postgres.url, 'DROP TABLE gp_kinds');
  server = await startServer({ sources: [file, postgres.url] });
  for (const name of ['hashing', 'cutting', 'several']) await admin('POST', '/roles', { name });
  for (const store of STORES) {
    for (const attribute of NAMES)
      expect((await mask(store, 'hashing', attribute, { treatment: 'hash' })).status).toBe(201);
    for (const [attribute, length] of [
      ['word', 3],
      ['day', 7],
      ['time', 4],
    ] as const)
      await mask(store, 'cutting', attribute, { treatment: 'truncate', length });
    await mask(store, 'several', 'word', { treatment: 'truncate', length: 4 });
    await mask(store, 'several', 'word', { treatment: 'truncate', length: 2 });
    await mask(store, 'several', 'day', { treatment: 'truncate', length: 4 });
    await mask(store, 'several', 'day', {});
  }
  for (const role of ['hashing', 'cutting', 'several', 'administrator']) keys.set(role, await keyOf(role));
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

const keys = new Map<string, string>();

async function admin(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

const mask = (store: string, role: string, attribute: string, treatment: object) =>
  admin('POST', '/field-mask-policies', {
    ...{ service: 'default', layer: `${store}_kinds`, role, attribute },
    ...treatment,
  });

async function keyOf(role: string): Promise<string> {
  const permissions = [`role:${role}`, 'write:default'];
  const { text } = await admin('POST', '/api-keys', { name: role, permissions });
  return (JSON.parse(text) as { data: { key: string } }).data.key;
}

const ask = (role: string, path: string, init: RequestInit = {}) =>
  fetch(`${server.url}${path}`, {
    ...init,
    headers: { 'x-api-key': keys.get(role)!, 'content-type': 'application/json' },
  });
const at = (store: string, rest = '') => `/ogc/features/collections/${store}_kinds/${rest}`;

type Properties = Record<string, unknown>;

async function rows(role: string, store: string): Promise<Properties[]> {
  const response = await ask(role, at(store, 'items?f=json'));
  const { features } = (await response.json()) as { features: { properties: Properties }[] };
  return features.map(({ properties }) => properties);
}

const HASH = /^[\da-f]{16}$/;

describe('hashes', () => {
  it('are equal for equal values, in both stores, and for no others', async () => {
    const [gp, pg] = [await rows('hashing', 'gp'), await rows('hashing', 'pg')];
    expect(gp).toEqual(pg);
    const [first, second, third, empty] = gp as [Properties, Properties, Properties, Properties];
    for (const name of NAMES) {
      expect(first[name], name).toMatch(HASH);
      expect(second[name], name).toBe(first[name]);
      expect(third[name], name).toMatch(HASH);
      expect(third[name], name).not.toBe(first[name]);
      expect(empty[name], name).toBeNull();
    }
    // Columns of other types have the same number.
    expect([first['one_real'], first['one_exact']]).toEqual([first['one'], first['one']]);
  });

  it('are the same in a feature, a tile, an analysis and a stream', async () => {
    for (const store of STORES) {
      const [{ word, real, time } = {}] = await rows('hashing', store);
      const item = (await (await ask('hashing', at(store, 'items/1'))).json()) as { properties: Properties };
      expect(item.properties).toMatchObject({ word, real, time });
      const csv = await (await ask('hashing', at(store, 'items?f=csv'))).text();
      const tile = await (await ask('hashing', `/tiles/${store}_kinds/0/0/0.mvt`)).text();
      const clusters = await ask('hashing', at(store, 'clusters'), {
        ...{ method: 'POST', body: JSON.stringify({ algorithm: 'kmeans', k: 1 }) },
      });
      const found = await clusters.text();
      for (const text of [csv, tile, found])
        for (const value of [word, real, time]) expect(text).toContain(value);
    }
  });

  it('are what processes read, and nothing tells more of what is behind them', async () => {
    const permissions = ['role:hashing', 'processes:execute', 'processes:read'];
    const { text } = await admin('POST', '/api-keys', { name: 'processes', permissions });
    const { key } = (JSON.parse(text) as { data: { key: string } }).data;
    const client = new ProcessClient({ url: server.url, adminKey: key });
    for (const store of STORES) {
      const features = { collection: `${store}_kinds` };
      const { features: read } = (await client.results('geometry.envelope', { inputs: { features } }))
        .features;
      const [{ word, whole } = {}] = await rows('hashing', store);
      expect(read[0].properties).toMatchObject({ word, whole });
      const status = async (process: string, inputs: object) =>
        (await client.execute(process, { inputs: { features, ...inputs } })).status;
      for (const filter of ['whole > 100', "word = 'Genève'"])
        expect([filter, await status('geometry.envelope', { features: { ...features, filter } })]).toEqual([
          filter,
          400,
        ]);
      const archive = { collections: [`${store}_kinds`], maxZoom: 0, format: 'mbtiles' };
      const { archive: file } = await client.results('conversion.tile-archive', { inputs: archive });
      const path = join(folder, `${store}.mbtiles`);
      writeFileSync(path, Buffer.from(await (await client.get(file.href)).arrayBuffer()));
      const tile = gunzipSync(tilesOf(path)[0]!.data).toString();
      expect([tile.includes(word as string), tile.includes('Zürich')]).toEqual([true, false]);
      const statistics = [{ type: 'max', field: 'whole' }];
      expect(await status('analytics.summary-statistics', { statistics })).toBe(400);
      expect(await status('geometry.dissolve', { groupBy: ['word'] })).toBe(400);
      expect(await status('analytics.calculate-field', { name: 'x', expression: 'whole + 1' })).toBe(400);
    }
  });

  it('are those that streams tell of changes', async () => {
    for (const store of STORES) {
      const layers = (await (await fetch(`${server.url}/?f=json`)).json()) as {
        collections: { id: string; layerId: number }[];
      };
      const { layerId } = layers.collections.find(({ id }) => id === `${store}_kinds`)!;
      const query = `layers=${layerId}&mode=delta`;
      const of = { url: server.url, audience: 'reader', query } as const;
      const told = await openEvents({ ...of, key: keys.get('hashing') });
      const cut = await openEvents({ ...of, key: keys.get('cutting') });
      for (const one of [told, cut])
        await until('a subscription', () => one.text().includes('subscription is active'));
      const changed = {
        ...{ word: 'Winterthur 8400', whole: 77, real: 2.25, small: 0.5, exact: 12.5, flag: false },
        ...{ day: '2001-01-02', time: '2001-01-02T03:04:05.678Z' },
      };
      const edit = (properties: Properties) =>
        ask('administrator', at(store, 'items/3'), { method: 'PATCH', body: JSON.stringify({ properties }) });
      expect((await edit(changed)).status).toBe(200);
      const hashes = (await rows('hashing', store))[2]!;
      await until('the change', () => told.text().includes('feature-change'));
      const line = told
        .text()
        .split('\n')
        .find((text) => text.includes('"feature-change"'))!;
      const { attributes } = JSON.parse(line.slice(line.indexOf('{'))) as { attributes: Properties };
      expect(attributes).toEqual(hashes);
      // Of a change that a mask leaves nothing of nobody hears who has the mask.
      expect((await edit({ word: 'Winfried' })).status).toBe(200);
      expect((await edit({ word: 'Anna' })).status).toBe(200);
      await until('the last change', () => cut.text().includes('"word":"Ann"'));
      expect(cut.text().match(/"type":"feature-change"/g)).toHaveLength(2);
      for (const one of [told, cut]) one.close();
    }
  });
});

describe('values that are cut short', () => {
  it('keep their first characters, and of instants the year, the month or the day', async () => {
    for (const store of STORES) {
      const [row] = await rows('cutting', store);
      expect(row).toMatchObject({ word: 'Zür', day: '2024-02', time: '2024', flag: true });
    }
  });

  it('are cut where the strictest policy says', async () => {
    for (const store of STORES) {
      const [row] = await rows('several', store);
      expect(row).toMatchObject({ word: 'Zü', whole: expect.anything() });
      expect(Object.keys(row!)).not.toContain('day');
    }
  });
});

describe('attributes with a mask', () => {
  it('are told of as they are shown, and asked by nobody', async () => {
    for (const store of STORES) {
      const schema = (await (await ask('hashing', at(store, 'schema?f=json'))).json()) as {
        properties: Record<string, Properties>;
      };
      for (const name of NAMES)
        expect(schema.properties[name]).toMatchObject({ type: 'string', maxLength: 16, readOnly: true });
      const queryables = (await (await ask('hashing', at(store, 'queryables?f=json'))).json()) as {
        properties: object;
      };
      expect(Object.keys(queryables.properties).filter((name) => NAMES.includes(name))).toEqual([]);
      const day = 'datetime=2024-01-01T00:00:00Z/..';
      expect((await (await ask('hashing', at(store, `items?f=json&${day}`))).json()) as object).toMatchObject(
        {
          numberReturned: 4,
        },
      );
      const asked = [
        'items?sortby=word',
        'items?word=x',
        "items?filter=word%3D'x'",
        'items?filter=day%20IS%20NULL',
      ];
      for (const path of asked) expect((await ask('hashing', at(store, path))).status, path).toBe(400);
      const statistics = JSON.stringify([{ statisticType: 'max', onStatisticField: 'whole' }]);
      const h3 = `h3?resolution=3&outStatistics=${encodeURIComponent(statistics)}`;
      expect((await ask('hashing', at(store, h3))).status).toBe(400);
      const group = { distance: 100, groupByFields: ['word'] };
      const buffers = await ask('hashing', at(store, 'buffer-aggregate'), {
        ...{ method: 'POST', body: JSON.stringify(group) },
      });
      expect(buffers.status).toBe(400);
    }
  });

  it('are not written, and kept by what replaces their feature', async () => {
    for (const store of STORES) {
      const send = (method: string, body: object) =>
        ask('cutting', at(store, 'items/2'), { method, body: JSON.stringify(body) });
      expect((await send('PATCH', { properties: { word: 'mine' } })).status).toBe(403);
      const geometry = { type: 'Point', coordinates: [9, 47] };
      const replaced = await send('PUT', { type: 'Feature', geometry, properties: { whole: 5 } });
      expect(replaced.status).toBe(200);
      expect(await replaced.text()).not.toContain('Zürich');
      const row = (await rows('administrator', store))[1]!;
      expect(row).toMatchObject({ word: 'Zürich 8001', whole: 5, flag: null });
    }
  });

  it('are of types that the treatment is for, and have a length where it needs one', async () => {
    const wrong: [string, object][] = [
      ['whole', { treatment: 'truncate', length: 2 }],
      ['word', { treatment: 'truncate' }],
      ['word', { treatment: 'hash', length: 2 }],
      ['word', { treatment: 'truncate', length: 0 }],
      ['word', { treatment: 'scramble' }],
    ];
    for (const [attribute, treatment] of wrong)
      expect((await mask('gp', 'cutting', attribute, treatment)).status, JSON.stringify(treatment)).toBe(400);
  });

  it('have a key that nobody is shown', async () => {
    const { text } = await admin('GET', '/field-mask-policies');
    expect(text).not.toMatch(/[\da-f]{64}/);
    expect(server.log()).not.toMatch(/gr_masked|"key":"[\da-f]{64}/);
  });
});
