import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { LatencySums } from '../src/services/observability/latency/latencies.js';
import {
  CARS_SQL,
  describeExactly,
  PROTOCOLS,
  readHealth,
  sendLoad,
  untilLogged,
} from '../test/observability/latency-oracle.js';
import { SlowProxy } from '../test/observability/slow-proxy.js';
import { startPostgres } from '../test/support/postgres.js';
import { makeDatabase } from '../test/support/state.js';
import { buildings, randomSource, TILE_SIDE, tilesInside, ZOOM } from './support/buildings.js';
import { cost, pin } from './support/core.js';
import { median, option, publish } from './support/report.js';
import { type GraticuleServer, startGraticule } from './support/server.js';
import { fetchAll } from './support/server-cost.js';

/**
 * What the recording of latency costs a request, and how near the percentiles of three servers are to those of their
 * request logs.
 */
const rounds = option('rounds', 12);
const requests = option('requests', 200);
const PORT = 18_240;
const KEY = 'bench-bench-bench-bench';
const CLIENTS = 4;
const CALLS = 5_000_000;
const HALF_WORLD = 20_037_508.342789244;

/** CPU milliseconds of all threads of a process. */
function readCpuMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread ended.
      return 0;
    }
  });
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** Nanoseconds of one recorded request. */
function measureRecord(): number {
  const random = randomSource(1);
  const values = Float64Array.from({ length: 4096 }, () => 0.05 * Math.exp(10 * random()));
  const sums = new LatencySums();
  let i = 0;
  const { cpuMs } = cost(CALLS, () => {
    sums.record(values[i++ & 4095]!, false);
  });
  const empty = cost(CALLS, () => {
    if (values[i++ & 4095]! < 0) throw new Error('impossible');
  });
  return Math.max(0, cpuMs - empty.cpuMs) * 1e6;
}

interface Workload {
  readonly name: string;
  urls(start: number): string[];
  readonly on: number[];
  readonly off: number[];
}

async function compareRecording(server: GraticuleServer): Promise<Workload[]> {
  const tiles = tilesInside(200_000, 36).map(([minx, miny]) => {
    const x = Math.round((minx + HALF_WORLD) / TILE_SIDE);
    const y = 2 ** ZOOM - 1 - Math.round((miny + HALF_WORLD) / TILE_SIDE);
    return `${server.origin}/ogc/tiles/collections/1/tiles/WebMercatorQuad/${ZOOM}/${y}/${x}`;
  });
  const workloads: Workload[] = [
    {
      ...{ name: 'tiles, not cached', on: [], off: [] },
      urls: (start) => Array.from({ length: requests }, (_, i) => tiles[(start + i) % tiles.length]!),
    },
    {
      ...{ name: 'items, pages of 100', on: [], off: [] },
      urls: (start) =>
        Array.from(
          // A page is several times cheaper than a tile.
          { length: 4 * requests },
          (_, i) =>
            `${server.origin}/ogc/features/collections/buildings/items?limit=100&offset=${100 * ((start + i) % 1500)}`,
        ),
    },
  ];
  let isOn = true;
  let recorded = 0;
  for (let round = 0; round <= rounds; round++)
    for (const workload of workloads)
      for (const wanted of round % 2 === 0 ? [true, false, false, true] : [false, true, true, false]) {
        if (wanted !== isOn) process.kill(server.pid, 'SIGUSR2');
        isOn = wanted;
        const urls = workload.urls(round * requests);
        const before = readCpuMs(server.pid);
        await fetchAll(urls, CLIENTS);
        const cpuMs = (readCpuMs(server.pid) - before) / urls.length;
        if (wanted) recorded += urls.length;
        // The first round warms up.
        if (round > 0) (wanted ? workload.on : workload.off).push(cpuMs);
      }
  const { latency } = await readHealth(
    { url: server.origin, adminKey: KEY },
    '/history?resolution=1h&window=2h',
  );
  const counted = latency
    .filter(({ protocol }: { protocol: string }) => /^OGC-(Tiles|Features)$/.test(protocol))
    .flatMap(({ points }: { points: { requestCount: number }[] }) => points)
    .reduce((sum: number, { requestCount }: { requestCount: number }) => sum + requestCount, 0);
  if (counted !== recorded) throw new Error(`${counted} requests were recorded instead of ${recorded}`);
  return workloads;
}

