import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { raw } from './support/http.js';

/** More work than the server may let wait: one thread, and a queue that may hold 40 milliseconds of it. */
let server: TestServer;
beforeAll(async () => {
  const env = { SVC_WORKERS__VECTOR_THREADS: '1', SVC_WORKERS__WAIT_MS: '40', SVC_WORKERS__ENGINES: '1' };
  server = await startServer({ env });
}, 60_000);
afterAll(() => server.stop());

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
