import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, postgisStore } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { repetitions } from '../support/soak.js';
import { StreamClient } from './support.js';

const BATCH = 250;
const BATCHES = repetitions(import.meta.url, 20, 6);
const EDITS = 2 * BATCHES * BATCH;

describe('two servers of one PostGIS database', () => {
  let store: EditableStore;
  let writer: TestServer;
  let reader: TestServer;

  beforeAll(async () => {
    store = await postgisStore();
    writer = await startServer({ sources: store.sources });
    // Its collections are numbered otherwise: it knew another one first.
    reader = await startServer({ sources: ['demo/data', ...store.sources] });
  }, 180_000);
  afterAll(async () => {
    await Promise.all([writer?.stop(), reader?.stop()]);
    await store?.release();
  });

  async function send(path: string, body: unknown, type: string): Promise<Response> {
    const response = await fetch(`${writer.url}/ogc/features/collections/spots/${path}`, {
      method: 'POST',
      headers: { 'content-type': type, 'x-api-key': writer.adminKey },
      body: JSON.stringify(body),
    });
    expect(response.status, await response.clone().text()).toBeLessThan(300);
    return response;
  }
  const spot = (i: number) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [i / 100, 50, 0] },
    properties: { name: `n${i}` },
  });
  const insertBatch = (from: number) => {
    const operations = Array.from({ length: BATCH }, (_, i) => ({
      type: 'create',
      feature: spot(from + i),
    }));
    return send('items/batch', { operations }, 'application/json');
  };
  async function layerOf(server: TestServer): Promise<number> {
    const response = await fetch(`${server.url}/api/v1/streaming/features/capabilities`);
    const { layers } = (await response.json()) as { layers: { name: string; layerId: number }[] };
    return layers.find(({ name }) => name === 'spots')!.layerId;
  }
  const listeners = () =>
    store.query(`SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN graticule_events'`);
  async function untilListening(): Promise<void> {
    const late = Date.now() + 20_000;
    while ((await listeners()).length < 2) {
      if (Date.now() > late) throw new Error('the servers do not listen');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  it('tells subscribers of one of thousands of edits through the other, under its own layer ids, none lost', async () => {
    const [here, there] = [await layerOf(reader), await layerOf(writer)];
    expect(here).not.toBe(there);
    await untilListening();
    const client = await new StreamClient(`${reader.url}/api/v1/streaming/features`).opened();
    await client.subscribe('all', { layers: [here] });
    const writers = [0, 1].map(async (w) => {
      for (let b = 0; b < BATCHES; b++) {
        await insertBatch((w * BATCHES + b) * BATCH);
        // The connections that listen are cut while events come.
        if (w === 0 && b % 5 === 2)
          await store.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN graticule_events'`,
          );
      }
    });
    await Promise.all(writers);
    await client.until(() => client.of('feature-change').length >= EDITS || client.closed);
    const frames = client.of('feature-change');
    expect(client.closed).toBeUndefined();
    expect(frames.map(({ sequence }) => sequence)).toEqual(frames.map((_, i) => i));
    const ids = (await store.query('SELECT fid FROM spots ORDER BY fid')).map(({ fid }) => String(fid));
    expect(ids).toHaveLength(EDITS);
    expect(
      [...new Set(frames.map(({ featureId }) => featureId))].sort((a, b) => Number(a) - Number(b)),
    ).toEqual(ids);
    expect(new Set(frames.map(({ layerId }) => layerId))).toEqual(new Set([here]));
    client.close();
    await untilListening();
  });

  it('shows the edits of the other in its tiles and counts', async () => {
    const tile = `${reader.url}/ogc/tiles/collections/${await layerOf(reader)}/tiles/WebMercatorQuad/12/2047/2047?f=mvt`;
    const read = () => fetch(tile, { headers: { 'x-api-key': reader.adminKey } });
    // Outside of the limits of what was there.
    expect((await read()).status).toBe(404);
    const client = await new StreamClient(`${reader.url}/api/v1/streaming/features`).opened();
    await client.subscribe('one', { layers: [await layerOf(reader)] });
    await send(
      'items',
      {
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [-0.01, 0.01, 0] },
        properties: { name: 'x' },
      },
      'application/geo+json',
    );
    await client.until(() => client.of('feature-change').length === 1);
    expect((await read()).status).toBe(200);
    client.close();
  });
});
