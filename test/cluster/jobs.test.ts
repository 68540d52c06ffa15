import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startRedis, type TestRedis } from '../support/redis.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { makeDatabase } from '../support/state.js';

/** A brief run kills once. */
const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
const SOURCES = ['demo/data/world_map.gpkg'];

interface TileJob {
  JobId: string;
  Status: number;
  TotalTiles: number;
  ProcessedTiles: number;
  SuccessfulTiles: number;
  ErrorMessage: string | null;
}

describe('two servers and a worker of one state', () => {
  let postgres: TestPostgres;
  let redis: TestRedis;
  let env: Record<string, string>;
  /** Runs jobs. */
  let one: TestServer;
  /** Leaves jobs to others. */
  let idle: TestServer;
  let worker: TestServer;
  let layerId: number;
  const startWorker = () => startServerProcess({ env, sources: SOURCES, command: 'worker' });
  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    env = { SVC_STATE__URL: await makeDatabase(postgres.url), SVC_CACHE__REDIS__URL: redis.url };
    one = await startServerProcess({ env, sources: SOURCES });
    idle = await startServerProcess({ env: { ...env, SVC_JOBS__AT_ONCE: '0' }, sources: SOURCES });
    worker = await startWorker();
    const { collections } = (await (await fetch(`${one.url}/ogc/tiles/collections?f=json`)).json()) as {
      collections: { id: string; title: string }[];
    };
    layerId = Number(collections.find(({ title }) => title.toLowerCase() === 'countries')!.id);
  });
  afterAll(async () => {
    await Promise.all([one?.stop(), idle?.stop(), worker?.stop()]);
    await Promise.all([postgres?.stop(), redis?.stop()]);
  });

  async function call(server: TestServer, method: string, path: string, body?: unknown) {
    const response = await fetch(`${server.url}/api/v1/admin${path}`, {
      method,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as never };
  }

  async function seed(server: TestServer, more: Record<string, unknown>): Promise<string> {
    const answer = await call(server, 'POST', '/tile-operations/jobs', {
      operation: 'seed',
      layerId,
      ...more,
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(202);
    return (answer.body as TileJob).JobId;
  }

  async function until(
    server: TestServer,
    id: string,
    good: (job: TileJob) => boolean | Promise<boolean>,
    pauseMs = 50,
  ): Promise<TileJob> {
    for (const end = Date.now() + 120_000; Date.now() < end; await sleep(pauseMs)) {
      const job = (await call(server, 'GET', `/tile-operations/jobs/${id}`)).body as TileJob;
      if (await good(job)) return job;
    }
    throw new Error('it did not come to that');
  }
  const ended = (server: TestServer, id: string) => until(server, id, ({ Status }) => Status > 1, 300);

  async function metric(server: TestServer, pattern: RegExp): Promise<number> {
    const response = await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } });
    expect(response.status).toBe(200);
    return Number(pattern.exec(await response.text())?.[1] ?? 0);
  }
  const addresses = (server: TestServer) => metric(server, /^svc_tile_jobs_tiles_processed_total (\d+)/m);
  full('seed together, each tile once, whoever is asked', async () => {
    const before = await Promise.all([one, worker].map(addresses));
    const job = await ended(idle, await seed(idle, { maxZoom: 6 }));
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null, ProcessedTiles: job.TotalTiles });
    const after = await Promise.all([one, worker].map(addresses));
    const own = after.map((count, i) => count - before[i]!);
    expect(Math.min(...own)).toBeGreaterThan(job.TotalTiles / 20);
    expect(own[0]! + own[1]!).toBe(job.TotalTiles);
    expect(await addresses(idle)).toBe(0);
    // What one has made, the other one answers with.
    const tiles = `${idle.url}/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/6`;
    // A busy Redis is not waited for: then a tile is made. Each tile is asked for once: later its server has it anyway.
    const rows = Array.from({ length: 24 }, (_, i) => 16 + i);
    const places = rows.flatMap((row) => Array.from({ length: 64 }, (_, column) => `${row}/${column}`));
    const found: string[] = [];
    for (const place of places) {
      const response = await fetch(`${tiles}/${place}?f=mvt`);
      const isMade = response.headers.get('server-timing')?.includes('vector-tile');
      if (response.status === 200 && !isMade) found.push(place);
      if (found.length === 2) break;
      if (isMade) await sleep(50);
    }
    expect(found).toHaveLength(2);
  });

  full('make the tiles of an archive together, and one of them writes it', async () => {
    const before = await Promise.all([one, worker].map(addresses));
    const archive = { operation: 'archive', maxZoom: 6 };
    const job = await ended(one, await seed(one, archive));
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null, ProcessedTiles: job.TotalTiles });
    const after = await Promise.all([one, worker].map(addresses));
    const own = after.map((count, i) => count - before[i]!);
    expect(own[0]! + own[1]!).toBe(job.TotalTiles);
    expect(Math.min(...own)).toBeGreaterThan(0);
    // With a bound of its own a job is not divided.
    const alone = await ended(one, await seed(one, { ...archive, maxTiles: 100_000 }));
    expect(job.SuccessfulTiles).toBe(alone.SuccessfulTiles);
  });

  it('go on when the worker is killed in the midst of its part', async () => {
    const before = await addresses(worker);
    const id = await seed(one, { minZoom: 3, maxZoom: 5, format: 'png' });
    const { Status } = await until(
      one,
      id,
      async (job) => job.Status > 1 || (await addresses(worker)) > before,
    );
    expect(Status).toBe(1);
    const gone = new Promise((resolve) => worker.process.once('exit', resolve));
    worker.process.kill('SIGKILL');
    await gone;
    const job = await ended(one, id);
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null, ProcessedTiles: job.TotalTiles });
    worker = await startWorker();
  });

  it('leave what is made into files to the server that was asked', async () => {
    const archive = { operation: 'archive', maxZoom: 3 };
    const ids = await Promise.all([one, idle].map((server) => seed(server, archive)));
    expect(await ended(idle, ids[0]!)).toMatchObject({ Status: 2, ErrorMessage: null });
    // Both others look for jobs each second.
    await sleep(2500);
    const { body } = await call(one, 'GET', `/tile-operations/jobs/${ids[1]}`);
    expect(body).toMatchObject({ Status: 0 });
    await call(one, 'POST', `/tile-operations/jobs/${ids[1]}/cancel`);
    expect((await ended(one, ids[1]!)).Status).toBeGreaterThan(2);
  });

  it('is nothing to read data from', async () => {
    expect((await fetch(`${worker.url}/healthz/live`)).status).toBe(200);
    for (const path of ['/ogc/features/collections', '/api/v1/admin/version', '/'])
      expect((await fetch(worker.url + path, { headers: { 'x-api-key': worker.adminKey } })).status).toBe(
        404,
      );
  });
});

describe('a worker', () => {
  const run = (env: Record<string, string>) => {
    const folder = mkdtempSync(join(tmpdir(), 'graticule-worker-'));
    const { status, stderr } = spawnSync(
      process.execPath,
      ['dist/cli/main.js', 'worker', '--port', '0', '--data-dir', folder],
      { env: { ...process.env, ...env }, encoding: 'utf8' },
    );
    rmSync(folder, { recursive: true, force: true });
    return { status, stderr };
  };

  it('does not start where it would have nothing to do', () => {
    const alone = run({ SVC_STATE__URL: '' });
    expect(alone.status).toBeGreaterThan(0);
    expect(alone.stderr).toMatch(/state\.url/);
    const idle = run({ SVC_STATE__URL: 'postgresql://localhost/none', SVC_JOBS__AT_ONCE: '0' });
    expect(idle.status).toBeGreaterThan(0);
    expect(idle.stderr).toMatch(/jobs\.atOnce/);
  });
});
