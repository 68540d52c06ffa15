import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { multipart } from '../../admin/support/multipart.js';
import { geoPackageStore } from '../../edits/support.js';
import { alive, engines, gateways, logLines } from '../../support/processes.js';
import { type ServerSetup, startServer, startServerProcess, type TestServer } from '../../support/server.js';
import { isFullRun, repetitions } from '../../support/soak.js';
import { eventually, json, raw } from '../support/http.js';

const DEM = 'demo/data/olinda_dem_utm25s.tif';
/** A brief run has one kill of each process, one wrong configuration and one stop. */
const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
let server: TestServer | undefined;
const folders: string[] = [];

afterEach(async () => {
  await server?.stop();
  server = undefined;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function start(setup: ServerSetup = {}): Promise<TestServer> {
  server = await startServerProcess(setup);
  return server;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'graticule-resilience-'));
  folders.push(path);
  return path;
}

async function collections(url: string): Promise<string[]> {
  const document = await json(`${url}/?f=json`);
  return document.collections.map((collection: { id: string }) => collection.id).sort();
}

describe('a server', () => {
  let whole: TestServer;
  beforeAll(async () => {
    whole = await startServerProcess();
  });
  afterAll(() => whole?.stop());

  it('replaces an engine that is killed, and is ready again', async () => {
    const { url, process: supervisor } = whole;
    const [first] = engines(supervisor.pid!) as [number];
    process.kill(first, 'SIGKILL');
    await eventually(async () => {
      const running = engines(supervisor.pid!);
      expect(running).toHaveLength(1);
      expect(running[0]).not.toBe(first);
      expect((await raw(`${url}/healthz/ready`)).status).toBe(200);
    });
    expect((await raw(`${url}/ogc/maps/collections/1/map`)).status).toBe(200);
  });

  it('starts a gateway that is killed again, which serves what it served before', async () => {
    const { url, process: supervisor } = whole;
    const before = await collections(url);
    const ids = (await json(`${url}/?f=json`)).collections.map((c: { layerId: number }) => c.layerId);
    const [first] = gateways(supervisor.pid!) as [number];
    process.kill(first, 'SIGKILL');
    await eventually(async () => {
      expect(gateways(supervisor.pid!)[0]).not.toBe(first);
      expect(await collections(url)).toEqual(before);
    });
    expect((await json(`${url}/?f=json`)).collections.map((c: { layerId: number }) => c.layerId)).toEqual(
      ids,
    );
    expect((await raw(`${url}/ogc/tiles/collections/3/tiles/WebMercatorQuad/0/0/0`)).status).toBe(200);
  });

  it('loses no request when an engine crashes under load', async () => {
    const { url, process: supervisor, log } = whole;
    const asked = (i: number): string => {
      const west = -34.9 + (i % 40) * 0.0005;
      const bbox = `${west},-8.02,${west + 0.03},-7.98`;
      const kinds = [
        `/ogc/coverages/collections/l7_etms/coverage?bbox=${bbox}&scale-size=300,300`,
        `/ogc/maps/collections/1/map?bbox=${bbox}&width=300&height=300`,
        `/ogc/maps/collections/3/map?bbox=${i % 60},10,${(i % 60) + 40},50&width=300&height=300`,
        `/ogc/coverages/collections/olinda_dem_utm25s/coverage?f=png&scale-size=${200 + i},200`,
      ];
      return kinds[i % kinds.length]!;
    };
    const waves = repetitions(import.meta.url, 8, 2);
    const killed = new Set<number>();
    const statuses: number[] = [];
    for (let wave = 0; wave < waves; wave++) {
      const requests = Array.from({ length: 50 }, async (_, i) => {
        const answer = await raw(`${url}${asked(wave * 50 + i)}`);
        statuses.push(answer.status);
      });
      await eventually(async () => {
        const [engine] = engines(supervisor.pid!);
        if (engine === undefined || killed.has(engine)) throw new Error('no new engine yet');
        killed.add(engine);
        process.kill(engine, 'SIGSEGV');
      });
      await Promise.all(requests);
    }
    expect(statuses).toHaveLength(waves * 50);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(killed.size).toBe(waves);
    expect(log()).toMatch(/engine 1 exited by SIGSEGV/);
  }, 120_000);

  it('answers what it has begun when it is stopped, and leaves nothing behind', async () => {
    const { url, process: supervisor, stop } = whole;
    await eventually(async () => expect(engines(supervisor.pid!)).toHaveLength(1));
    const children = [...gateways(supervisor.pid!), ...engines(supervisor.pid!)];
    const answers = Array.from({ length: 8 }, (_, i) =>
      raw(`${url}/ogc/maps/collections/5/map?width=${800 + i}&height=600`),
    );
    await eventually(async () => {
      const { body } = await raw(`${url}/metrics`, { headers: { 'x-api-key': whole.adminKey } });
      expect(Number(/^\S*active\S* (\d+)$/m.exec(body.toString())?.[1] ?? 0)).toBeGreaterThan(1);
    });
    const stopped = stop();
    expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual(answers.map(() => 200));
    await stopped;
    expect(children.filter(alive)).toEqual([]);
  });
});

