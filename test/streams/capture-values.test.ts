import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, postgisStore } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { until } from '../webhooks/receiver.js';
import { type Frame, StreamClient } from './support.js';

const TABLES = `
  CREATE TABLE colv (id serial PRIMARY KEY, v int, t int, i int, n int, geom geometry(Point, 4326));
  CREATE TABLE times (id serial PRIMARY KEY, k int, a timestamptz[], b timestamp[], geom geometry(Point, 4326));
  CREATE TABLE words (id serial PRIMARY KEY, ts timestamp, tz timestamptz, d date, f4 real, f8 float8, nu numeric,
    geom geometry(GeometryZ, 4326));
  CREATE TABLE lines (id serial PRIMARY KEY, name text, geom geometry(LineString, 3857));`;

describe('values of captured edits', () => {
  let store: EditableStore;
  let server: TestServer;
  let client: StreamClient;

  beforeAll(async () => {
    store = await postgisStore();
    await store.query(TABLES);
    server = await startServer({ sources: store.sources, env: { SVC_POSTGIS__CAPTURE_EDITS: 'true' } });
    await until(
      async () =>
        (await store.query(`SELECT FROM pg_trigger WHERE tgname LIKE 'graticule_capture_%'`)).length === 28,
    );
    const response = await fetch(`${server.url}/api/v1/streaming/features/capabilities`);
    const { layers } = (await response.json()) as { layers: { name: string; layerId: number }[] };
    client = await new StreamClient(`${server.url}/api/v1/streaming/features`).opened();
    for (const { name, layerId } of layers) await client.subscribe(name, { layers: [layerId] });
  }, 120_000);
  afterAll(async () => {
    client?.close();
    await server?.stop();
    await store?.release();
  });

  const told = (id: string) =>
    client.frames.filter(({ subscriptionId, type }) => subscriptionId === id && type !== 'status');
  async function frames(id: string, count: number, sql: string): Promise<Frame[]> {
    const from = told(id).length;
    await store.query(sql);
    await client.until(() => told(id).length >= from + count);
    return told(id).slice(from);
  }

  it('are events whatever the columns are called', async () => {
    const found = await frames(
      'colv',
      2,
      `INSERT INTO colv (v, t, i, n, geom) VALUES (1, 2, 3, 4, 'SRID=4326;POINT(1 1)'); UPDATE colv SET v = 5`,
    );
    expect(found.map(({ operation, attributes }) => [operation, attributes])).toEqual([
      ['insert', { v: 1, t: 2, i: 3, n: 4 }],
      ['update', { v: 5, t: 2, i: 3, n: 4 }],
    ]);
  });

  it('are events where columns are arrays of times', async () => {
    const [one] = await frames(
      'times',
      1,
      `INSERT INTO times (k, a, b) VALUES (1, '{2020-01-02 03:04:05+00}', '{2020-01-02 03:04:05}')`,
    );
    const { features } = (await (
      await fetch(`${server.url}/ogc/features/collections/times/items?f=json`)
    ).json()) as { features: { properties: unknown }[] };
    expect(one).toMatchObject({ operation: 'insert', attributes: features[0]!.properties });
  });

  it('are those of the items', async () => {
    const rows = [
      `'0043-03-15 00:00 BC', '0043-03-15 00:00 BC', '4713-01-01 BC', 'NaN', 'Infinity', 'NaN', 'SRID=4326;POINT Z EMPTY'`,
      `'12020-01-01', '12020-01-01', '12020-01-01', '0.1', '1.5', '12345678901234567890.25', 'SRID=4326;POINT Z (1 2 3)'`,
      `'infinity', '-infinity', 'infinity', '-Infinity', '-Infinity', '7', 'SRID=4326;TRIANGLE Z ((0 0 1, 0 1 1, 1 0 1, 0 0 1))'`,
      `'0001-02-03 BC', '0001-02-03 04:05:06.5+00 BC', '0001-02-03 BC', '2', '3', '4', 'SRID=4326;POLYGON Z ((0 0 1, 0 1 1, 1 0 1, 0 0 1))'`,
      `'0001-02-03', '9999-12-31', '0100-02-03', '2', '3', '4', 'SRID=4326;MULTISURFACE Z (((0 0 1, 0 1 1, 1 0 1, 0 0 1)))'`,
    ];
    const events = await frames(
      'words',
      rows.length,
      `INSERT INTO words (ts, tz, d, f4, f8, nu, geom) VALUES ${rows.map((row) => `(${row})`).join(', ')}`,
    );
    const { features } = (await (
      await fetch(`${server.url}/ogc/features/collections/words/items?f=json`)
    ).json()) as { features: { geometry: unknown; properties: unknown }[] };
    expect(events.map(({ geometry = null, attributes }) => ({ geometry, attributes }))).toEqual(
      features.map(({ geometry, properties }) => ({ geometry, attributes: properties })),
    );
    expect(features[0]!.properties).toMatchObject({ ts: '-000042-03-15T00:00:00Z', f8: null, nu: null });
  });

  it('that cannot be told are logged with the reason, once a minute', async () => {
    for (const name of ['a', 'b']) {
      const [gap] = await frames(
        'lines',
        1,
        `INSERT INTO lines (name, geom) VALUES ('${name}', 'SRID=3857;LINESTRING(NaN NaN, 1 1)')`,
      );
      expect(gap).toMatchObject({ type: 'gap', reason: 'events-lost' });
    }
    const lines = () => server.log().match(/.*an edit of table \S+ of \S+ could not be captured.*/g) ?? [];
    await until(async () => lines().length > 0);
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatch(/public\.lines/);
  });
});
