import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { StreamClient } from '../test/streams/support.js';
import { startPostgres } from '../test/support/postgres.js';
import { startRedis } from '../test/support/redis.js';
import { makeDatabase } from '../test/support/state.js';
import { TILE_SIDE, tilesInside, ZOOM } from './support/buildings.js';
import { cpuSeconds, load } from './support/load.js';
import { loadBuildings } from './support/postgis.js';
import { median, option, publish } from './support/report.js';
import { type BenchServer, startGraticule } from './support/server.js';

/**
 * Three servers of one state in PostgreSQL, with a cache in Redis, against one with its state in a file: what it costs
 * that they agree, and what a job costs that they share.
 */
const rounds = option('rounds', 5);
const seconds = option('seconds', 3);
const EDITS = option('edits', 200);
const ROWS = 200_000;
const KEYS = 100_000;
const LAYERS = 10_000;
const KEY = 'bench-bench-bench-bench';
const CORES = '0,1';
const ZOOMS = { minZoom: ZOOM - 1, maxZoom: ZOOM + 4 };

const postgres = await startPostgres(['shared_buffers=512MB']);
const redis = await startRedis();
for (const table of ['shared', 'own']) loadBuildings(postgres.url, table, ROWS);
const client = new pg.Client(postgres.url);
await client.connect();
for (const table of ['shared', 'own']) await client.query(`VACUUM ANALYZE ${table}`);
const state = await makeDatabase(postgres.url);
const env = { SVC_STATE__URL: state, SVC_CACHE__REDIS__URL: redis.url, SVC_WORKERS__WAIT_MS: '60000' };

const servers: BenchServer[] = [];
for (let i = 0; i < 3; i++)
  servers.push(await startGraticule([postgres.url], { port: 18_110 + i, cores: CORES, env }));
const [first, , third] = servers as [BenchServer, BenchServer, BenchServer];
const alone = await startGraticule([postgres.url], { port: 18_113, cores: CORES });

async function admin<T>(server: BenchServer, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${server.origin}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as T;
}

async function layerOf(server: BenchServer, name: string): Promise<string> {
  const response = await fetch(`${server.origin}/ogc/tiles/collections?f=json`);
  const { collections } = (await response.json()) as { collections: { id: string; name: string }[] };
  return collections.find((one) => one.name === name)!.id;
}

/** Sends signals to a gateway and to who watches it. */
function signal({ pid }: BenchServer, name: 'SIGSTOP' | 'SIGCONT'): void {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  for (const process_ of [parent, pid]) process.kill(process_, name);
}

interface TileJob {
  JobId: string;
  Status: number;
  TotalTiles: number;
  SuccessfulTiles: number;
  ErrorMessage: string | null;
}

async function job(server: BenchServer, operation: string): Promise<TileJob> {
  const layerId = Number(await layerOf(server, 'shared'));
  const body = { operation, layerId, ...(operation === 'seed' ? ZOOMS : {}) };
  const { JobId } = await admin<TileJob>(server, 'POST', '/tile-operations/jobs', body);
  for (;;) {
    const row = await admin<TileJob>(server, 'GET', `/tile-operations/jobs/${JobId}`);
    if (row.Status === 2) return row;
    if (row.Status > 2) throw new Error(row.ErrorMessage ?? 'the job failed');
    await sleep(50);
  }
}

const processed = async (server: BenchServer) => {
  const response = await fetch(`${server.origin}/metrics`, { headers: { 'x-api-key': KEY } });
  return Number(/^svc_tile_jobs_tiles_processed_total (\d+)/m.exec(await response.text())?.[1] ?? 0);
};

/** Tiles by CPU second of these servers, which seed together. */
async function seeding(by: readonly BenchServer[]): Promise<{ rate: number; wallS: number; own: number[] }> {
  await job(first, 'purge');
  const before = by.map(({ pid }) => cpuSeconds(pid));
  const counts = await Promise.all(by.map(processed));
  const began = performance.now();
  const { SuccessfulTiles, TotalTiles } = await job(first, 'seed');
  const wallS = (performance.now() - began) / 1000;
  const cpu = by.reduce((sum, { pid }, i) => sum + cpuSeconds(pid) - before[i]!, 0);
  const own = (await Promise.all(by.map(processed))).map((count, i) => count - counts[i]!);
  const all = own.reduce((sum, one) => sum + one, 0);
  if (all !== TotalTiles) throw new Error(`${all} addresses were done of ${TotalTiles}`);
  return { rate: SuccessfulTiles / cpu, wallS, own };
}

