import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { startPostgres } from '../test/support/postgres.js';
import { type Peer, pgFeatureserv, pygeoapi, type Table, tiPg, treeCpuMs } from './support/peers.js';
import { loadBuildings } from './support/postgis.js';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * A page of 1,000 polygons out of one PostGIS table, by this server and by others: CPU of the server and of the
 * database together, per page, one client, pages deep in the table. First all must give the same features.
 */
const rounds = option('rounds', 7);
const ROWS = 200_000;
const LIMIT = 1000;
const CORE = 0;
/** Pages per round: slow servers need fewer to be measured as well. */
const PAGES: Record<string, number> = { graticule: 100, pg_featureserv: 50, pygeoapi: 6, TiPg: 6 };

const postgres = await startPostgres(['shared_buffers=512MB', 'listen_addresses=127.0.0.1']);
loadBuildings(postgres.url, 'buildings', ROWS, 4326);
spawnSync('psql', [postgres.url, '-c', 'VACUUM ANALYZE buildings']);

const table: Table = { url: postgres.url, schema: 'public', table: 'buildings', id: 'fid', geometry: 'geom' };
const folder = new URL(postgres.url).searchParams.get('host')!;
const database = Number(readFileSync(`${folder}/data/postmaster.pid`, 'utf8').split('\n')[0]);

const graticule = await startGraticule([postgres.url], { port: 18_090, cores: String(CORE) });
const items = `${graticule.origin}/ogc/features/collections/buildings/items`;
const contenders: Peer[] = [
  {
    name: 'graticule',
    page: (limit, offset) => `${items}?limit=${limit}&offset=${offset}`,
    pid: graticule.pid,
    stop: () => {},
  },
];
const absent: string[] = [];
for (const [i, start] of [pgFeatureserv, pygeoapi, tiPg].entries()) {
  try {
    contenders.push(await start(table, 18_091 + i, CORE));
  } catch (error) {
    absent.push((error as Error).message);
  }
}

interface Feature {
  id: string | number;
  geometry: { coordinates: number[][][] };
  properties: Record<string, unknown>;
}

/** What must be the same everywhere: ids, attributes, vertices, and the middle of the ring to a centimetre. */
interface Essence {
  text: string;
  middles: number[];
}

async function essence({ page }: Peer): Promise<Essence> {
  const { features } = (await (await fetch(page(LIMIT, LIMIT))).json()) as { features: Feature[] };
  const plain = features.map(({ id, geometry, properties }) => {
    const { fid, id: _, ...rest } = properties;
    const ring = geometry.coordinates[0]!;
    const middle = [0, 1].map((axis) => ring.reduce((sum, at) => sum + at[axis]!, 0) / ring.length);
    return { id: Number(id ?? fid), length: ring.length, rest: Object.entries(rest).sort(), middle };
  });
  plain.sort((one, other) => one.id - other.id);
  const text = JSON.stringify(plain.map(({ middle, ...rest }) => rest));
  return { text, middles: plain.flatMap(({ middle }) => middle) };
}

const wanted = await essence(contenders[0]!);
for (const peer of contenders.slice(1)) {
  const { text, middles } = await essence(peer);
  const near = middles.every((value, i) => Math.abs(value - wanted.middles[i]!) < 1e-7);
  if (text !== wanted.text || !near) throw new Error(`${peer.name} gives other features`);
}

async function cost(peer: Peer, pages: number): Promise<{ cpuMs: number; wallMs: number }> {
  const cpu = treeCpuMs(peer.pid) + treeCpuMs(database);
  const begin = performance.now();
  for (let i = 0; i < pages; i++) {
    const response = await fetch(peer.page(LIMIT, (i % 20) * LIMIT), {
      headers: { 'accept-encoding': 'identity' },
    });
    await response.arrayBuffer();
  }
  const wallMs = (performance.now() - begin) / pages;
  return { cpuMs: (treeCpuMs(peer.pid) + treeCpuMs(database) - cpu) / pages, wallMs };
}

/** Milliseconds until the first and the last byte of the features. */
function firstByte(url: string): Promise<{ first: number; last: number }> {
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    request(url, { headers: { 'accept-encoding': 'identity' } }, (response) => {
      let first = 0;
      response.on('data', () => (first ||= performance.now() - begin));
      response.on('end', () => resolve({ first, last: performance.now() - begin }));
    })
      .on('error', reject)
      .end();
  });
}

const samples = new Map(contenders.map(({ name }) => [name, { cpu: [] as number[], wall: [] as number[] }]));
const first: number[] = [];
for (let round = 0; round <= rounds; round++) {
  for (const peer of contenders) {
    const { cpuMs, wallMs } = await cost(peer, PAGES[peer.name]!);
    if (round === 0) continue;
    samples.get(peer.name)!.cpu.push(cpuMs);
    samples.get(peer.name)!.wall.push(wallMs);
  }
  const tries: number[] = [];
  for (let i = 0; i < 20; i++) tries.push((await firstByte(`${items}?limit=2000`)).first);
  if (round > 0) first.push(tries.sort((a, b) => a - b)[10]!);
}
for (const peer of contenders) peer.stop();
await graticule.stop();
await postgres.stop();

const own = samples.get('graticule')!;
const GOALS: Record<string, number> = { pg_featureserv: 3, pygeoapi: 10, TiPg: 10 };
publish({
  bench: 'features-peers',
  command: `./run bench features-peers --rounds ${rounds}`,
  about: `Pages of ${LIMIT} polygons (synthetic buildings, ${ROWS} rows in PostGIS) as GeoJSON, one client, the first 20 pages by offset. CPU of server and database together, per page; all give the same features.`,
  figures: [...samples].map(([name, { cpu, wall }]) => ({
    name,
    rounds: { 'CPU ms/page': cpu, 'ms/page': wall },
  })),
  ratios: [
    ...[...samples]
      .filter(([name]) => name !== 'graticule')
      .map(([name, { cpu }]) => ({
        what: `CPU per page, ${name} / graticule`,
        rounds: cpu.map((ms, i) => ms / own.cpu[i]!),
        goal: GOALS[name]!,
      })),
    {
      what: `5 ms / time to the first byte of 2,000 features (median ${first.toSorted((a, b) => a - b)[first.length >> 1]!.toFixed(2)} ms)`,
      rounds: first.map((ms) => 5 / ms),
      goal: 1,
    },
  ],
  notes: absent,
});
