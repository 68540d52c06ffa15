import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startServer, type TestServer } from '../../support/server.js';
import { repetitions } from '../../support/soak.js';
import { run } from './support.js';

const SECRET = 'top-s3cret';

let postgres: TestPostgres;
let server: TestServer;
/** As operators write it: with a password that must not show up anywhere. */
let url: string;

beforeAll(async () => {
  postgres = await startPostgres();
  url = postgres.url.replace('graticule@', `graticule:${SECRET}@`);
  await run(
    postgres.url,
    `CREATE SCHEMA other;
     CREATE TABLE places (id int PRIMARY KEY, name text, geom geometry(Point, 4326));
     INSERT INTO places SELECT i, 'p' || i, ST_SetSRID(ST_MakePoint(i, i / 2.0), 4326) FROM generate_series(1, 80) i;
     CREATE INDEX ON places USING gist (geom);
     CREATE TABLE watched (id serial PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO watched (geom) SELECT ST_SetSRID(ST_MakePoint(i, i), 4326) FROM generate_series(1, 3) i;
     CREATE TABLE roads (id int PRIMARY KEY, geom geometry(LineString, 3857));
     CREATE TABLE other.roads (id int PRIMARY KEY, geom geometry(LineString, 3857));
     CREATE TABLE no_key (geom geometry(Point, 4326));
     CREATE TABLE halfturn (id serial PRIMARY KEY, geom geography(Polygon, 4326));
     INSERT INTO halfturn (geom) VALUES ('POLYGON((179 -1,-179 -1,-179 1,179 1,179 -1))');
     CREATE TABLE halfturns (id serial PRIMARY KEY, geom geography);
     INSERT INTO halfturns (geom) VALUES ('LINESTRING(179 0,-178 1)'), ('POINT(170 5)'), ('POINT(-175 0)');
     CREATE TABLE pacific (id serial PRIMARY KEY, geom geography);
     INSERT INTO pacific (geom) VALUES ('LINESTRING(179 0,-178 1)');
     CREATE TABLE reals (id serial PRIMARY KEY, f4 real, geom geometry(Point, 4326));
     INSERT INTO reals (f4, geom) SELECT v, 'SRID=4326;POINT(1 1)' FROM unnest('{0.3,0.1,16777216,NULL,1e-20,NaN}'::real[]) v;
     CREATE TABLE snow (id serial PRIMARY KEY, sid bigint, geom geometry(Point, 4326));
     INSERT INTO snow (sid, geom) SELECT 1152921504606846976 + i, ST_SetSRID(ST_MakePoint(i, i), 4326) FROM generate_series(1, 6) i;`,
  );
  server = await startServer({ sources: [url, 'demo/data/world_map.gpkg'] });
  const { collections } = JSON.parse(await textOf('/ogc/tiles/collections?f=json')) as {
    collections: { id: string; title: string }[];
  };
  for (const { id, title } of collections) numbers.set(title.toLowerCase(), id);
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
});

const get = (path: string) => fetch(`${server.url}${path}`);
const admin = (path: string) => fetch(`${server.url}${path}`, { headers: { 'x-api-key': server.adminKey } });
const items = (query = '') => get(`/ogc/features/collections/places/items${query}`);

