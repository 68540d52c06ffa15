import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startServer, type TestServer } from '../../support/server.js';
import { run } from './support.js';

/** Columns of `character(n)`: shown, compared, ordered and named without the blanks at the end. */

let postgres: TestPostgres;
let server: TestServer;

beforeAll(async () => {
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE TABLE padded (code char(4) PRIMARY KEY, kind char(3), n int, geom geometry(Point, 4326));
     INSERT INTO padded SELECT code, kind, n, ST_SetSRID(ST_MakePoint(n, 1), 4326)
       FROM (VALUES ('B', 'x', 1), ('A', 'x', 2), ('AB', 'xy', 3), ('ABCD', NULL, 4)) AS v(code, kind, n)`,
  );
  server = await startServer({ sources: [postgres.url] });
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
});

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;
const read = async (path: string): Promise<Json> => {
  const response = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
};
const ITEMS = '/ogc/features/collections/padded/items';
const idsOf = ({ features }: Json) => features.map(({ id }: { id: string }) => id);

describe('the features API', () => {
  it('shows values and ids without blanks, and finds features by them', async () => {
    const { features } = await read(`${ITEMS}?f=json`);
    expect(features.map(({ id, properties }: Json) => [id, properties.kind])).toEqual([
      ['A', 'x'],
      ['AB', 'xy'],
      ['ABCD', null],
      ['B', 'x'],
    ]);
    expect((await read(`${ITEMS}/AB?f=json`)).properties).toEqual({ kind: 'xy', n: 3 });
    const csv = await (await fetch(`${server.url}${ITEMS}?f=csv`)).text();
    expect(csv).not.toMatch(/x |A /);
  });

  it.each([
    ["kind = 'x'", ['A', 'B']],
    ["kind <> 'x'", ['AB']],
    ["kind IN ('x', 'q')", ['A', 'B']],
    ["kind LIKE 'x'", ['A', 'B']],
    ["kind LIKE '%y'", ['AB']],
    ["kind BETWEEN 'x' AND 'xx'", ['A', 'B']],
    ["CASEI(kind) = CASEI('XY')", ['AB']],
    ["code = 'A'", ['A']],
    ["code LIKE 'A'", ['A']],
    ["code LIKE '%B'", ['AB', 'B']],
    ["code IN ('AB', 'B')", ['AB', 'B']],
    ["code > 'A' AND code < 'B'", ['AB', 'ABCD']],
  ])('finds by %s', async (filter, ids) => {
    expect(idsOf(await read(`${ITEMS}?f=json&filter=${encodeURIComponent(filter)}`))).toEqual(ids);
  });

  it('orders and pages by them', async () => {
    for (const [order, expected] of [
      ['kind', ['A', 'B', 'AB', 'ABCD']],
      ['-code', ['B', 'ABCD', 'AB', 'A']],
      ['', ['A', 'AB', 'ABCD', 'B']],
    ] as const) {
      const ids: string[] = [];
      let path: string | undefined = `${ITEMS}?f=json&limit=1&sortby=${order}`;
      if (order === '') path = `${ITEMS}?f=json&limit=1`;
      for (; path; ) {
        const page: Json = await read(path);
        ids.push(...idsOf(page));
        path = page.links.find(({ rel }: Json) => rel === 'next')?.href.replace(server.url, '');
      }
      expect([order, ids]).toEqual([order, expected]);
    }
  });

  it('leaves stored values that come back as they were read', async () => {
    const feature = await read(`${ITEMS}/AB?f=json`);
    const { status } = await fetch(`${server.url}${ITEMS}/AB`, {
      method: 'PUT',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
      body: JSON.stringify({ ...feature, properties: { ...feature.properties, n: 33 } }),
    });
    const { rows } = await run(postgres.url, "SELECT kind, n FROM padded WHERE code = 'AB'");
    expect([status, rows]).toEqual([200, [{ kind: 'xy ', n: 33 }]]);
  });
});

describe('FeatureServer', () => {
  it.each([
    ["kind = 'x'", ['A', 'B']],
    ["kind LIKE 'x'", ['A', 'B']],
    ["code LIKE '%B'", ['AB', 'B']],
    ["code IN ('A')", ['A']],
  ])('finds by %s', async (where, codes) => {
    const service = '/rest/services/default/FeatureServer';
    const { layers } = await read(`${service}?f=json`);
    const query = `f=json&outFields=*&where=${encodeURIComponent(where)}`;
    const reply = await read(`${service}/${layers[0].id}/query?${query}`);
    expect(reply).toHaveProperty('features');
    const { features } = reply;
    expect(features.map(({ attributes }: Json) => attributes.code).sort()).toEqual(codes);
  });
});
