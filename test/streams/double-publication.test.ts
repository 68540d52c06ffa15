import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SecurePostgres, startSecurePostgres } from '../catalog/support/secure-postgres.js';
import { run } from '../providers/postgis/support.js';
import { type Town, townOf } from '../replicas/support.js';
import { startServer } from '../support/server.js';
import { until } from '../webhooks/receiver.js';
import { type Frame, StreamClient } from './support.js';

const TABLES = `
  CREATE TABLE s0 (id serial PRIMARY KEY, name text, geom geometry(Point, 4326));
  INSERT INTO s0 (name, geom) VALUES ('a', 'SRID=4326;POINT(1 1)'), ('b', 'SRID=4326;POINT(2 2)');
  CREATE VIEW seen AS SELECT id, name, geom FROM s0;
  CREATE VIEW counted AS SELECT s.id, count(o.id) AS n, s.geom FROM s0 s LEFT JOIN seen o ON o.id = s.id GROUP BY s.id;
  CREATE TABLE twog (id serial PRIMARY KEY, name text, g1 geometry(Point, 4326), g2 geometry(Polygon, 4326));
  INSERT INTO twog (name, g1, g2) VALUES ('x', 'SRID=4326;POINT(1 1)', 'SRID=4326;POLYGON((0 0, 10 0, 10 10, 0 0))');`;

const LAYERS = [
  { table: 's0', layerName: 's one' },
  { table: 's0', layerName: 's two' },
  { table: 'seen', layerName: 'seen', primaryKey: 'id' },
  { table: 'counted', layerName: 'counted', primaryKey: 'id' },
  { table: 'twog', layerName: 'twog two', geometryColumn: 'g2' },
  { table: 'twog', layerName: 'twog one', geometryColumn: 'g1' },
];

const point = (x: number, y: number, name: string) => ({
  ...{ type: 'Feature', properties: { name } },
  geometry: { type: 'Point', coordinates: [x, y] },
});