async function until(what: string, reached: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await reached().catch(() => false))) {
    if (Date.now() > end) throw new Error(`it was never ${what}:\n${server.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
const readiness = async () => (await get('/healthz/ready')).status;

async function textOf(path: string): Promise<string> {
  const response = await get(path);
  expect([path, response.status]).toEqual([path, 200]);
  return response.text();
}
/** Numbers of layers by the names of tables. */
const numbers = new Map<string, string>();
const queryOf = (table: string) => `/rest/services/default/FeatureServer/${numbers.get(table)}/query`;

describe('geographies across 180 degrees', () => {
  const extentOf = async (id: string) =>
    JSON.parse(await textOf(`/ogc/features/collections/${id}?f=json`)).extent.spatial.bbox[0];

  it('have extents that lie across them', async () => {
    expect(await extentOf('halfturn')).toEqual([179, -1, -179, 1]);
    expect(await extentOf('halfturns')).toEqual([170, 0, -175, 5]);
    const query = `${queryOf('halfturn')}?where=1%3D1&returnExtentOnly=true&outSR=4326&f=json`;
    expect(JSON.parse(await textOf(query)).extent).toMatchObject({ xmin: -180, xmax: 180 });
  });

  it('have them after edits too', async () => {
    const insert = async (coordinates: number[][]) => {
      const { status } = await fetch(`${server.url}/ogc/features/collections/pacific/items`, {
        method: 'POST',
        headers: { 'content-type': 'application/geo+json', 'x-api-key': server.adminKey },
        body: JSON.stringify({
          type: 'Feature',
          geometry: { type: 'LineString', coordinates },
          properties: {},
        }),
      });
      expect(status).toBe(201);
      return extentOf('pacific');
    };
    expect(await extentOf('pacific')).toEqual([179, 0, -178, 1]);
    // Before the server has measured the extent again.
    expect(
      await insert([
        [177, 2],
        [-170, 3],
      ]),
    ).toEqual([177, 0, -170, 3]);
    expect(
      await insert([
        [160, 4],
        [165, 4],
      ]),
    ).toEqual([160, 0, -170, 4]);
    expect(
      await insert([
        [-165, 4],
        [-160, 4],
      ]),
    ).toEqual([160, 0, -160, 4]);
  });

  it('have their centroids and densities there', async () => {
    const query = `${queryOf('halfturn')}?where=1%3D1&returnCentroid=true&returnGeometry=false&outSR=4326`;
    const centroid = JSON.parse(await textOf(`${query}&f=json`)).features[0].centroid;
    expect([Math.abs(centroid.x), centroid.y]).toEqual([180, 0]);
    const lines = `${queryOf('halfturns')}?objectIds=1&returnCentroid=true&returnGeometry=false&outSR=4326&f=json`;
    const middle = JSON.parse(await textOf(lines)).features[0].centroid;
    expect(middle.x).toBeCloseTo(-179.5, 6);
    expect(middle.y).toBeCloseTo(0.5, 6);
    const answer = await fetch(`${server.url}/ogc/features/collections/halfturn/density`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
      body: JSON.stringify({ cellSize: 100_000 }),
    });
    const cells = JSON.parse(await answer.text()).features;
    expect(cells.length).toBe(1);
    const ordinates: number[] = cells[0].geometry.coordinates.flat(3);
    for (const [i, x] of ordinates.entries()) if (i % 2 === 0) expect(Math.abs(x)).toBeGreaterThan(175);
  });
});

it.each([
  ['f4=0.3', [1]],
  ['0.3=f4', [1]],
  ['f4=0.30000001', []],
  ['f4>0.3', [3, 6]],
  ['f4>=0.3', [1, 3, 6]],
  ['f4<0.30000001', [1, 2, 5]],
  ['f4 IN (0.1,0.3,0.25)', [1, 2]],
  ['f4 BETWEEN 0.1 AND 0.3', [1, 2]],
  ['f4=16777217', []],
  ['f4=16777216', [3]],
  ['f4=1e-20', [5]],
  ['f4*10=3', [1]],
])('a real is the number that it is shown as: %s', async (filter, ids) => {
  const { features } = JSON.parse(
    await textOf(`/ogc/features/collections/reals/items?f=json&filter=${encodeURIComponent(filter)}`),
  );
  expect(features.map(({ id }: { id: number }) => id)).toEqual(ids);
});

it('statistics of buffers keep the digits of integers, and so do bins; those that have no width are refused', async () => {
  const aggregate = (type: string) => ({
    statisticType: type,
    onStatisticField: 'sid',
    outStatisticFieldName: type,
  });
  const answer = await fetch(`${server.url}/ogc/features/collections/snow/buffer-aggregate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
    body: JSON.stringify({
      distance: 1000,
      dissolve: true,
      outStatistics: ['sum', 'max', 'min'].map(aggregate),
    }),
  });
  const body = await answer.text();
  expect(body).toContain('"sum":6917529027641081877');
  expect(body).toContain('"max":1152921504606846982');
  expect(body).toContain('"min":1152921504606846977');
  const bins = (count: number) =>
    encodeURIComponent(
      JSON.stringify({ type: 'autoIntervalBin', onField: 'sid', parameters: { numberOfBins: count } }),
    );
  const binned = (count: number) =>
    textOf(`${queryOf('snow').replace('/query', '/queryBins')}?bin=${bins(count)}&f=json`);
  const limits = ['977', '978', '980', '982'].map((end) => `1152921504606846${end}`);
  const rows = [1, 2, 3].map(
    (frequency, i) =>
      `{"attributes":{"lowerBoundary":${limits[i]},"upperBoundary":${limits[i + 1]},"frequency":${frequency}}}`,
  );
  expect(await binned(3)).toContain(`"features":[${rows.join(',')}]`);
  expect(await binned(10)).toContain('too close together for 10 bins');
});

