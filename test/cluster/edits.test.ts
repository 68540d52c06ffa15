import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EditableStore, postgisStore, sender } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';

describe('two servers of one state and one PostGIS database', () => {
  let store: EditableStore;
  let state: string;
  const servers: TestServer[] = [];
  beforeAll(async () => {
    store = await postgisStore();
    state = await makeDatabase(store.sources[0]!);
    const env = { SVC_STATE__URL: state, SVC_POSTGIS__CAPTURE_EDITS: 'true' };
    for (const processes of ['2', '1'])
      servers.push(await startServer({ sources: store.sources, env, args: ['--processes', processes] }));
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await store?.release();
  });

  const spot = (name: string) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [10, 35, 0] },
    properties: { name },
  });

  /** What a gateway, any of them, has of the tile that all spots lie in. */
  async function namesIn({ url }: TestServer): Promise<string[]> {
    const { collections } = await (await fetch(`${url}/ogc/tiles/collections?f=json`)).json();
    const { id } = collections.find((one: { title: string }) => one.title === 'Spots');
    const path = `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/4/6/8?f=mvt`;
    const response = await fetch(url + path, { headers: { connection: 'close' } });
    const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
    return [...text.matchAll(/spot\d+/g)].map(([name]) => name).sort();
  }
  /** Asked for often enough that each of the gateways answers. */
  async function everywhere(names: readonly string[]): Promise<void> {
    await vi.waitFor(
      async () => {
        for (const server of [servers[0]!, servers[0]!, servers[0]!, servers[0]!, servers[1]!])
          expect(await namesIn(server)).toEqual(names);
      },
      { timeout: 5000, interval: 20 },
    );
  }

  it('have in their tiles what was edited through either of them', async () => {
    await everywhere([]);
    const names: string[] = [];
    for (let i = 0; i < 6; i++) {
      const { url, adminKey } = servers[i % 2]!;
      names.push(`spot${i}`);
      expect((await sender(url, adminKey)('POST', 'spots/items', spot(`spot${i}`))).status).toBe(201);
      await everywhere(names);
    }
  });

  it('have what other programs write', async () => {
    await store.query('DELETE FROM spots');
    await everywhere([]);
    // More than the events that are read at a time.
    await store.query(
      `INSERT INTO spots (geom, name) SELECT ST_SetSRID(ST_MakePoint(10, 35, 0), 4326), 'spot' || n FROM generate_series(1000, 2199) AS n`,
    );
    await everywhere(Array.from({ length: 1200 }, (_, i) => `spot${1000 + i}`));
    const counts = servers.map(async ({ url }) => {
      const response = await fetch(`${url}/ogc/features/collections/spots/items?limit=1`);
      return (await response.json()).numberMatched;
    });
    expect(await Promise.all(counts)).toEqual([1200, 1200]);
  });

  it('have what is edited after the gateway that told them was killed', async () => {
    await store.query('DELETE FROM spots');
    await everywhere([]);
    for (let i = 0; i < 2; i++) {
      process.kill(Number((await ownerOfOutbox()).split(':')[1]), 'SIGKILL');
      await store.query(
        `INSERT INTO spots (geom, name) VALUES (ST_SetSRID(ST_MakePoint(10, 35, 0), 4326), 'spot${i}')`,
      );
      await vi.waitFor(() => everywhere(Array.from({ length: i + 1 }, (_, n) => `spot${n}`)), {
        timeout: 30_000,
        interval: 200,
      });
    }
  });

  async function ownerOfOutbox(): Promise<string> {
    const client = new pg.Client({ connectionString: state });
    await client.connect();
    const { rows } = await client.query('SELECT owner FROM graticule_state.outboxes WHERE owner IS NOT NULL');
    await client.end();
    return rows[0].owner;
  }
});
