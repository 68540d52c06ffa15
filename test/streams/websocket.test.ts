import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, postgisStore } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { type Frame, StreamClient } from './support.js';

describe.each([
  ['GeoPackage', geoPackageStore],
  ['PostGIS', postgisStore],
])('the feature stream of a %s', (_name, makeStore) => {
  let store: EditableStore;
  let server: TestServer;
  let layer: number;
  const clients: StreamClient[] = [];

  beforeAll(async () => {
    store = await makeStore();
    server = await startServer({ sources: store.sources, env: store.env });
    const { layers } = (await (
      await fetch(`${server.url}/api/v1/streaming/features/capabilities`)
    ).json()) as {
      layers: { name: string; layerId: number }[];
    };
    layer = layers.find(({ name }) => name === 'spots')!.layerId;
  }, 120_000);
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  afterAll(async () => {
    await server?.stop();
    await store?.release();
  });

  const items = () => `${server.url}/ogc/features/collections/spots/items`;
  const feature = (x: number, y: number, name: string) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [x, y, 0] },
    properties: { name },
  });
  async function change(method: string, url: string, body?: unknown): Promise<Response> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/geo+json';
    const headers = { 'content-type': type, 'x-api-key': server.adminKey };
    const response = await fetch(url, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    expect(response.status, await response.clone().text()).toBeLessThan(300);
    return response;
  }
  async function insert(x: number, y: number, name: string): Promise<string> {
    const response = await change('POST', items(), feature(x, y, name));
    return response.headers.get('location')!.split('/').at(-1)!;
  }
  async function connect(query = ''): Promise<StreamClient> {
    const client = new StreamClient(`${server.url}/api/v1/streaming/features${query}`);
    clients.push(client);
    return client.opened();
  }
  const changes = (client: StreamClient, subscriptionId: string): Frame[] =>
    client.of('feature-change').filter((frame) => frame.subscriptionId === subscriptionId);

  it('tells inserts, updates and deletes, in order and numbered', async () => {
    const client = await connect();
    await client.subscribe('a', { layers: [layer] });
    const id = await insert(10, 50, 'one');
    await change('PATCH', `${items()}/${id}`, { type: 'Feature', properties: { name: 'two' } });
    await change('DELETE', `${items()}/${id}`);
    await client.until(() => changes(client, 'a').length === 3);
    const frames = changes(client, 'a');
    expect(frames.map(({ operation }) => operation)).toEqual(['insert', 'update', 'delete']);
    expect(frames.map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
    expect(frames.map(({ featureId }) => featureId)).toEqual([id, id, id]);
    expect(frames[0]).toMatchObject({
      serviceId: 'default',
      layerId: layer,
      objectId: Number(id),
      protocol: 'OGC-Features',
      geometryCrs: 'EPSG:4326',
      geometry: { type: 'Point' },
      attributes: { name: 'one' },
      geometryChanged: true,
    });
    expect(frames[1]).toMatchObject({
      attributes: { name: 'two' },
      changedAttributes: ['name'],
      geometryChanged: false,
    });
    const cursors = frames.map(({ cursor }) => cursor as number);
    expect(cursors).toEqual([...cursors].sort((a, b) => a - b));
  });

  it('tells only what lies in a box, and when a feature enters or leaves it', async () => {
    const client = await connect();
    await client.subscribe('box', { layers: [layer], bbox: [0, 0, 10, 10] });
    await client.subscribe('all', { layers: [layer] });
    const id = await insert(20, 20, 'outside');
    const move = (x: number, y: number) => change('PUT', `${items()}/${id}`, feature(x, y, 'moved'));
    await move(5, 5);
    await move(6, 6);
    await move(30, 30);
    await client.until(() => changes(client, 'all').length === 4 && changes(client, 'box').length === 3);
    const frames = changes(client, 'box');
    expect(frames.map(({ operation }) => operation)).toEqual(['insert', 'update', 'delete']);
    expect(frames.map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
    // Where it went is not told.
    expect(frames[2]).not.toHaveProperty('geometry');
    expect(frames[2]).not.toHaveProperty('attributes');
  });

  it('tells only what touches a polygon, and nothing of the rest of its box', async () => {
    const client = await connect();
    const triangle = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [10, 0],
          [0, 10],
          [0, 0],
        ],
      ],
    };
    await client.subscribe('triangle', { layers: [layer], polygon: triangle });
    await client.subscribe('all', { layers: [layer] });
    const id = await insert(2, 2, 'inside');
    const move = (x: number, y: number) => change('PUT', `${items()}/${id}`, feature(x, y, 'moved'));
    await move(9, 9);
    await move(8, 9);
    await move(1, 8);
    await client.until(() => changes(client, 'all').length === 4 && changes(client, 'triangle').length === 3);
    expect(changes(client, 'triangle').map(({ operation }) => operation)).toEqual([
      'insert',
      'delete',
      'insert',
    ]);
    const wrong = [
      { type: 'Point', coordinates: [1, 2] },
      { type: 'Polygon', coordinates: [[[0, 0]]] },
      'POLYGON',
      7,
    ];
    for (const polygon of wrong)
      expect(await client.subscribe('wrong', { layers: [layer], polygon })).toMatchObject({
        code: 'invalid-subscription',
        message: expect.stringContaining('polygon'),
      });
    const both = { layers: [layer], polygon: triangle, bbox: [0, 0, 1, 1] };
    expect(await client.subscribe('wrong', both)).toMatchObject({ code: 'invalid-subscription' });
  });

  it('tells what a filter lets through, by the feature before and after the change', async () => {
    const client = await connect();
    await client.subscribe('cows', {
      layers: [layer],
      filter: "name LIKE 'cow%' AND S_INTERSECTS(geometry, BBOX(0,0,90,90))",
    });
    await client.subscribe('json', {
      layers: [layer],
      filterLang: 'cql2-json',
      filter: { op: '=', args: [{ property: 'name' }, 'cow 2'] },
    });
    await client.subscribe('all', { layers: [layer] });
    const id = await insert(1, 1, 'cow 1');
    const rename = (name: string) =>
      change('PATCH', `${items()}/${id}`, { type: 'Feature', properties: { name } });
    await rename('cow 2');
    await rename('horse');
    await rename('cow 3');
    await change('DELETE', `${items()}/${id}`);
    await client.until(() => changes(client, 'all').length === 5);
    await client.until(() => changes(client, 'cows').length + changes(client, 'json').length === 7);
    const told = (subscription: string) => changes(client, subscription).map(({ operation }) => operation);
    expect(told('cows')).toEqual(['insert', 'update', 'delete', 'insert', 'delete']);
    expect(told('json')).toEqual(['insert', 'delete']);
  });

  it('goes on after a cursor without loss', async () => {
    const first = await connect();
    await first.subscribe('a', { layers: [layer] });
    await insert(1, 1, 'r0');
    const seen = await first.until(() => changes(first, 'a')[0]);
    first.close();
    for (let i = 1; i <= 5; i++) await insert(1, 1, `r${i}`);
    const second = await connect(`?layers=${layer}&cursor=${seen.cursor}`);
    await second.until(() => changes(second, 'default').length === 5);
    await insert(1, 1, 'r6');
    await second.until(() => changes(second, 'default').length === 6);
    const names = changes(second, 'default').map(({ attributes }) => (attributes as { name: string }).name);
    expect(names).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r6']);
  });

  it('says so when a cursor is none of this feed', async () => {
    const client = await connect();
    await client.subscribe('a', { layers: [layer], cursor: 7 });
    expect(await client.next(({ type }) => type === 'gap')).toMatchObject({
      subscriptionId: 'a',
      reason: 'cursor-invalid',
      requestedCursor: 7,
    });
    await client.subscribe('b', { layers: [layer], cursor: 7, mode: 'snapshot-then-delta' });
    expect(await client.next(({ type }) => type === 'snapshot-begin')).toMatchObject({
      subscriptionId: 'b',
      reason: 'cursor-invalid',
    });
  });

  it('begins with a snapshot, and follows it', async () => {
    await insert(100, 10, 'snap');
    const stored = (await (await fetch(`${items()}?limit=2000`)).json()) as { features: { id: unknown }[] };
    const client = await connect();
    await client.subscribe('s', { layers: [layer], mode: 'snapshot-then-delta' });
    const end = await client.next(({ type }) => type === 'snapshot-end');
    const features = client.of('snapshot-feature');
    expect(end).toMatchObject({ featureCount: features.length, complete: true });
    expect(features.map(({ featureId }) => featureId)).toEqual(stored.features.map(({ id }) => String(id)));
    const id = await insert(101, 10, 'later');
    // What happened around the snapshot may be told again after it.
    await client.until(() => changes(client, 's').some(({ featureId }) => featureId === id));
    const numbers = client.frames.filter(({ subscriptionId }) => subscriptionId === 's').slice(1);
    expect(numbers.map(({ sequence }) => sequence)).toEqual(numbers.map((_, i) => i));
  });

  it('answers wrong control frames with their code, and goes on', async () => {
    const client = await connect();
    const code = async (frame: unknown) => {
      const from = client.frames.length;
      client.send(frame);
      return (await client.next(({ type }) => type === 'error', from)).code;
    };
    expect(await code('{')).toBe('invalid-json');
    expect(await code('[]')).toBe('invalid-control');
    expect(await code({ type: 'dance' })).toBe('unsupported-control');
    expect(await code({ type: 'subscribe', subscriptionId: 'default', layers: [layer] })).toBe(
      'invalid-subscription-id',
    );
    expect(await code({ type: 'subscribe', subscriptionId: 'x'.repeat(129) })).toBe(
      'invalid-subscription-id',
    );
    expect(await code({ type: 'subscribe', subscriptionId: 'x', layers: [999] })).toBe(
      'invalid-subscription',
    );
    expect(await code({ type: 'subscribe', subscriptionId: 'x', layers: [layer], filter: 'no = 1' })).toBe(
      'invalid-subscription',
    );
    expect(await code({ type: 'subscribe', subscriptionId: 'x', layers: [layer], bbox: [1, 2, 3] })).toBe(
      'invalid-subscription',
    );
    expect(await code({ type: 'subscribe', subscriptionId: 'x' })).toBe('invalid-subscription');
    expect(await code({ type: 'unsubscribe', subscriptionId: 'x' })).toBe('subscription-not-found');
    expect(await code({ type: 'unsubscribe' })).toBe('invalid-unsubscribe');
    expect(await code({ type: 'ping', pad: 'x'.repeat(65_536) })).toBe('control-frame-too-large');
    await client.until(() => client.closed);
  });
});