describe('a gateway that is killed', () => {
  full('among several leaves the others serving', async () => {
    const { url, process: supervisor } = await start({ sources: [DEM], args: ['--processes', '2'] });
    const both = gateways(supervisor.pid!);
    expect(both).toHaveLength(2);
    process.kill(both[0]!, 'SIGKILL');
    await eventually(async () => expect((await raw(`${url}/healthz/ready`)).status).toBe(200));
    await eventually(async () => {
      const now = gateways(supervisor.pid!);
      expect(now).toHaveLength(2);
      expect(now).not.toContain(both[0]);
    });
  });
});

describe('a supervisor that is killed', () => {
  it('leaves no child behind', async () => {
    const { process: supervisor, dataDir } = await start({ sources: [DEM] });
    folders.push(dataDir);
    const children = [...gateways(supervisor.pid!), ...engines(supervisor.pid!)];
    expect(children).toHaveLength(2);
    supervisor.kill('SIGKILL');
    await eventually(async () => expect(children.filter(alive)).toEqual([]));
  });
});

describe('the catalog', () => {
  full('publishes a file copied into the folder, and drops a removed one, without a restart', async () => {
    const data = folder();
    copyFileSync(DEM, join(data, 'dem.tif'));
    const { url, process: supervisor } = await start({ sources: [data] });
    const [gateway] = gateways(supervisor.pid!);
    expect(await collections(url)).toEqual(['dem']);
    const id = (await json(`${url}/?f=json`)).collections[0].layerId;
    copyFileSync('demo/data/world_map.gpkg', join(data, 'world.gpkg'));
    await eventually(async () =>
      expect(await collections(url)).toEqual(['countries', 'dem', 'disputed_borders', 'states_provinces']),
    );
    expect((await json(`${url}/ogc/features/collections/countries/items?limit=1`)).numberMatched).toBe(240);
    const dem = (await json(`${url}/?f=json`)).collections.find((c: { id: string }) => c.id === 'dem');
    expect(dem.layerId).toBe(id);
    unlinkSync(join(data, 'world.gpkg'));
    await eventually(async () => expect(await collections(url)).toEqual(['dem']));
    expect((await raw(`${url}/ogc/features/collections/countries`)).status).toBe(404);
    expect(gateways(supervisor.pid!)[0]).toBe(gateway);
  });

  full('is read again on SIGHUP', async () => {
    const data = folder();
    copyFileSync(DEM, join(data, 'dem.tif'));
    const { url, process: supervisor } = await start({ sources: [data], env: { SVC_DATA__WATCH: 'false' } });
    copyFileSync(DEM, join(data, 'second.tif'));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await collections(url)).toEqual(['dem']);
    supervisor.kill('SIGHUP');
    await eventually(async () => expect(await collections(url)).toEqual(['dem', 'second']));
  });

  full('serves a changed file anew: another tile, another entity tag', async () => {
    const data = folder();
    const file = join(data, 'picture.tif');
    copyFileSync(DEM, file);
    server = await startServer({ sources: [data] });
    const { url } = server;
    const map = async () => (await json(`${url}/ogc/coverages/collections/picture`)).defaultFields.length;
    expect(await map()).toBe(1);
    copyFileSync('demo/data/L7_ETMs.tif', file);
    await eventually(async () => expect(await map()).toBe(6));
  });

  it('stays as it is when the new configuration is wrong, and the log says why', async () => {
    const place = folder();
    const config = join(place, 'graticule.yaml');
    writeFileSync(config, 'logging:\n  level: Information\n');
    const { url, process: supervisor, log } = await start({ sources: [DEM], args: ['--config', config] });
    const before = await collections(url);
    writeFileSync(config, 'logging:\n  level: Loud\nnonsense: true\n');
    supervisor.kill('SIGHUP');
    await eventually(async () => {
      const told = logLines(log()).map((line) => line['@m'] ?? '');
      expect(told.join('\n')).toMatch(/keeping the previous configuration[\s\S]*nonsense: is not a setting/);
    });
    expect(await collections(url)).toEqual(before);
    writeFileSync(config, 'logging:\n  level: Information\n');
    supervisor.kill('SIGHUP');
    await eventually(async () => expect(log()).toContain('the catalog was reloaded'));
  });
});