describe('a published database', () => {
  it('is served beside files', async () => {
    const { collections } = (await (await get('/ogc/features/collections')).json()) as {
      collections: { id: string }[];
    };
    const ids = collections.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['places', 'public-roads', 'other-roads', 'countries']));
  });

  it('answers pages, items and windows', async () => {
    const all = (await (await items('?limit=5')).json()) as {
      features: { id: number }[];
      numberReturned: number;
    };
    expect(all.features.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
    const some = (await (await items('?bbox=9.5,0,12.5,90')).json()) as { features: { id: number }[] };
    expect(some.features.map(({ id }) => id)).toEqual([10, 11, 12]);
    const one = await items('/7');
    expect(await one.json()).toMatchObject({ id: 7, properties: { name: 'p7' } });
    expect((await items('/700')).status).toBe(404);
    expect((await items('/x')).status).toBe(404);
  });

  it('answers tiles and maps', async () => {
    const collections = (await (await get('/ogc/tiles/collections')).json()) as {
      collections: { id: string; title: string }[];
    };
    const { id } = collections.collections.find(({ title }) => title === 'Places')!;
    const tile = await get(`/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/0/0/0`);
    expect(tile.status).toBe(200);
    expect((await tile.arrayBuffer()).byteLength).toBeGreaterThan(500);
    const map = await get(`/ogc/maps/collections/${id}/map?bbox=0,0,80,80&width=200`);
    expect(map.status).toBe(200);
  });

  it('is in the snapshot of the server, with what was asked of it', async () => {
    const { database } = (await (await admin('/healthz/metrics')).json()) as {
      database: { queries: Record<string, { count: number }>; sources: unknown[] };
    };
    expect(database.queries['select']!.count).toBeGreaterThan(0);
    const name = expect.stringContaining('graticule@localhost');
    expect(database.sources).toEqual([{ name, up: true, published: true }]);
  });

  it('never shows its password', async () => {
    const documents = await Promise.all([
      admin('/api/v1/admin/config').then((response) => response.text()),
      get('/ogc/features/collections/places').then((response) => response.text()),
      admin('/healthz/metrics').then((response) => response.text()),
    ]);
    expect([...documents, server.log()].filter((text) => text.includes(SECRET))).toEqual([]);
    expect(server.log()).toContain('graticule@localhost');
    expect(server.log()).toContain('public.no_key): It has no primary key');
  });

  it('answers 503 and is not ready while the server is down, and recovers by itself', async () => {
    expect(await readiness()).toBe(200);
    await postgres.halt();
    const failed = await items();
    expect(failed.status).toBe(503);
    expect(failed.headers.get('retry-after')).toBeTruthy();
    await until('red', async () => (await readiness()) === 503);
    const problem = await (await get('/healthz/ready')).text();
    expect(problem).toContain('database:');
    expect(problem).not.toContain(SECRET);
    expect((await get('/ogc/features/collections/countries/items?limit=1')).status).toBe(200);
    await postgres.start();
    await until('green', async () => (await readiness()) === 200);
    expect((await items()).status).toBe(200);
    expect(server.log()).not.toContain('ended with code');
  });

  it('keeps its collections when the catalog is read again meanwhile', async () => {
    await postgres.halt();
    server.reload();
    await until('read again', async () => server.log().includes('all gateways use the new configuration'));
    expect((await items()).status).toBe(503);
    await postgres.start();
    await until('there again', async () => (await items()).status === 200);
  });
});

