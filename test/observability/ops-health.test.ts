import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { family, gateways } from '../support/processes.js';
import { randomNumbers } from '../support/random.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { makeDatabase } from '../support/state.js';
import {
  CARS_SQL,
  describeExactly,
  type HealthDocument,
  PROTOCOLS,
  readHealth,
  sendLoad,
  untilLogged,
} from './latency-oracle.js';
import { SlowProxy } from './slow-proxy.js';

/** The clock of this server is an hour ahead. */
const WRONG_CLOCK = `data:text/javascript,${encodeURIComponent(`
  const Right = Date;
  globalThis.Date = class extends Right {
    constructor(...parts) { if (parts.length === 0) super(Right.now() + 3600000); else super(...parts); }
    static now() { return Right.now() + 3600000; }
  };`)}`;

/** Percentiles differ from the exact ones by at most 5 %. The log has hundredths of milliseconds. */
function expectNear(found: HealthDocument, exact: ReturnType<typeof describeExactly>): void {
  expect(found.requestCount).toBe(exact.requestCount);
  for (const name of ['p50Ms', 'p95Ms', 'p99Ms', 'maxMs'] as const)
    expect(Math.abs(found[name] - exact[name])).toBeLessThanOrEqual(0.05 * exact[name] + 0.01);
}

/** The history with the requests of all processes: on a busy machine, a response can take longer than a second. */
async function readHistory(server: TestServer, path: string): Promise<HealthDocument> {
  for (;;) {
    const history = await readHealth(server, path);
    if (history.missingInstances.length === 0) return history;
  }
}

/** Numbers of requests by protocol. */
function countRequests(history: HealthDocument): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { protocol, points } of history.latency)
    for (const { requestCount, errorCount } of points) {
      expect(requestCount).toBeGreaterThan(0);
      expect(errorCount).toBeGreaterThanOrEqual(0);
      if (PROTOCOLS.includes(protocol)) sums[protocol] = (sums[protocol] ?? 0) + requestCount;
    }
  return sums;
}