describe('a server that is told to stop', () => {
  const key = 'test-key-of-the-administrator-1';
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const town = (name: string) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [1, 2] },
    properties: { name },
  });

  /** A POST whose body is sent up to its last bytes; `end` sends them. */
  function unfinishedPost(url: string, body: string) {
    const length = String(Buffer.byteLength(body));
    const options = { method: 'POST', headers: { ...headers, 'content-length': length } };
    const sent = request(url, options);
    const answer = new Promise<{ status: number; headers: IncomingHttpHeaders }>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', (response) => {
        response.resume();
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers }));
      });
    });
    sent.write(body.slice(0, -5));
    return { answer, end: () => sent.end(body.slice(-5)) };
  }

  full('answers what is in flight: waits with their jobs, edits in full, and the rest with 503', async () => {
    const store = geoPackageStore();
    try {
      const dataDir = folder();
      const setup = { sources: store.sources, dataDir };
      // Jobs stay queued: whoever waits for one waits until the server stops.
      const { url, process: supervisor } = await start({ ...setup, env: { SVC_JOBS__AT_ONCE: '0' } });
      const items = `${url}/ogc/features/collections/spots/items`;
      const edit = unfinishedPost(items, JSON.stringify(town('in flight')));
      const endless = unfinishedPost(items, JSON.stringify(town('never whole')));
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      expect((await raw(`${url}/healthz/live`, { agent })).status).toBe(200);

      const execution = JSON.stringify({ inputs: { doubleInput: 3 } });
      const early: string[] = [];
      const post = async (path: string, body: string | Buffer, more: Record<string, string> = {}) => {
        const answer = await raw(`${url}${path}`, { method: 'POST', headers: { ...headers, ...more }, body });
        early.push(`${path}: ${answer.status} ${answer.body}`);
        return answer;
      };
      const form = new URLSearchParams({ doubleInput: '3.5' }).toString();
      const upload = multipart([
        { name: 'tableName', content: 'stopped_upload' },
        { name: 'file', filename: 'town.geojson', content: JSON.stringify(town('uploaded')) },
      ]);
      const remote = { serviceUrl: 'https://features.invalid/', collectionId: 'towns', targetSchema: 'main' };
      const waits = Promise.all([
        post('/ogc/processes/processes/echo/execution', execution, { prefer: 'wait=60' }),
        post('/rest/services/Processes/GPServer/echo/execute', form, {
          'content-type': 'application/x-www-form-urlencoded',
        }),
        post('/api/v1/admin/import/upload', upload.body, { 'content-type': upload.contentType }),
        post('/api/v1/admin/import/ogc-api-features/collection', JSON.stringify(remote)),
      ]);
      const jobs = async () => (await json(`${url}/api/v1/admin/jobs`, { headers })).items;
      await eventually(async () => expect([(await jobs()).length, early]).toEqual([4, []]));

      const ended = once(supervisor, 'exit');
      supervisor.kill('SIGTERM');
      const answers = await waits;
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 202, 201]);
      const locations = answers.map((answer) => new URL(answer.headers.location!, url).pathname);
      expect(new Set(locations).size).toBe(4);

      const late = await raw(`${url}/healthz/live`, { agent });
      expect([late.status, late.headers['connection'], late.headers['retry-after']]).toEqual([
        ...[503, 'close', '5'],
      ]);
      edit.end();
      expect(await edit.answer).toMatchObject({ status: 201, headers: { connection: 'close' } });
      expect(await endless.answer).toMatchObject({
        ...{ status: 503, headers: { connection: 'close', 'retry-after': '5' } },
      });
      agent.destroy();
      expect(await ended).toEqual([0, null]);

      const again = await startServer(setup);
      server = again;
      const names = (await json(`${again.url}/ogc/features/collections/spots/items`)).features;
      expect(names.map(({ properties }: { properties: { name: string } }) => properties.name)).toEqual([
        'in flight',
      ]);
      const ends = ['successful', 'esriJobSucceeded', 'Completed', 'Failed'];
      await eventually(async () => {
        const found = await Promise.all(locations.map((path) => json(again.url + path, { headers })));
        expect(found.map(({ status, jobStatus }) => status ?? jobStatus)).toEqual(ends);
      });
      expect(await collections(again.url)).toContain('stopped_upload');
    } finally {
      await store.release();
    }
  });
});