const quantile = (values: readonly number[], part: number) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)]!;

/** Milliseconds of edits, one after the other. */
async function edits(server: BenchServer, collection: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    const response = await fetch(`${server.origin}/ogc/features/collections/${collection}/items/${1 + i}`, {
      method: 'PATCH',
      headers: { 'x-api-key': KEY, 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ properties: { name: `n${performance.now()}` } }),
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`an edit was answered ${response.status}`);
    times.push(performance.now() - began);
  }
  return times;
}

/** Milliseconds from the answer of an edit at one server to its event at another one. */
async function propagation(): Promise<number[]> {
  const listener = await new StreamClient(`${third.origin}/api/v1/streaming/features`, {
    'x-api-key': KEY,
  }).opened();
  await listener.subscribe('all', { layerId: Number(await layerOf(third, 'shared')) });
  const times: number[] = [];
  for (let i = 0; i < EDITS; i++) {
    const from = listener.frames.length;
    await edits(first, 'shared', 1);
    const answered = performance.now();
    await listener.next(({ type }) => type === 'feature-change', from);
    times.push(Math.max(performance.now() - answered, 0));
    await sleep(20);
  }
  listener.close();
  return times;
}

const style = (color: string) => ({
  mapLibreStyle: {
    version: 8,
    sources: {},
    layers: [{ id: 'f', type: 'fill', paint: { 'fill-color': color } }],
  },
});

async function styleTimes(server: BenchServer): Promise<number[]> {
  const layer = await layerOf(server, 'shared');
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const began = performance.now();
    await admin(server, 'PUT', `/metadata/layers/${layer}/style`, style(`#0000${(16 + i).toString(16)}`));
    times.push(performance.now() - began);
  }
  return times;
}

const tilePaths = async (server: BenchServer) => {
  const id = await layerOf(server, 'shared');
  const half = 2 ** (ZOOM - 1);
  return tilesInside(ROWS, 16).map(([west, , , north]) => {
    const row = half - Math.round(north / TILE_SIDE);
    return `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/${ZOOM}/${row}/${half + Math.round(west / TILE_SIDE)}`;
  });
};

async function cachedTile(server: BenchServer): Promise<number> {
  const { origin, pid } = server;
  const paths = await tilePaths(server);
  const sample = await load({
    origin,
    paths,
    headers: { 'accept-encoding': 'gzip' },
    seconds,
    connections: 32,
    pid,
    core: 1,
  });
  return sample.cpuMicrosPerRequest;
}

const figures: Record<string, Record<string, number[]>> = {};
const add = (name: string, values: Record<string, number>) => {
  for (const [column, value] of Object.entries(values)) ((figures[name] ??= {})[column] ??= []).push(value);
};
const ratios = { seed: [] as number[], tile: [] as number[] };
const cost: number[] = [];
const late: number[] = [];
const told: number[] = [];
for (let round = 0; round <= rounds; round++) {
  for (const server of servers.slice(1)) signal(server, 'SIGSTOP');
  const one = await seeding([first]);
  for (const server of servers.slice(1)) signal(server, 'SIGCONT');
  await sleep(2000);
  const three = await seeding(servers);
  const among = median(await edits(first, 'shared', EDITS));
  const aside = median(await edits(alone, 'own', EDITS));
  const [tileAmong, tileAside] = [await cachedTile(first), await cachedTile(alone)];
  const delays = await propagation();
  const styles = await styleTimes(first);
  if (round === 0) continue;
  add('seeding: one server, tiles by CPU second', { value: one.rate });
  add('seeding: one server, s', { value: one.wallS });
  add('seeding: three servers, tiles by CPU second', { value: three.rate });
  add('seeding: three servers, s', { value: three.wallS });
  ratios.seed.push(three.rate / one.rate);
  add('edit, among three servers, ms', { value: among });
  add('edit, alone with its state in a file, ms', { value: aside });
  cost.push(among - aside);
  add('cached tile, among three servers, CPU us', { value: tileAmong });
  add('cached tile, alone, CPU us', { value: tileAside });
  ratios.tile.push(tileAside / tileAmong);
  late.push(...delays);
  told.push(...styles);
  add('event of an edit at another server, p99 ms', { value: quantile(delays, 0.99) });
  add('style that all have, p50 ms', { value: median(styles) });
}
await alone.stop();
for (const server of servers) await server.stop();