describe('a database that is down at the start', () => {
  /** No surface says that the layer is not there, which clients that synchronise take for its end. */
  async function expectUnread({ url, adminKey }: TestServer, id: string): Promise<void> {
    const rest = `${url}/rest/services/default`;
    const inBand = [
      `${rest}/FeatureServer/${id}?f=json`,
      `${rest}/FeatureServer/${id}/query?where=1%3D1&f=json`,
      `${rest}/FeatureServer/query?layerDefs=${encodeURIComponent(`{"${id}":"1=1"}`)}&f=json`,
      `${rest}/MapServer/${id}?f=json`,
      `${rest}/MapServer/export?layers=show:${id}&bbox=0,0,1,1&f=json`,
      `${rest}/MapServer/identify?layers=all:${id}&geometry=0,0&geometryType=esriGeometryPoint&mapExtent=0,0,1,1&imageDisplay=100,100,96&tolerance=1&f=json`,
    ];
    for (const address of inBand) {
      const { error } = (await (await fetch(address)).json()) as { error?: { code: number } };
      expect([address, error?.code]).toEqual([address, 503]);
    }
    const post = (path: string, body: object) => ({
      path,
      method: 'POST',
      body: JSON.stringify(body),
    });
    const requests: { path: string; method?: string; body?: string }[] = [
      post('/ogc/processes/processes/geometry.centroid/execution', {
        inputs: { features: { collection: 'places' } },
      }),
      post('/stac/search', { collections: ['places'] }),
      post('/api/v1/admin/rls-policies', {
        ...{ service: 'default', layer: 'places', role: 'Viewer' },
        ...{ attribute: 'id', claimType: 'city' },
      }),
      { path: `/api/v1/admin/metadata/layers/${id}/fields` },
      { path: `/api/v1/admin/metadata/layers/${id}/style` },
    ];
    for (const { path, ...init } of requests) {
      const headers = { 'x-api-key': adminKey, 'content-type': 'application/json' };
      const response = await fetch(`${url}${path}`, { ...init, headers });
      expect([path, response.status, await response.text()]).toEqual([path, 503, expect.any(String)]);
      expect([path, response.headers.get('retry-after')]).toEqual([path, '5']);
    }
  }

  it('is published when it comes up', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'graticule-late-'));
    const startLate = () => startServer({ sources: ['demo/data/world_map.gpkg', url], dataDir });
    await postgres.halt();
    let late = await startLate();
    const places = () => fetch(`${late.url}/ogc/features/collections/places/items?limit=1`);
    const status = async () => (await places()).status;
    try {
      // Nobody knows yet what it holds.
      expect(await status()).toBe(404);
      expect(late.log()).toContain('does not respond');
      await postgres.start();
      const end = Date.now() + 30_000;
      while ((await status()) !== 200) {
        if (Date.now() > end) throw new Error(`it was never published:\n${late.log()}`);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      const tiles = (await (await fetch(`${late.url}/ogc/tiles/collections?f=json`)).json()) as {
        collections: { id: string; title: string }[];
      };
      const { id } = tiles.collections.find(({ title }) => title === 'Places')!;
      await late.stop();

      await postgres.halt();
      late = await startLate();
      const answers = [await places(), await fetch(`${late.url}/ogc/tiles/collections/${id}`)];
      for (const { status, headers } of answers)
        expect([status, headers.get('retry-after')]).toEqual([503, '5']);
      expect(((await answers[0]!.json()) as { detail: string }).detail).toBe(
        "The source of collection 'places' could not be read yet. Retry later.",
      );
      expect((await fetch(`${late.url}/ogc/features/collections/nowhere`)).status).toBe(404);
      await expectUnread(late, id);
    } finally {
      await late.stop();
      await postgres.start();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

describe('a database with slow views', () => {
  const VIEWS = [1, 2, 3, 4].map((n) => `slow${n}`);

  it('delays no other table, names the views in the table and the log, and publishes them later', async () => {
    const views = VIEWS.map(
      (name) => `CREATE VIEW ${name} AS
        SELECT p.id, p.geom FROM places p, (SELECT pg_sleep(seconds) IS NULL FROM pace) s (waited);`,
    );
    await run(postgres.url, `CREATE TABLE pace AS SELECT 120 AS seconds; ${views.join(' ')}`);
    const slow = await startServer({ sources: ['demo/data/world_map.gpkg', url] });
    const status = async (id: string) =>
      (await fetch(`${slow.url}/ogc/features/collections/${id}/items?limit=1`)).status;
    try {
      expect(await status('countries')).toBe(200);
      expect(await status('places')).toBe(200);
      expect(await Promise.all(VIEWS.map(status))).toEqual([404, 404, 404, 404]);
      const reason = 'Reading it took too long';
      for (const view of VIEWS) {
        expect(slow.log()).toMatch(new RegExp(`not published: postgresql://.*public.${view}.*: ${reason}`));
        const isLogged = (line: string) => line.includes('1205') && line.includes(`${view}) was skipped`);
        await until('logged', async () => slow.log().split('\n').some(isLogged));
      }
      // The views become quick; the statements under way end.
      await run(postgres.url, 'UPDATE pace SET seconds = 0');
      const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%slow%' AND pid <> pg_backend_pid()`;
      await until('published', async () => {
        await run(postgres.url, cancel);
        return (await Promise.all(VIEWS.map(status))).some((one) => one === 200);
      });
      // A view whose statement was cancelled is left out until the next reload.
      slow.reload();
      await until('complete', async () => (await Promise.all(VIEWS.map(status))).every((one) => one === 200));
      // What was read once stays, however slow it becomes.
      await run(postgres.url, 'UPDATE pace SET seconds = 120');
      slow.reload();
      for (let n = 0; n < 5; n++) {
        expect((await fetch(`${slow.url}/ogc/features/collections/slow1`)).status).toBe(200);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    } finally {
      await run(postgres.url, 'UPDATE pace SET seconds = 0');
      await slow.stop();
    }
  });
});

it('counts and measures tables again that other programs write to', async () => {
  const seen = async () => {
    const path = '/ogc/features/collections/watched';
    const { numberMatched } = JSON.parse(await textOf(`${path}/items?f=json&limit=1`));
    const { extent } = JSON.parse(await textOf(`${path}?f=json`));
    return JSON.stringify([numberMatched, ...extent.spatial.bbox[0]]);
  };
  const becomes = (...expected: number[]) =>
    until(JSON.stringify(expected), async () => (await seen()) === JSON.stringify(expected));
  await becomes(3, 1, 1, 3, 3);
  await run(postgres.url, "INSERT INTO watched (geom) VALUES ('SRID=4326;POINT(50 20)')");
  await becomes(4, 1, 1, 50, 20);
  await run(postgres.url, "UPDATE watched SET geom = 'SRID=4326;POINT(-50 20)' WHERE id = 4");
  await becomes(4, -50, 1, 3, 20);
  await run(postgres.url, 'DELETE FROM watched WHERE id > 2');
  await becomes(2, 1, 1, 2, 2);
  await run(postgres.url, "TRUNCATE watched; INSERT INTO watched (geom) VALUES ('SRID=4326;POINT(9 9)')");
  await becomes(1, 9, 9, 9, 9);
});

it('publishes tables that come and go, one of each per reload, while requests are answered', async () => {
  const rounds = repetitions(import.meta.url, 15, 3);
  const pauseMs = repetitions(import.meta.url, 1000, 10);
  const shown = async () => {
    const { collections } = JSON.parse(await textOf('/ogc/features/collections?f=json'));
    const ids = collections.map(({ id }: { id: string }) => id);
    return ids.filter((id: string) => id.startsWith('every')).sort();
  };
  const failed: string[] = [];
  let isOver = false;
  const reader = (async () => {
    for (; !isOver; await new Promise((resolve) => setTimeout(resolve, 10)))
      for (const path of ['places/items?limit=1', 'countries/items?limit=1']) {
        const { status } = await get(`/ogc/features/collections/${path}`);
        if (status !== 200) failed.push(`${path}: ${status}`);
      }
  })();
  try {
    await run(postgres.url, 'CREATE TABLE every0 (id int PRIMARY KEY, geom geometry(Point, 4326))');
    for (let n = 1; n <= rounds; n++) {
      await run(
        postgres.url,
        `CREATE TABLE every${n} (id int PRIMARY KEY, geom geometry(Point, 4326)); DROP TABLE every${n - 1}`,
      );
      server.reload();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    await until('published', async () => (await shown()).join() === `every${rounds}`);
  } finally {
    isOver = true;
    await reader;
  }
  expect(failed).toEqual([]);
});
