import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import { raw } from '../support/http.js';

/** More work than the server may let wait: one thread, and a queue that may hold 40 milliseconds of it. */
let server: TestServer;
beforeAll(async () => {
  const env = {
    ...{ SVC_WORKERS__VECTOR_THREADS: '1', SVC_WORKERS__WAIT_MS: '40', SVC_WORKERS__ENGINES: '1' },
    SVC_WORKERS__HEAVY_PER_ADDRESS: '2',
  };
  server = await startServer({ env });
}, 60_000);
afterAll(() => server.stop());

it('refuses more heavy requests of one address than may run without a key', async () => {
  const map = (i: number) => `/ogc/maps/collections/countries/map?width=2600&height=${2600 + i}`;
  const ask = (i: number, headers: Record<string, string> = {}) => raw(server.url + map(i), { headers });
  const key = { 'x-api-key': server.adminKey };
  const [strangers, keyed] = await Promise.all([
    Promise.all(Array.from({ length: 6 }, (_, i) => ask(i))),
    Promise.all([6, 7, 8].map((i) => ask(i, key))),
  ]);
  const refused = strangers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers, body } of refused) {
    expect(headers['retry-after']).toBe('2');
    expect(JSON.parse(body.toString()).detail).toMatch(/has 2 heavy requests in progress/);
  }
  expect(strangers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  expect(keyed.filter(({ status }) => status === 429)).toEqual([]);
});

const vectorTile = (i: number) =>
  `/ogc/tiles/tiles/WebMercatorQuad/7/${30 + (i >> 5)}/${60 + (i & 31)}?collections=states_provinces`;
const coverage = (i: number) => `/ogc/coverages/collections/l7_etms/coverage?f=png&scale-size=400,${i + 100}`;

it.each([
  ['vector tiles', vectorTile, 700],
  ['coverages', coverage, 200],
])('answers %s or says when to come again, and recovers', async (_, path, requests) => {
  const ask = (first: number, count: number) =>
    Promise.all(Array.from({ length: count }, (__, i) => raw(server.url + path(first + i))));
  // What it takes is known once some were made.
  await ask(1000, 60);
  const answers = await ask(0, requests);
  const refused = answers.filter(({ status }) => status === 503);
  const done = answers.filter(({ status }) => status === 200 || status === 204);
  expect(done.length + refused.length).toBe(requests);
  expect(done.length).toBeGreaterThan(0);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers, body } of refused) {
    expect(String(headers['retry-after'])).toMatch(/^[1-9]\d*$/);
    expect(JSON.parse(body.toString())).toMatchObject({
      status: 503,
      detail: expect.stringContaining('busy'),
    });
  }
  expect((await raw(server.url + path(2000))).status).toBeLessThan(300);
});

it('finishes a page that it has begun', async () => {
  const page = '/ogc/features/collections/states_provinces/items?limit=2000';
  const [pages] = await Promise.all([
    Promise.all(Array.from({ length: 10 }, () => raw(server.url + page))),
    Promise.all(Array.from({ length: 300 }, (_, i) => raw(server.url + vectorTile(3000 + i)))),
  ]);
  const begun = pages.filter(({ status }) => status === 200);
  expect(begun.length).toBeGreaterThan(0);
  for (const { body } of begun) expect(JSON.parse(body.toString()).features).toHaveLength(2000);
});