async function findLayer(server: TestServer): Promise<number> {
  const response = await fetch(`${server.url}/api/v1/streaming/features/capabilities`);
  const { layers } = (await response.json()) as { layers: { name: string; layerId: number }[] };
  return layers.find(({ name }) => name === 'cars')!.layerId;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Processes of PostgreSQL. */
function listProcesses({ url }: TestPostgres): number[] {
  const folder = new URL(url).searchParams.get('host')!;
  const [pid] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n');
  return [Number(pid), ...family(Number(pid)).filter((one) => one !== Number(pid))];
}

let postgres: TestPostgres;
let proxy: SlowProxy;
let source: string;
beforeAll(async () => {
  postgres = await startPostgres(['max_connections=300']);
  await query(postgres.url, CARS_SQL);
  proxy = await SlowProxy.start(postgres.url);
  source = proxy.url(postgres.url);
});
afterAll(async () => {
  await proxy?.stop();
  await postgres?.stop();
});

describe.each(['SQLite', 'PostgreSQL'])('latency of known requests, with the state in %s', (database) => {
  const size = database === 'SQLite' ? 1 : 3;
  const servers: TestServer[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'graticule-health-'));
  let env: Record<string, string> = {};
  let place: string;
  let layerId: number;
  let started: number;
  let sent = 0;

  const start = (number: number) => {
    const dataDir = join(folder, String(number));
    mkdirSync(dataDir, { recursive: true });
    // The last of several servers has a wrong clock.
    const clock: Record<string, string> = number === 2 ? { NODE_OPTIONS: `--import=${WRONG_CLOCK}` } : {};
    return startServerProcess({ sources: [source], dataDir, env: { ...env, ...clock } });
  };

  /** A new process can be unknown to the others until its first heartbeats. */
  async function untilAllKnown(): Promise<void> {
    for (const server of servers)
      for (;;) {
        const { clusterReplicaCount, missingInstances } = (await readHealth(server)).servingLatency;
        if (clusterReplicaCount === size && missingInstances.length === 0) break;
        await sleep(100);
      }
  }

  beforeAll(async () => {
    started = Date.now();
    if (size > 1) {
      place = await makeDatabase(postgres.url);
      env = { SVC_STATE__URL: place };
    }
    for (let i = 0; i < size; i++) servers.push(await start(i));
    await untilAllKnown();
    layerId = await findLayer(servers[0]!);
    const random = randomNumbers(4711);
    proxy.delayMs = () => 1 + 60 * random() ** 4;
    sent = await sendLoad(servers, { layerId, count: 120 });
    proxy.delayMs = () => 0;
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  it('is near the exact latency of the log, on each server', async () => {
    const lines = await untilLogged(servers, sent);
    for (const [number, server] of servers.entries()) {
      const { servingLatency, health } = await readHealth(server);
      const problems = health.entries.filter(({ status }: HealthDocument) => status !== 'Healthy');
      expect(problems.map(({ name }: HealthDocument) => name)).toEqual(number === 2 ? ['clock'] : []);
      expect(servingLatency.clusterReplicaCount).toBe(size);
      expect(servingLatency.missingInstances).toEqual([]);
      for (const protocol of PROTOCOLS) {
        const found = servingLatency.protocols.find((one: HealthDocument) => one.protocol === protocol);
        expectNear(found, describeExactly(lines, protocol));
        expect([found.errorCount, found.errorRate]).toEqual([0, 0]);
      }
    }
  });

  it('has the same sums at each resolution and for each process', async () => {
    const lines = await untilLogged(servers, sent);
    const exact = Object.fromEntries(
      PROTOCOLS.map((protocol) => [protocol, describeExactly(lines, protocol).requestCount]),
    );
    for (const resolution of ['1m', '5m', '1h'])
      for (const perReplica of [false, true]) {
        const path = `/history?resolution=${resolution}&window=2h&perReplica=${perReplica}`;
        // A process may store its last minute after it has written its log.
        await vi.waitFor(
          async () => {
            const history = await readHistory(servers[0]!, path);
            expect(countRequests(history)).toEqual(exact);
            const replicas = new Set(history.latency.map((one: HealthDocument) => one.replicaId));
            expect(replicas.size).toBe(perReplica ? size : 1);
          },
          { timeout: 20_000, interval: 100 },
        );
      }
  });

  it('is in the minutes of the state, whatever the clock of a server', async () => {
    const { latency } = await readHealth(servers[0]!, '/history?perReplica=true');
    for (const { points } of latency)
      for (const { bucketStart } of points) {
        expect(Date.parse(bucketStart) % 60_000).toBe(0);
        expect(Date.parse(bucketStart)).toBeGreaterThan(started - 60_000);
        expect(Date.parse(bucketStart)).toBeLessThanOrEqual(Date.now());
      }
  });

  it('survives a stop, and a killed process neither loses nor doubles what it stored', async () => {
    const stopped = servers[0]!;
    await stopped.stop();
    const lines = await untilLogged(servers, sent);
    servers[0] = await start(0);
    if (size === 1) {
      const exact = Object.fromEntries(
        PROTOCOLS.map((protocol) => [protocol, describeExactly(lines, protocol).requestCount]),
      );
      expect(countRequests(await readHealth(servers[0], '/history'))).toEqual(exact);
      const [minute] = (await readHealth(servers[0], '/history?resolution=1h')).latency.filter(
        (one: HealthDocument) => one.protocol === 'OGC-Tiles',
      );
      if (minute.points.length === 1) expectNear(minute.points[0], describeExactly(lines, 'OGC-Tiles'));
      return;
    }
    const [victim] = gateways(servers[2]!.process.pid!);
    const readStored = () =>
      query(
        place,
        `SELECT protocol, sum(requests)::int AS requests FROM graticule_state.latency_periods
         WHERE resolution = 60 AND replica LIKE '%:${victim}:%' GROUP BY protocol`,
      );
    if (isFullRun(import.meta.url)) {
      while ((await readStored()).length === 0) await sleep(500);
      // These are lost with the process.
      await sendLoad([servers[2]!], { layerId, count: 20, start: 400 });
    }
    await servers[2]!.kill();
    const kept = new Map((await readStored()).map(({ protocol, requests }) => [protocol, Number(requests)]));
    const others = await untilLogged(servers.slice(0, 2), 0);
    const before = Object.fromEntries(
      PROTOCOLS.map((protocol) => [
        protocol,
        describeExactly(others, protocol).requestCount + (kept.get(protocol) ?? 0),
      ]),
    );
    const readAll = async () =>
      Promise.all(
        ['1m', '5m', '1h'].map(async (resolution) =>
          countRequests(await readHistory(servers[1]!, `/history?window=2h&resolution=${resolution}`)),
        ),
      );
    for (const sums of await readAll()) expect(sums).toEqual(before);
    servers[2] = await start(2);
    await untilAllKnown();
    const more = await sendLoad([servers[2]], { layerId, count: 20, start: 500 });
    const after = PROTOCOLS.map((protocol) => before[protocol]! + more / PROTOCOLS.length);
    // A process that does not respond in time is missing in an answer.
    await expect
      .poll(async () => (await readAll()).map((sums) => PROTOCOLS.map((protocol) => sums[protocol])))
      .toEqual([after, after, after]);
  });

  it('names a process that does not respond', async () => {
    if (size === 1) return;
    const pids = family(servers[1]!.process.pid!);
    const paused = gateways(servers[1]!.process.pid!);
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      const { servingLatency, overallStatus, health, deploy } = await readHealth(servers[0]!);
      expect(servingLatency.missingInstances).toEqual([expect.stringContaining(`:${paused[0]}:`)]);
      expect([servingLatency.clusterReplicaCount, overallStatus]).toEqual([3, 'Degraded']);
      const [missing] = servingLatency.missingInstances;
      expect(health.entries.filter(({ status }: HealthDocument) => status !== 'Healthy')).toEqual([
        expect.objectContaining({ name: `process:${missing}`, status: 'Degraded' }),
      ]);
      expect(deploy.status).toBe('blocked');
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
  });
});

describe('a server whose PostgreSQL hangs', () => {
  let server: TestServer;
  let stateProxy: SlowProxy;
  beforeAll(async () => {
    stateProxy = await SlowProxy.start(postgres.url);
    server = await startServerProcess({
      sources: [source],
      env: { SVC_STATE__URL: stateProxy.url(await makeDatabase(postgres.url)) },
    });
  });
  afterAll(async () => {
    stateProxy.isSilent = false;
    proxy.isSilent = false;
    await server?.stop();
    await stateProxy?.stop();
  });

  /** Entries that are not healthy. The quickest of three responses, because other tests use the machine. */
  async function readProblems(): Promise<{ status: string; names: string[]; ms: number }> {
    const documents: HealthDocument[] = [];
    // A ping counts for half a second.
    await sleep(600);
    for (let i = 0; i < 3; i++) {
      const started = performance.now();
      documents.push({ ...(await readHealth(server)), ms: performance.now() - started });
    }
    const { health, overallStatus } = documents.at(-1);
    const names = health.entries
      .filter(({ status }: HealthDocument) => status !== 'Healthy')
      .map(({ name }: HealthDocument) => name);
    return { status: overallStatus, names, ms: Math.min(...documents.map(({ ms }) => ms)) };
  }

  async function untilHealthy(): Promise<void> {
    while ((await readHealth(server)).overallStatus !== 'Healthy') await sleep(200);
  }

  it('reports that within 2.5 seconds, and is healthy again after it', async () => {
    await untilHealthy();
    const pids = listProcesses(postgres);
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      const { status, names, ms } = await readProblems();
      expect(status).toBe('Unhealthy');
      expect(names).toContain('state-database');
      expect(ms).toBeLessThan(2500);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    await untilHealthy();
  });

  it('names the state or the database behind a proxy that accepts and does not respond', async () => {
    stateProxy.isSilent = true;
    const state = await readProblems();
    expect(state.status).toBe('Unhealthy');
    // Alerts are read from the state, but not in each second.
    expect(state.names.filter((name) => name !== 'alert-dispatch')).toEqual(['state-database']);
    expect(state.ms).toBeLessThan(2500);
    const document = await readHealth(server);
    expect(document.geoprocessing.available).toBe(false);
    expect(document.alertDispatch.pendingCount).toBeNull();
    expect(document.deploy.status).toBe('blocked');
    stateProxy.isSilent = false;
    await untilHealthy();
    proxy.isSilent = true;
    const data = await readProblems();
    expect(data.names).toEqual([expect.stringMatching(/^database:postgresql:.*127\.0\.0\.1/)]);
    expect(['Degraded', 'Unhealthy']).toContain(data.status);
    expect(data.ms).toBeLessThan(2500);
    proxy.isSilent = false;
    await untilHealthy();
  });
});