/** Seconds until a server of the state is ready, and what its cached tile costs. */
async function started(): Promise<{ startS: number; tile: number }> {
  const began = performance.now();
  const server = await startGraticule([postgres.url], { port: 18_114, cores: '0', env });
  const startS = (performance.now() - began) / 1000;
  const tile = await cachedTile(server);
  await server.stop();
  return { startS, tile };
}

const small = [await started(), await started(), await started()];
const statements = new pg.Client(state);
await statements.connect();
await statements.query('SET search_path TO graticule_state');
await statements.query(`
  INSERT INTO api_keys (id, name, prefix, hash, permissions_json, created_at, updated_at)
  SELECT 'k' || n, 'key ' || n, 'p', encode(sha256(n::text::bytea), 'hex'), '["data:read"]', 0, 0
  FROM generate_series(1, ${KEYS}) n`);
await statements.query(`
  INSERT INTO collection_ids (id, slug) SELECT 500000 + n, 'layer_' || n FROM generate_series(1, ${LAYERS}) n`);
await statements.query(`
  INSERT INTO styles (layer_id, version, document_version, document_json, revised_at)
  SELECT id, 1, 1, (SELECT document_json FROM styles WHERE document_json IS NOT NULL LIMIT 1), 0
  FROM collection_ids WHERE slug LIKE 'layer\\_%'`);
await statements.end();
const large = [await started(), await started(), await started()];
for (const [name, runs] of [
  ['start, small state, s', small],
  [`start, ${KEYS} keys and ${LAYERS} styled layers, s`, large],
] as const)
  for (const { startS } of runs) add(name, { value: startS });
for (const { tile } of large) add('cached tile with the large state, CPU us', { value: tile });

await client.end();
await redis.stop();
await postgres.stop();

publish({
  bench: 'scale',
  command: `./run bench scale --rounds ${rounds} --seconds ${seconds} --edits ${EDITS}`,
  about: `Servers, PostgreSQL (its log not synchronised) and Redis all share the two cores. Seeding: MVT tiles of ${ROWS} SYNTHETIC buildings in PostGIS, zooms ${ZOOMS.minZoom} to ${ZOOMS.maxZoom}, CPU of the servers. While one server seeds, the two others are stopped by a signal.`,
  figures: Object.entries(figures).map(([name, values]) => ({ name, rounds: values })),
  ratios: [
    { what: 'tiles by CPU second, three servers / one', rounds: ratios.seed, goal: 0.9 },
    { what: 'CPU of a cached tile, alone / among three', rounds: ratios.tile },
    {
      what: 'CPU of a cached tile, small state / large',
      rounds: large.map(({ tile }, i) => small[i]!.tile / tile),
    },
  ],
  notes: [
    'no address was done twice in any seeding: the sums of all servers are the totals of the jobs',
    `an edit costs ${median(cost).toFixed(2)} ms more among three servers than alone, rounds ${Math.min(...cost).toFixed(2)} to ${Math.max(...cost).toFixed(2)} (goal below 1 ms)`,
    `from the answer of an edit to its event at another server: p50 ${median(late).toFixed(1)} ms, p99 ${quantile(late, 0.99).toFixed(1)} ms (goal 250 ms)`,
    `a style is answered when all three servers have it: p50 ${median(told).toFixed(1)} ms, p99 ${quantile(told, 0.99).toFixed(1)} ms (goal 250 ms)`,
    `a server with ${KEYS} keys and ${LAYERS} styled layers in its state is ready after ${median(large.map(({ startS }) => startS)).toFixed(2)} s, with a small state after ${median(small.map(({ startS }) => startS)).toFixed(2)} s (goal 5 s)`,
  ],
});
process.exit(0);
