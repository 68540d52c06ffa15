import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, postgisStore } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { until } from '../webhooks/receiver.js';
import { type Frame, StreamClient } from './support.js';

describe('edits by others of a PostGIS database', () => {
  let store: EditableStore;
  let server: TestServer;
  let client: StreamClient;
  let layers: Map<string, number>;
  const others: pg.Client[] = [];

  beforeAll(async () => {
    store = await postgisStore();
    server = await startServer({ sources: store.sources, env: { SVC_POSTGIS__CAPTURE_EDITS: 'true' } });
    await until(async () => (await triggers()) === 12);
    const response = await fetch(`${server.url}/api/v1/streaming/features/capabilities`);
    const found = (await response.json()) as { layers: { name: string; layerId: number }[] };
    layers = new Map(found.layers.map(({ name, layerId }) => [name, layerId]));
    client = await new StreamClient(`${server.url}/api/v1/streaming/features`).opened();
    await client.subscribe('parcels', { layers: [layers.get('parcels')] });
    await client.subscribe('spots', { layers: [layers.get('spots')] });
  }, 120_000);
  afterAll(async () => {
    client?.close();
    for (const other of others) await other.end();
    await server?.stop();
    await store?.release();
  });

  const triggers = async () =>
    (await store.query(`SELECT FROM pg_trigger WHERE tgname LIKE 'graticule_capture_%'`)).length;
  const told = (subscriptionId: string) =>
    client.frames.filter((frame) => frame.subscriptionId === subscriptionId && frame.type !== 'status');
  /** The frames that follow from what is done. */
  async function frames(id: string, count: number, work: () => Promise<unknown>): Promise<Frame[]> {
    const from = told(id).length;
    await work();
    await client.until(() => told(id).length >= from + count);
    return told(id).slice(from);
  }
  const send = (method: string, path: string, body: unknown) =>
    fetch(`${server.url}/ogc/features/collections/${path}`, {
      method,
      headers: {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/geo+json',
        'x-api-key': server.adminKey,
      },
      body: JSON.stringify(body),
    });
  /** What must be the same, however the edit came. */
  const shape = ({
    eventId,
    cursor,
    sequence,
    timestamp,
    requestId,
    protocol,
    featureId,
    objectId,
    ...rest
  }: Frame) => rest;

  it('come as the same frames as edits through the server', async () => {
    const ring = [
      [8, 47],
      [8.5, 47],
      [8.5, 47.5],
      [8, 47],
    ];
    const properties = {
      name: 'A',
      area: 1.5,
      floors: 3,
      built: '2020-01-02',
      seen: '2024-05-06T07:08:09.25Z',
    };
    const more = { active: true, code: null, note: 'n', tags: { a: [1, 'x'] } };
    const feature = {
      type: 'Feature',
      geometry: { type: 'MultiPolygon', coordinates: [[ring]] },
      properties: { ...properties, ...more },
    };
    const ours = await frames('parcels', 3, async () => {
      const created = await send('POST', 'parcels/items', feature);
      const id = created.headers.get('location')!.split('/').at(-1);
      await send('PATCH', `parcels/items/${id}`, { type: 'Feature', properties: { floors: 4 } });
      await send('DELETE', `parcels/items/${id}`, undefined);
    });
    const wkt = `MULTIPOLYGON(((${ring.map((p) => p.join(' ')).join(',')})))`;
    const theirs = await frames('parcels', 3, async () => {
      await store.query(`INSERT INTO parcels (geom, name, area, floors, built, seen, active, note, tags)
        VALUES (ST_Transform(ST_GeomFromText('${wkt}', 4326), 3857), 'A', 1.5, 3, '2020-01-02',
          '2024-05-06 09:08:09.25+02', true, 'n', '{"a": [1, "x"]}')`);
      await store.query(`UPDATE parcels SET floors = 4`);
      await store.query(`DELETE FROM parcels`);
    });
    expect(theirs.map(({ protocol }) => protocol)).toEqual(['Database', 'Database', 'Database']);
    expect(theirs.map(shape)).toEqual(ours.map(shape));
    expect(ours.map(({ operation }) => operation)).toEqual(['insert', 'update', 'delete']);
  });

  it('are told once, when they are committed, and not when they are undone', async () => {
    const found = await frames('spots', 4, async () => {
      await store.query(`BEGIN`);
      await store.query(`INSERT INTO spots (geom, name) VALUES ('SRID=4326;POINT Z (1 2 3)', 'undone')`);
      await store.query(`ROLLBACK`);
      await store.query(`BEGIN; INSERT INTO spots (geom, name) VALUES ('SRID=4326;POINT Z (1 2 3)', 'a'), (NULL, 'b');
        UPDATE spots SET name = name; UPDATE spots SET geom = 'SRID=4326;POINT Z (4 5 6)' WHERE name = 'b';
        UPDATE spots SET fid = fid WHERE false; COMMIT`);
      await send('POST', 'spots/items', { type: 'Feature', geometry: null, properties: { name: 'ours' } });
    });
    expect(
      found.map(({ operation, attributes }) => [operation, (attributes as { name: string }).name]),
    ).toEqual([
      ['insert', 'a'],
      ['insert', 'b'],
      ['update', 'b'],
      ['insert', 'ours'],
    ]);
    expect(found[2]).toMatchObject({ geometryChanged: true, geometry: { coordinates: [4, 5, 6] } });
  });

  it('do not wait for each other, and keep no edit of the server waiting', async () => {
    const other = new pg.Client({ connectionString: store.sources[0]! });
    others.push(other);
    await other.connect();
    await other.query(`BEGIN; INSERT INTO spots (name) VALUES ('slow')`);
    const [first] = await frames('spots', 1, () =>
      send('POST', 'spots/items', { type: 'Feature', geometry: null, properties: { name: 'quick' } }),
    );
    expect(first).toMatchObject({ attributes: { name: 'quick' } });
    const [second] = await frames('spots', 1, () => other.query('COMMIT'));
    expect(second).toMatchObject({ attributes: { name: 'slow' } });
  });

  it('are told of users who may do nothing but edit the table', async () => {
    await store.query(
      `CREATE ROLE clerk LOGIN; GRANT INSERT ON spots TO clerk; GRANT USAGE ON spots_fid_seq TO clerk`,
    );
    const clerk = new pg.Client({ connectionString: store.sources[0]!.replace('//graticule@', '//clerk@') });
    others.push(clerk);
    await clerk.connect();
    const [one] = await frames('spots', 1, () => clerk.query(`INSERT INTO spots (name) VALUES ('clerk')`));
    expect(one).toMatchObject({ attributes: { name: 'clerk' } });
    const [{ actor }] = (await store.query(
      `SELECT actor FROM ${store.outbox} ORDER BY cursor DESC LIMIT 1`,
    )) as [{ actor: string }];
    expect(actor).toBe('clerk');
  });

  it('come as a gap when there are very many, or all rows go at once', async () => {
    const [many] = await frames('spots', 1, () =>
      store.query(`INSERT INTO spots (name) SELECT 'bulk' FROM generate_series(1, 1001)`),
    );
    expect(many).toMatchObject({ type: 'gap', reason: 'events-lost' });
    const [none] = await frames('spots', 1, () => store.query('TRUNCATE spots'));
    expect(none).toMatchObject({ type: 'gap' });
  });

  it('never fail because they cannot be told', async () => {
    const [gap] = await frames('spots', 1, () =>
      store.query(`INSERT INTO spots (geom, name) VALUES ('SRID=4326;POINT Z (NaN NaN NaN)', 'odd')`),
    );
    expect(gap).toBeDefined();
    expect(await store.query(`SELECT name FROM spots WHERE name = 'odd'`)).toHaveLength(1);
  });

  it('are in the next tile', async () => {
    const tile = `${server.url}/ogc/tiles/collections/${layers.get('spots')}/tiles/WebMercatorQuad/12/2047/2047?f=mvt`;
    // Outside of the limits of what was there.
    expect((await fetch(tile)).status).toBe(404);
    await frames('spots', 1, () =>
      store.query(`INSERT INTO spots (geom, name) VALUES ('SRID=4326;POINT Z (-0.01 0.01 0)', 'tile')`),
    );
    expect((await fetch(tile)).status).toBe(200);
  });

  it('are told no longer when the setting is off', async () => {
    await server.stop();
    server = await startServer({ sources: store.sources });
    await until(async () => (await triggers()) === 0);
  });
});
