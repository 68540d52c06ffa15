import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { startReceiver, type TestReceiver, until } from '../webhooks/receiver.js';

describe('a CDN before the server', () => {
  let store: EditableStore;
  let network: TestReceiver;
  let server: TestServer;

  beforeAll(async () => {
    store = geoPackageStore();
    network = await startReceiver();
    const env = {
      SVC_CDN__HEADER: 'Surrogate-Key',
      SVC_CDN__PURGE__URL: `${network.url}/purge`,
      SVC_CDN__PURGE__HEADER: 'Surrogate-Key',
      SVC_CDN__PURGE__CREDENTIAL: 'Fastly-Key: a secret',
      SVC_REMOTE__ALLOW: '127.0.0.1',
    };
    server = await startServer({ sources: store.sources, env: { ...store.env, ...env } });
  });
  afterAll(async () => {
    await server?.stop();
    await network?.close();
    await store?.release();
  });

  async function tagsOf(tile: string): Promise<string[]> {
    const response = await fetch(`${server.url}/tiles/spots/${tile}`);
    expect([200, 204]).toContain(response.status);
    return response.headers.get('surrogate-key')!.split(' ');
  }
  async function addSpot(coordinates: [number, number, number]): Promise<void> {
    const response = await fetch(`${server.url}/ogc/features/collections/spots/items`, {
      method: 'POST',
      headers: { 'content-type': 'application/geo+json', 'x-api-key': server.adminKey },
      body: JSON.stringify({
        type: 'Feature',
        geometry: { type: 'Point', coordinates },
        properties: { name: 'x' },
      }),
    });
    expect(response.status).toBe(201);
  }
  const purged = () =>
    network.received.flatMap(({ headers }) => (headers['surrogate-key'] as string).split(' '));

  it('is told which tiles an edit touched, and no others', async () => {
    // The tiles around 100° east, 40° south, and far from there, before and after they are in the cache of the server.
    const [near, far] = ['4/12/9', '9/100/192'];
    const tags = await tagsOf(near);
    expect(await tagsOf(near)).toEqual(tags);
    await addSpot([100, -40, 0]);
    await until(() => purged().length > 0);
    expect(tags.some((tag) => purged().includes(tag))).toBe(true);
    const others = await tagsOf(far);
    expect(others.some((tag) => purged().includes(tag))).toBe(false);
    const [{ path, headers }] = network.received as [TestReceiver['received'][0]];
    expect(path).toBe('/purge');
    expect(headers['fastly-key']).toBe('a secret');
  });

  it('is told again when it did not take a purge', async () => {
    const before = network.received.length;
    network.answer = (response) => response.writeHead(500).end();
    await addSpot([-60, 60, 0]);
    await until(() => network.received.length > before);
    network.answer = undefined;
    const refused = network.received.at(-1)!.headers['surrogate-key'];
    await until(() =>
      network.received.slice(before + 1).some((one) => one.headers['surrogate-key'] === refused),
    );
  });

  it('hears nothing of documents', async () => {
    const response = await fetch(`${server.url}/ogc/tiles?f=json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('surrogate-key')).toBeNull();
  });
});