describe.each(['false', 'true'])('layers that show the same rows, captureEdits %s', (capture) => {
  let postgres: SecurePostgres;
  let town: Town;
  let client: StreamClient;
  const layers: Record<string, number> = {};

  beforeAll(async () => {
    postgres = await startSecurePostgres(false);
    await run(
      postgres.url,
      `CREATE EXTENSION IF NOT EXISTS postgis; CREATE ROLE town SUPERUSER LOGIN PASSWORD 'geheim'; ${TABLES}`,
    );
    const env = { SVC_POSTGIS__CAPTURE_EDITS: capture, SVC_SECURITY__STATE_KEY: 'the key of the state' };
    town = await townOf(await startServer({ sources: [], env }));
    const connection = await town.admin('POST', '/connections', {
      ...{ name: 'town', host: '127.0.0.1', port: postgres.port, databaseName: 'postgres' },
      ...{ username: 'town', password: 'geheim', sslMode: 'Disable', sslRequired: false },
    });
    expect(connection.status, JSON.stringify(connection.body)).toBe(201);
    for (const layer of LAYERS) {
      const made = await town.admin('POST', '/connections/town/layers', { schema: 'public', ...layer });
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      layers[layer.layerName] = made.body.data.layerId;
    }
    // The triggers of a table exist from its first layer on. The function of a table covers a further layer later.
    if (capture === 'true')
      await until(
        async () =>
          (
            await query(`SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE tgname LIKE 'graticule_capture_%'
              AND (tgrelid = 's0'::regclass OR (p.prosrc LIKE '%t."g1"%' AND p.prosrc LIKE '%t."g2"%'))`)
          ).length === 8,
      );
    client = await new StreamClient(`${town.server.url}/api/v1/streaming/features`).opened();
    for (const [name, layerId] of Object.entries(layers)) await client.subscribe(name, { layers: [layerId] });
  }, 120_000);
  afterAll(async () => {
    client?.close();
    await town?.server.stop();
    await postgres?.stop();
  });

  const query = async (sql: string) => (await run(postgres.url, sql)).rows;
  const told = (id: string) =>
    client.frames.filter(({ subscriptionId, type }) => subscriptionId === id && type !== 'status');
  /** The frames of some layers that follow from what is done, one for each at least. */
  async function frames(names: string[], work: () => Promise<unknown>): Promise<Frame[][]> {
    const from = names.map((name) => told(name).length);
    await work();
    await client.until(() => names.every((name, i) => told(name).length > from[i]!));
    return names.map((name, i) => told(name).slice(from[i]));
  }
  const kinds = (list: Frame[][]) => list.map((some) => some.map(({ type, operation }) => operation ?? type));
  const matched = async (id: string) => (await town.send('GET', `${id}/items`)).body.numberMatched;
  const bbox = async (id: string) => (await town.send('GET', id)).body.extent.spatial.bbox[0];
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { 'content-type': 'application/merge-patch+json' };
    const answer = await town.send(method, path, body, method === 'PATCH' ? headers : {});
    expect(answer.status).toBeLessThan(300);
    return answer;
  };

  it('have the events of an edit, each with an id of its own', async () => {
    const found = await frames(['s one', 's two', 'seen', 'counted'], () =>
      send('POST', 's-one/items', point(5, 5, 'new')),
    );
    expect(kinds(found)).toEqual([['insert'], ['insert'], ['gap'], ['gap']]);
    const [[one], [two]] = found as [[Frame], [Frame]];
    expect(two).toMatchObject({ attributes: { name: 'new' }, geometry: one.geometry });
    expect(two.eventId).not.toBe(one.eventId);
  });

  it('are counted and measured after it, and draw it at once', async () => {
    for (const id of ['s-one', 's-two', 'seen', 'counted']) {
      await until(async () => (await matched(id)) === 3);
      await until(async () => (await bbox(id))[2] === 5);
    }
    const tile = `/ogc/tiles/collections/${layers['s two']}/tiles/WebMercatorQuad/0/0/0?f=mvt`;
    const read = async () => Buffer.from(await (await fetch(`${town.server.url}${tile}`)).arrayBuffer());
    expect((await read()).includes('fresh')).toBe(false);
    await send('PATCH', 's-one/items/1', { type: 'Feature', properties: { name: 'fresh' } });
    expect((await read()).includes('fresh')).toBe(true);
  });

  it('tell replicas of edits by way of another layer', async () => {
    const id = layers['s two']!;
    const made = await town.post('createReplica', { layers: [id] });
    await send('PATCH', 's-one/items/1', { type: 'Feature', properties: { name: 'SOMEBODY' } });
    const answer = await town.post('synchronizeReplica', {
      replicaID: made.replicaID,
      replicaServerGen: `${made.replicaServerGen}`,
      edits: [{ id, features: { updates: [{ attributes: { id: 1, name: 'CLIENT' } }] } }],
    });
    expect(JSON.stringify(answer)).toContain('1003');
    const [row] = await query(`SELECT name FROM s0 WHERE id = 1`);
    expect(row).toEqual({ name: 'SOMEBODY' });
  });

  it('are told of edits through a view', async () => {
    const found = await frames(['s one', 's two', 'seen', 'counted'], () =>
      send('PATCH', 'seen/items/2', { type: 'Feature', properties: { name: 'by the view' } }),
    );
    expect(kinds(found).map(([first]) => first)).toEqual(['gap', 'gap', expect.any(String), 'gap']);
    expect(kinds(found)[2]).toContain('update');
    const stored = await query(`SELECT FROM graticule_events.outbox
      WHERE table_name = 'public.s0' AND protocol = 'Database' AND attributes->>'name' = 'by the view'`);
    expect(stored).toHaveLength(capture === 'true' ? 1 : 0);
  });

  it('have their own geometry, or a gap', async () => {
    const found = await frames(['twog one', 'twog two'], () =>
      send('PATCH', 'twog-one/items/1', { type: 'Feature', properties: { name: 'y' } }),
    );
    expect(kinds(found)).toEqual([['update'], ['gap']]);
    if (capture === 'false') return;
    const captured = await frames(['twog one', 'twog two'], () => query(`UPDATE twog SET name = 'z'`));
    expect(captured.map(([frame]) => [frame!.operation, (frame!.geometry as { type: string }).type])).toEqual(
      [
        ['update', 'Point'],
        ['update', 'Polygon'],
      ],
    );
  });

  it.runIf(capture === 'true')('are all told of captured edits', async () => {
    const found = await frames(['s one', 's two', 'seen', 'counted'], () =>
      query(`INSERT INTO s0 (name, geom) VALUES ('psql', 'SRID=4326;POINT(-50 6)')`),
    );
    expect(kinds(found)).toEqual([['insert'], ['insert'], ['gap'], ['gap']]);
    for (const id of ['s-one', 's-two', 'seen', 'counted']) {
      await until(async () => (await matched(id)) === 4);
      await until(async () => (await bbox(id))[0] === -50);
    }
  });
});
