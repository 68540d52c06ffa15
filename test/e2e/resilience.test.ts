import { copyFileSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ServerSetup, startServer, type TestServer } from '../support/server.js';
import { repetitions } from '../support/soak.js';
import { eventually, json, raw } from './support/http.js';
import { alive, engines, gateways, logLines } from './support/processes.js';

let server: TestServer | undefined;
const folders: string[] = [];

afterEach(async () => {
  await server?.stop();
  server = undefined;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function start(setup: ServerSetup = {}): Promise<TestServer> {
  server = await startServer(setup);
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
    whole = await startServer();
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
    expect(log()).toMatch(/engine 1 ended by SIGSEGV/);
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
  it('among several leaves the others serving', async () => {
    const { url, process: supervisor } = await start({ args: ['--processes', '2'] });
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
    const { process: supervisor, dataDir } = await start();
    folders.push(dataDir);
    const children = [...gateways(supervisor.pid!), ...engines(supervisor.pid!)];
    expect(children).toHaveLength(2);
    supervisor.kill('SIGKILL');
    await eventually(async () => expect(children.filter(alive)).toEqual([]));
  });
});

describe('the catalog', () => {
  it('takes up a file that is copied into the folder, and drops one that is removed, without a restart', async () => {
    const data = folder();
    copyFileSync('demo/data/olinda_dem_utm25s.tif', join(data, 'dem.tif'));
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

  it('is read again on SIGHUP', async () => {
    const data = folder();
    copyFileSync('demo/data/olinda_dem_utm25s.tif', join(data, 'dem.tif'));
    const { url, process: supervisor } = await start({ sources: [data], env: { SVC_DATA__WATCH: 'false' } });
    copyFileSync('demo/data/olinda_dem_utm25s.tif', join(data, 'second.tif'));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await collections(url)).toEqual(['dem']);
    supervisor.kill('SIGHUP');
    await eventually(async () => expect(await collections(url)).toEqual(['dem', 'second']));
  });

  it('serves a changed file anew: another tile, another entity tag', async () => {
    const data = folder();
    const file = join(data, 'picture.tif');
    copyFileSync('demo/data/olinda_dem_utm25s.tif', file);
    const { url } = await start({ sources: [data] });
    const map = async () => (await json(`${url}/ogc/coverages/collections/picture`)).defaultFields.length;
    expect(await map()).toBe(1);
    copyFileSync('demo/data/L7_ETMs.tif', file);
    await eventually(async () => expect(await map()).toBe(6));
  });

  it('stays as it is when the new configuration is wrong, and the log says why', async () => {
    const place = folder();
    const config = join(place, 'graticule.yaml');
    writeFileSync(config, 'logging:\n  level: Information\n');
    const { url, process: supervisor, log } = await start({ args: ['--config', config] });
    const before = await collections(url);
    writeFileSync(config, 'logging:\n  level: Loud\nnonsense: true\n');
    supervisor.kill('SIGHUP');
    await eventually(async () => {
      const told = logLines(log()).map((line) => line['@m'] ?? '');
      expect(told.join('\n')).toMatch(/the old configuration stays[\s\S]*nonsense is not a setting/);
    });
    expect(await collections(url)).toEqual(before);
    writeFileSync(config, 'logging:\n  level: Information\n');
    supervisor.kill('SIGHUP');
    await eventually(async () => expect(log()).toContain('the catalog was reloaded'));
  });
});
