import { hash } from 'node:crypto';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isRunning } from '../../src/stores/database/instance.js';
import { StreamClient } from '../streams/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { repetitions } from '../support/soak.js';
import { makeDatabase } from '../support/state.js';

/** A busy machine takes its time. */
const PATIENT = { timeout: 20_000, interval: 50 };

const SERIES = {
  layerId: 700,
  name: 'Rain',
  provider: 'Local',
  bucket: 'years',
  objectKey: 'bcsd_obs_1999.nc',
  format: 'NetCdf4',
  createLayer: true,
};

describe('two servers of one state in PostgreSQL', () => {
  let postgres: TestPostgres;
  /** Of two gateways, and of one. */
  let one: TestServer;
  let other: TestServer;
  let layerId: number;
  beforeAll(async () => {
    postgres = await startPostgres();
    const env = { SVC_STATE__URL: await makeDatabase(postgres.url) };
    const sources = ['demo/data/world_map.gpkg', 'demo/data/years'];
    one = await startServerProcess({ env, sources, args: ['--processes', '2'] });
    other = await startServerProcess({ env, sources });
    layerId = await layerOf('countries');
  });
  afterAll(async () => {
    await Promise.all([one?.stop(), other?.stop()]);
    await postgres?.stop();
  });

  /** On a connection of its own, so that any gateway may answer. */
  async function admin(
    server: TestServer,
    method: string,
    path: string,
    body?: unknown,
    key = server.adminKey,
    extra: Readonly<Record<string, string>> = {},
  ) {
    const response = await fetch(`${server.url}/api/v1/admin${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json', connection: 'close', ...extra },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers } = response;
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  async function layerOf(title: string): Promise<number> {
    const response = await fetch(`${one.url}/ogc/tiles/collections?f=json`);
    const { collections } = (await response.json()) as { collections: { id: string; title: string }[] };
    return Number(collections.find((each) => each.title.toLowerCase() === title)!.id);
  }

  async function pictureOf(server: TestServer): Promise<string> {
    const path = `/ogc/maps/collections/${layerId}/map?bbox=10,10,20,20&width=64&height=64&f=png`;
    const response = await fetch(server.url + path, { headers: { connection: 'close' } });
    expect(response.status).toBe(200);
    return hash('sha1', Buffer.from(await response.arrayBuffer()));
  }

  const putStyle = (server: TestServer, color: string) =>
    admin(server, 'PUT', `/metadata/layers/${layerId}/style`, { mapLibreStyle: styleOf(color) });

  const styleOf = (color: string) => ({
    version: 8,
    sources: {},
    layers: [{ id: 'fill', type: 'fill', paint: { 'fill-color': color, 'fill-antialias': false } }],
  });

  it.each(['style', 'fields'])(
    'take one of two changes of %s that were made of the same state',
    async (part) => {
      const path = `/metadata/layers/${layerId}/${part}`;
      const bodyOf = (i: number) =>
        part === 'style'
          ? { mapLibreStyle: styleOf(`#0000${i.toString(16).padStart(2, '0')}`) }
          : { fields: [{ name: 'NAME', alias: `Name ${i}` }] };
      for (let round = 0; round < 5; round++) {
        const read = await admin(one, 'GET', path);
        expect(read.status).toBe(200);
        const etag = read.headers.get('etag')!;
        const put = (server: TestServer, i: number) =>
          admin(server, 'PUT', path, bodyOf(2 * round + i), server.adminKey, { 'if-match': etag });
        const changes = await Promise.all([put(one, 0), put(other, 1)]);
        expect(changes.map(({ status }) => status).sort()).toEqual([200, 412]);
        const taken = changes.findIndex(({ status }) => status === 200);
        expect(JSON.stringify((await admin(other, 'GET', path)).body)).toContain(
          part === 'style'
            ? `#0000${(2 * round + taken).toString(16).padStart(2, '0')}`
            : `Name ${2 * round + taken}`,
        );
      }
    },
  );

  it('draw a style that was put at the other once it is answered', async () => {
    const pictures = new Set<string>();
    for (const [i, server] of [one, other, one, other].entries()) {
      const { status, headers } = await putStyle(server, `#00${i}0ff`);
      expect([status, headers.get('pending-instances')]).toEqual([200, null]);
      const drawn = new Set(await Promise.all([one, one, one, other].map(pictureOf)));
      expect(drawn.size).toBe(1);
      pictures.add([...drawn][0]!);
    }
    expect(pictures.size).toBe(4);
  });

  it('refuse a key that was revoked at the other once it is answered', async () => {
    for (const [server, elsewhere] of [
      [one, other],
      [other, one],
    ] as const) {
      const { body } = await admin(server, 'POST', '/api-keys', { name: 'k', permissions: ['admin:read'] });
      const { apiKey, key } = body.data;
      const use = () => admin(elsewhere, 'GET', '/version', undefined, key);
      expect((await use()).status).toBe(200);
      expect((await admin(server, 'POST', `/api-keys/${apiKey.id}/revoke`)).status).toBeLessThan(300);
      for (let i = 0; i < 4; i++) expect((await use()).status).toBe(401);
    }
  });

  it('publish a raster that was registered at the other, and remove it', async () => {
    const listed = async (server: TestServer) => {
      const response = await fetch(`${server.url}/ogc/coverages/collections/rain`, {
        headers: { connection: 'close' },
      });
      return response.status;
    };
    const { status, body } = await admin(other, 'POST', '/multidim-coverages', SERIES);
    expect(status, JSON.stringify(body)).toBe(201);
    expect(await Promise.all([one, one, one, other].map(listed))).toEqual([200, 200, 200, 200]);
    expect((await admin(one, 'DELETE', `/multidim-coverages/${body.id}`)).status).toBe(204);
    expect(await Promise.all([one, one, one, other].map(listed))).toEqual([404, 404, 404, 404]);
  });

  it('register a raster once that both are told to register at the same time', async () => {
    const listed = async (server: TestServer) => {
      const headers = { connection: 'close' };
      const answer = await fetch(`${server.url}/ogc/coverages/collections?f=json`, { headers });
      const { collections } = (await answer.json()) as { collections: { id: string }[] };
      return collections.filter(({ id }) => id.startsWith('rain')).length;
    };
    for (let round = 0; round < repetitions(import.meta.url, 20, 2); round++) {
      const answers = await Promise.all(
        [one, other].map((server) => admin(server, 'POST', '/multidim-coverages', SERIES)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
      expect(await Promise.all([one, one, one, other].map(listed))).toEqual([1, 1, 1, 1]);
      const { id } = answers.find(({ status }) => status === 201)!.body;
      const removed = await Promise.all(
        [one, other].map((server) => admin(server, 'DELETE', `/multidim-coverages/${id}`)),
      );
      const statuses = removed.map(({ status }) => status);
      expect(statuses).toContain(204);
      expect(statuses.every((status) => status === 204 || status === 404)).toBe(true);
      expect(await Promise.all([one, one, one, other].map(listed))).toEqual([0, 0, 0, 0]);
    }
  });

  it('give the name of an import once, wherever it is sent', async () => {
    const importAt = async (server: TestServer, name: string, features: number, overwrite = false) => {
      const file = {
        type: 'FeatureCollection',
        features: Array.from({ length: features }, (_, n) => ({
          ...{ type: 'Feature', properties: { n } },
          geometry: { type: 'Point', coordinates: [n, 1] },
        })),
      };
      const form = new FormData();
      form.set('TableName', name);
      if (overwrite) form.set('OverwriteExisting', 'true');
      form.set('file', new Blob([JSON.stringify(file)]), 'points.geojson');
      const response = await fetch(`${server.url}/api/v1/admin/import/upload`, {
        method: 'POST',
        headers: { 'x-api-key': server.adminKey, connection: 'close' },
        body: form,
      });
      return { status: response.status, text: await response.text() };
    };
    const countAt = async (server: TestServer, name: string) => {
      const response = await fetch(`${server.url}/ogc/features/collections/${name}/items?f=json`);
      return response.status === 200 ? (await response.json()).numberMatched : response.status;
    };
    expect((await importAt(one, 'Points', 2)).status).toBe(200);
    const refused = await importAt(other, 'Points', 3);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("'points'")]);
    expect(refused.text).toContain('another server');
    expect((await importAt(other, 'points', 3, true)).status).toBe(409);
    expect([await countAt(one, 'points'), await countAt(other, 'points')]).toEqual([2, 404]);
    expect((await importAt(one, 'points', 4, true)).status).toBe(200);
    expect(await countAt(one, 'points')).toBe(4);
    for (let round = 0; round < repetitions(import.meta.url, 10, 2); round++) {
      const name = `contested_${round}`;
      const answers = await Promise.all([importAt(one, name, 2), importAt(other, name, 3)]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.toSorted(), JSON.stringify(answers)).toEqual([200, 409]);
      const counts = [await countAt(one, name), await countAt(other, name)];
      expect(counts).toEqual(statuses[0] === 200 ? [2, 404] : [404, 3]);
    }
  });

  it('drop what is cached at the other', async () => {
    const tile = `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/1/0/0?f=mvt`;
    const count = async () =>
      (await admin(other, 'GET', '/operations/cache/statistics')).body.data.localKeyCount;
    await (await fetch(other.url + tile)).arrayBuffer();
    expect(await count()).toBeGreaterThan(0);
    expect((await admin(one, 'POST', '/cache/invalidate', { scope: 'all' })).status).toBe(200);
    expect(await count()).toBe(0);
  });

  it('list and end sessions of each other', async () => {
    const clients = await Promise.all(
      [one, other, other].map((server) =>
        new StreamClient(`${server.url}/api/v1/streaming/features`, {
          'x-api-key': server.adminKey,
        }).opened(),
      ),
    );
    const ids = await Promise.all(
      clients.map(
        async (client) => (await client.next(({ status }) => status === 'connected'))['sessionId'] as string,
      ),
    );
    await vi.waitFor(async () => {
      const { data } = (await admin(one, 'GET', '/streaming/features/sessions')).body;
      expect(data.sessions.map(({ sessionId }: { sessionId: string }) => sessionId).sort()).toEqual(
        [...ids].sort(),
      );
    }, PATIENT);
    expect((await admin(one, 'DELETE', `/streaming/features/sessions/${ids[1]}`)).status).toBe(200);
    await vi.waitFor(() => expect(clients[1]!.closed).toBeDefined(), PATIENT);
    expect([clients[0]!.closed, clients[2]!.closed]).toEqual([undefined, undefined]);
    for (const client of clients) client.close();
  });

  it('answer what waited during a pause by the rules that were changed meanwhile', async () => {
    const [paused] = gateways(other.process.pid!);
    const items = `/ogc/features/collections/countries/items?limit=1&f=json`;
    const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const ask = (agent: Agent) =>
      new Promise<number>((resolve, reject) => {
        get(other.url + items, { agent }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode!));
        }).on('error', reject);
      });
    const policy = (allowAnonymous: boolean) =>
      admin(one, 'PUT', `/services/default/layers/${layerId}/metadata`, { accessPolicy: { allowAnonymous } });
    await vi.waitFor(async () => expect((await ask(agents[0]!)).toString()).toBe('200'), PATIENT);
    for (const agent of agents) expect(await ask(agent)).toBe(200);

    process.kill(paused!, 'SIGSTOP');
    const { status, headers } = await policy(false);
    const answers = agents.map(ask);
    await sleep(100);
    process.kill(paused!, 'SIGCONT');
    expect([status, headers.get('pending-instances')]).toEqual([200, expect.stringContaining(`:${paused}:`)]);
    expect(await Promise.all(answers)).toEqual([401, 401, 401, 401]);

    expect((await policy(true)).status).toBe(200);
    for (const agent of agents) agent.destroy();
  });

  it('name one that is paused, which follows when it goes on, and do not wait for one that was killed', async () => {
    const [paused] = gateways(other.process.pid!);
    process.kill(paused!, 'SIGSTOP');
    const { status, headers } = await putStyle(one, '#123456');
    process.kill(paused!, 'SIGCONT');
    expect(status).toBe(200);
    expect(headers.get('pending-instances')).toMatch(new RegExp(`^[^,]+:${paused}:[^,]+$`));
    const here = await pictureOf(one);
    await vi.waitFor(async () => expect(await pictureOf(other)).toBe(here), {
      timeout: 10_000,
      interval: 100,
    });

    process.kill(paused!, 'SIGKILL');
    // A signal takes its time on a busy machine.
    await vi.waitFor(() => expect(isRunning(paused!)).toBe(false), { timeout: 20_000, interval: 5 });
    const after = await putStyle(one, '#654321');
    expect([after.status, after.headers.get('pending-instances')]).toEqual([200, null]);
    await vi.waitFor(async () => expect(await pictureOf(other)).toBe(await pictureOf(one)), {
      timeout: 20_000,
      interval: 200,
    });
  });

  it('agree again when PostgreSQL was away', async () => {
    await postgres.halt();
    expect((await putStyle(one, '#0f0f0f')).status).toBe(503);
    await sleep(300);
    await postgres.start();
    await vi.waitFor(
      async () => {
        expect((await putStyle(one, '#f0f0f0')).status).toBe(200);
      },
      { timeout: 20_000, interval: 200 },
    );
    await vi.waitFor(async () => expect(await pictureOf(other)).toBe(await pictureOf(one)), {
      timeout: 10_000,
      interval: 100,
    });
  });
});
