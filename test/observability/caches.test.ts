import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServerProcess, type TestServer } from '../support/server.js';

const ADMIN = '/api/v1/admin';
const TILE = '/ogc/tiles/collections/countries/tiles/WebMercatorQuad';
let server: TestServer;

beforeAll(async () => {
  server = await startServerProcess({
    sources: ['demo/data/world_map.gpkg'],
    args: ['--processes', '2'],
  });
});
afterAll(() => server?.stop());

/** Each connection can meet another process. */
const send = (path: string) =>
  fetch(server.url + path, { headers: { 'x-api-key': server.adminKey, connection: 'close' } });
// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
const ask = async (path: string): Promise<any> => (await send(ADMIN + path)).json();

it('figures of caches are sums of all processes, whichever responds', async () => {
  const REQUESTS = 40;
  for (let i = 0; i < REQUESTS; i++) {
    const response = await send(`${TILE}/3/${2 + (i % 3)}/4?f=mvt`);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  }
  for (let i = 0; i < 12; i++) {
    const { data: own } = await ask('/operations/cache/statistics');
    expect(own.hits + own.misses).toBe(REQUESTS);
    expect(own.types.tile.hits).toBe(own.hits);
    const cache = await ask('/performance/enhanced/cache/statistics');
    expect(cache.missingInstances).toEqual([]);
    expect([cache.totalRequests, cache.cacheHits]).toEqual([REQUESTS, own.hits]);
    expect(cache.currentCacheSize).toBeGreaterThanOrEqual(own.localKeyCount);
    expect((await ask('/performance/enhanced/summary')).cacheStatistics.totalRequests).toBe(REQUESTS);
    expect((await ask('/performance/enhanced/exceptions/statistics')).missingInstances).toEqual([]);
  }
});