/** Greatest relative errors of the percentiles of three servers, by percentile. */
async function measureErrors(): Promise<Record<string, number[]>> {
  const postgres = await startPostgres(['max_connections=300']);
  const proxy = await SlowProxy.start(postgres.url);
  const folders: string[] = [];
  const servers: GraticuleServer[] = [];
  const errors: Record<string, number[]> = { p50Ms: [], p95Ms: [], p99Ms: [] };
  try {
    const client = new pg.Client(postgres.url);
    await client.connect();
    await client.query(CARS_SQL);
    await client.end();
    const env = { SVC_STATE__URL: await makeDatabase(postgres.url), SVC_CACHE__TILE_BYTES: '0' };
    for (let i = 1; i <= 3; i++) {
      const dataDir = mkdtempSync(join(tmpdir(), 'graticule-observer-'));
      folders.push(dataDir);
      const url = proxy.url(postgres.url);
      servers.push(await startGraticule([url], { port: PORT + i, cores: '0', dataDir, env }));
    }
    const random = randomSource(3);
    proxy.delayMs = () => 1 + 80 * random() ** 4;
    const logged = servers.map(({ origin }, i) => ({
      ...{ url: origin, adminKey: KEY, log: () => readFileSync(join(folders[i]!, 'log'), 'utf8') },
    }));
    while ((await readHealth(logged[0]!)).servingLatency.clusterReplicaCount < 3);
    const sent = await sendLoad(logged, { layerId: 1, count: 700 });
    const lines = await untilLogged(logged, sent);
    const { protocols } = (await readHealth(logged[0]!)).servingLatency;
    for (const protocol of PROTOCOLS) {
      const exact = describeExactly(lines, protocol);
      const found = protocols.find((one: { protocol: string }) => one.protocol === protocol);
      if (found.requestCount !== exact.requestCount) throw new Error(`${protocol}: requests are missing`);
      for (const name of ['p50Ms', 'p95Ms', 'p99Ms'] as const)
        errors[name]!.push(Math.abs(found[name] - exact[name]) / exact[name]);
    }
  } finally {
    for (const server of servers) await server.stop();
    await proxy.stop();
    await postgres.stop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
  return errors;
}

pin(1);
const errors = await measureErrors();
const nanoseconds = Array.from({ length: rounds + 1 }, measureRecord).slice(1);
const source = buildings(200_000);
const server = await startGraticule([source.path], {
  port: PORT,
  cores: '0',
  env: {
    SVC_CACHE__TILE_BYTES: '0',
    NODE_OPTIONS: `--import=${pathToFileURL(resolve('bench/support/recording-switch.mjs')).href}`,
  },
});
let workloads: Workload[];
try {
  workloads = await compareRecording(server);
} finally {
  await server.stop();
}

/** Means of the two slices of a round. */
const pairs = (values: readonly number[]) =>
  Array.from({ length: rounds }, (_, i) => (values[2 * i]! + values[2 * i + 1]!) / 2);
publish({
  bench: 'observer',
  command: `./run bench observer --rounds ${rounds} --requests ${requests}`,
  about: `One server with 200,000 SYNTHETIC building polygons and no tile cache; ${requests} tiles or ${4 * requests} pages in each slice, ${CLIENTS} at a time. Recording is on, off, off, on within a round, in the same process. Then three servers of one state in PostgreSQL behind a proxy that delays the database, whose percentiles are compared with those of the three request logs. Other work ran on the machine.`,
  figures: workloads.flatMap(({ name, on, off }) => [
    { name: `${name}: recording`, rounds: { 'CPU ms/request': pairs(on) } },
    { name: `${name}: not recording`, rounds: { 'CPU ms/request': pairs(off) } },
  ]),
  ratios: [
    ...workloads.flatMap(({ name, on, off }) => [
      {
        what: `${name}: CPU with recording / without, whole requests`,
        rounds: pairs(on).map((ms, i) => ms / pairs(off)[i]!),
      },
      {
        what: `${name}: CPU of the recording / CPU of a request, measured separately`,
        rounds: pairs(on).map((ms, i) => nanoseconds[i]! / 1e6 / ms),
        most: 0.01,
      },
    ]),
    ...Object.entries(errors).map(([name, values]) => ({
      what: `relative error of ${name}, three servers, ${PROTOCOLS.length} protocols`,
      rounds: values,
      most: 0.05,
    })),
  ],
  notes: [`recording: ${median(nanoseconds).toFixed(1)} ns per request`],
});
