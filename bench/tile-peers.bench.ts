import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { VectorTile, type VectorTileFeature } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { startPostgres } from '../test/support/postgres.js';
import { tilesInside } from './support/buildings.js';
import { treeCpuMs } from './support/peers.js';
import { GEOMETRIES, loadBuildings, splitByGeometry } from './support/postgis.js';
import { option, publish } from './support/report.js';
import { answers, startGraticule } from './support/server.js';

/**
 * Tiles that no cache holds, over HTTP, from one PostGIS and by this server also from a GeoPackage of the same rows: CPU
 * of server and database together, per tile, for clients that take gzip and for clients that take none. All reach the
 * database by TCP; it uses no parallel query, which on two busy cores multiplies what ST_AsMVT costs. First all must give
 * the same features in the same places.
 */
const rounds = option('rounds', 7);
const ROWS = 200_000;
const ZOOM = 14;
const HALF_WORLD = 20037508.342789244;
const MARTIN = resolve('.cache/peers/martin/bin/martin');
const TIPG = resolve('.cache/peers/tipg/bin/python');
const CLIENTS = 4;
/** Of Martin's CPU, for clients that take no gzip. */
const POSTGIS_GOALS: Readonly<Record<string, number>> = { points: 1.5, lines: 1.25, polygons: 3.5 };
const GEOPACKAGE_GOALS: Readonly<Record<string, number>> = { points: 2, lines: 1.5, polygons: 4 };
const EXTENT = 4096;
const BIN = `/usr/lib/postgresql/${existsSync('/usr/lib/postgresql/17') ? 17 : 15}/bin`;

/** What the configuration of Martin calls the geometries. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  points: 'POINT',
  lines: 'LINESTRING',
  polygons: 'POLYGON',
};

interface Contender {
  name: string;
  pid: number;
  url(table: string, z: number, x: number, y: number): string;
  stop(): void | Promise<void>;
}

/** What a program writes. */
function must(program: string, args: string[], env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return stdout.trim();
}

const folder = mkdtempSync(join(tmpdir(), 'graticule-tile-peers-'));
const postgres = await startPostgres([
  'shared_buffers=512MB',
  'listen_addresses=127.0.0.1',
  'max_parallel_workers_per_gather=0',
]);
const socket = new URL(postgres.url).searchParams.get('host')!;
const database = Number(readFileSync(`${socket}/data/postmaster.pid`, 'utf8').split('\n')[0]);
const user = new URL(postgres.url).username;
const tcp = `postgresql://${user}@127.0.0.1:5432/postgres`;

/** The three tables, and a GeoPackage of the same rows. */
function load(): string {
  loadBuildings(postgres.url, 'loaded', ROWS);
  must('psql', [
    postgres.url,
    '-v',
    'ON_ERROR_STOP=1',
    ...splitByGeometry('loaded').flatMap((sql) => ['-c', sql]),
  ]);
  const file = join(folder, 'towns.gpkg');
  for (const [i, name] of Object.keys(GEOMETRIES).entries())
    must('ogr2ogr', [
      '-f',
      'GPKG',
      ...(i ? ['-update'] : []),
      file,
      `PG:${postgres.url}`,
      name,
      '-nln',
      name,
      '-lco',
      'FID=fid',
      '-lco',
      'GEOMETRY_NAME=geom',
      '-sql',
      `SELECT * FROM ${name} ORDER BY fid`,
    ]);
  return file;
}

async function peer(
  name: string,
  program: string,
  args: string[],
  env: Record<string, string>,
  url: Contender['url'],
) {
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', process.env['PEER_LOG'] ? 'inherit' : 'ignore'],
    env: { ...process.env, ...env },
  });
  const [z, x, y] = tiles[0]!;
  const stop = () => void child.kill('SIGTERM');
  try {
    await answers(url('points', z, x, y));
  } catch (error) {
    stop();
    throw error;
  }
  return { name, pid: child.pid!, url, stop };
}

async function martin(): Promise<Contender> {
  const config = join(folder, 'martin.json');
  const tables = Object.entries(TYPE_NAMES).map(([name, type]) => [
    name,
    {
      schema: 'public',
      table: name,
      srid: 3857,
      geometry_column: 'geom',
      id_column: 'fid',
      geometry_type: type,
      extent: 4096,
      buffer: 64,
      clip_geom: true,
      properties: { name: 'text', kind: 'text', levels: 'int4', height: 'float8' },
    },
  ]);
  writeFileSync(
    config,
    JSON.stringify({
      listen_addresses: '127.0.0.1:18103',
      worker_processes: 2,
      cache_size_mb: 0,
      postgres: { connection_string: tcp, pool_size: CLIENTS, tables: Object.fromEntries(tables) },
    }),
  );
  const url: Contender['url'] = (table, z, x, y) => `http://127.0.0.1:18103/${table}/${z}/${x}/${y}`;
  return peer('Martin', MARTIN, ['--config', config], { RUST_LOG: 'error' }, url);
}

async function tipg(): Promise<Contender> {
  const args = ['-m', 'uvicorn', 'tipg.main:app', '--port', '18104', '--log-level', 'error'];
  const env = {
    DATABASE_URL: tcp,
    TIPG_MAX_FEATURES_PER_TILE: '100000',
    TIPG_TILE_BUFFER: '64',
    TIPG_TILE_RESOLUTION: '4096',
    TIPG_SET_MVT_LAYERNAME: 'false',
  };
  const url: Contender['url'] = (table, z, x, y) =>
    `http://127.0.0.1:18104/collections/public.${table}/tiles/WebMercatorQuad/${z}/${x}/${y}`;
  return peer('TiPg', TIPG, args, env, url);
}

async function graticule(name: string, source: string, port: number): Promise<Contender> {
  // No tile is kept: each is made.
  const server = await startGraticule([source], { port, cores: '0,1', env: { SVC_CACHE__TILE_BYTES: '0' } });
  const response = await fetch(`${server.origin}/ogc/tiles/collections`);
  const { collections } = (await response.json()) as { collections: { id: string; title: string }[] };
  const ids = new Map(collections.map(({ id, title }) => [title.toLowerCase(), id]));
  const tiles = `${server.origin}/ogc/tiles/collections`;
  return {
    name,
    pid: server.pid,
    url: (table, z, x, y) => `${tiles}/${ids.get(table)}/tiles/WebMercatorQuad/${z}/${y}/${x}?f=mvt`,
    stop: () => server.stop(),
  };
}

const side = (2 * HALF_WORLD) / 2 ** ZOOM;
const tiles = tilesInside(ROWS, 16).map(
  ([minx, , , maxy]) =>
    [ZOOM, Math.round((minx + HALF_WORLD) / side), Math.round((HALF_WORLD - maxy) / side)] as const,
);

interface Essence {
  attributes: string;
  box: number[];
}

/** Features by name and place: attributes, and the box of the geometry. */
async function essence(url: string): Promise<Essence[]> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  const { layers } = new VectorTile(new PbfReader(new Uint8Array(await response.arrayBuffer())));
  const [layer] = Object.values(layers);
  const features = Array.from({ length: layer!.length }, (_, i) => layer!.feature(i));
  // How far buffers reach is each server's own affair (TiPg reads none).
  const inside = ({ box: [minx, miny, maxx, maxy] }: Essence) =>
    minx! < EXTENT - 1 && miny! < EXTENT - 1 && maxx! > 1 && maxy! > 1;
  return features
    .map(described)
    .filter(inside)
    .sort((a, b) => (a.attributes < b.attributes ? -1 : 1));
}

function described(feature: VectorTileFeature): Essence {
  const positions = feature.loadGeometry().flat();
  const { fid = feature.id, name, kind, levels, height } = feature.properties;
  const xs = positions.map(({ x }) => x);
  const ys = positions.map(({ y }) => y);
  return {
    attributes: JSON.stringify([String(fid).padStart(9), name, kind, levels, height]),
    box: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)],
  };
}

/** Slivers at the border may vanish in one grid and not in the other; nothing else may differ. */
function compare(ours: Essence[], theirs: Essence[], what: string): void {
  const byAttributes = new Map(ours.map((one) => [one.attributes, one]));
  let [missing, far] = [0, 0];
  for (const { attributes, box } of theirs) {
    const own = byAttributes.get(attributes);
    if (!own) missing++;
    else if (box.some((value, i) => Math.abs(value - own.box[i]!) > 1)) far++;
  }
  const extra = ours.length - (theirs.length - missing);
  if (missing + extra > ours.length / 500 || far > 0)
    throw new Error(
      `${what}: ${missing} features missing, ${extra} more, ${far} elsewhere, of ${ours.length}`,
    );
}

const CODINGS = ['gzip', 'identity'] as const;

async function cost(one: Contender, table: string, passes: number, coding: (typeof CODINGS)[number]) {
  const cpu = treeCpuMs(one.pid) + treeCpuMs(database);
  const begin = performance.now();
  const list = Array.from({ length: passes * tiles.length }, (_, i) => tiles[(i * 7) % tiles.length]!);
  let bytes = 0;
  // Connections of a measurement are its own: a server may close those that wait meanwhile.
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let tile = list.pop(); tile; tile = list.pop()) {
        const size = await bodySize(one.url(table, ...tile), coding, agent);
        bytes += size;
      }
    }),
  );
  agent.destroy();
  const count = passes * tiles.length;
  return {
    cpuMs: (treeCpuMs(one.pid) + treeCpuMs(database) - cpu) / count,
    wallMs: (performance.now() - begin) / count,
    kB: bytes / count / 1e3,
  };
}

/** Bytes of an answer's body as they came. */
function bodySize(url: string, coding: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { 'accept-encoding': coding } }, (response) => {
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.byteLength;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(bytes);
        else reject(new Error(`${url}: ${response.statusCode}`));
      });
    }).on('error', reject);
  });
}

/** The database counts the time of a session once it has seen it end. */
const settle = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);

/** The rows of the tiles, of which every server makes its tiles: what the database takes to send them, to nobody. */
function floor(table: string, passes: number) {
  const script = join(folder, `${table}-rows.sql`);
  const copies = tiles.map(
    ([z, x, y]) =>
      `COPY (SELECT fid, geom, name, kind, levels, height FROM ${table} WHERE geom && ST_Expand(ST_TileEnvelope(${z}, ${x}, ${y}), ${(side / 64).toFixed(6)})) TO STDOUT (FORMAT binary);`,
  );
  writeFileSync(script, Array<string>(passes).fill(copies.join('\n')).join('\n'));
  const cpu = treeCpuMs(database);
  const begin = performance.now();
  const count = passes * tiles.length;
  must('psql', ['-q', '-o', '/dev/null', '-f', script, tcp]);
  const wallMs = (performance.now() - begin) / count;
  settle();
  return { cpuMs: (treeCpuMs(database) - cpu) / count, wallMs, kB: 0 };
}

/** The least that any server on ST_AsMVT costs: pgbench asks for the same tiles, prepared, and drops them. */
function ceiling(table: string, passes: number) {
  const script = join(folder, `${table}.sql`);
  const box = `ST_TileEnvelope(${ZOOM}, :x, :y)`;
  writeFileSync(
    script,
    `\\set i random(0, ${tiles.length - 1})
${['x', 'y'].map((axis, a) => `\\set ${axis} case ${tiles.map((tile, i) => `when :i = ${i} then ${tile[a + 1]}`).join(' ')} end`).join('\n')}
SELECT ST_AsMVT(t.*, '${table}', 4096, 'g', 'fid') FROM (SELECT ST_AsMVTGeom(geom, ${box}, 4096, 64) AS g, fid, name, kind,
 levels, height FROM ${table} WHERE geom && ST_Expand(${box}, ${(side / 64).toFixed(6)})) t;\n`.replace(
      /,\s+kind,\s+levels/,
      ', kind, levels',
    ),
  );
  // One statement must be one line.
  writeFileSync(script, readFileSync(script, 'utf8').replace(/, kind,\n levels/, ', kind, levels'));
  const cpu = treeCpuMs(database);
  const begin = performance.now();
  const count = passes * tiles.length;
  must(join(BIN, 'pgbench'), [
    '-n',
    '-M',
    'prepared',
    '-c',
    String(CLIENTS),
    '-j',
    '1',
    '-t',
    String(Math.ceil(count / CLIENTS)),
    '-f',
    script,
    tcp,
  ]);
  const wallMs = (performance.now() - begin) / count;
  settle();
  return { cpuMs: (treeCpuMs(database) - cpu) / count, wallMs, kB: 0 };
}

const contenders: Contender[] = [];
const notes: string[] = [];
try {
  const file = load();
  contenders.push(await graticule('graticule, PostGIS', tcp, 18_101));
  contenders.push(await graticule('graticule, GeoPackage', file, 18_102));
  for (const [start, program] of [
    [martin, MARTIN],
    [tipg, TIPG],
  ] as const) {
    if (existsSync(program)) contenders.push(await start());
    else notes.push(`${program} is not there: bench/peers/install.sh`);
  }
  for (const table of Object.keys(GEOMETRIES)) {
    for (const tile of tiles.slice(0, 4)) {
      const own = await essence(contenders[0]!.url(table, ...tile));
      for (const other of contenders.slice(1))
        compare(own, await essence(other.url(table, ...tile)), `${other.name}, ${table} ${tile.join('/')}`);
    }
  }
  type Sample = { cpuMs: number; wallMs: number; kB: number };
  const samples = new Map<string, Sample[]>();
  const add = (name: string, round: number, sample: Sample) => {
    if (!samples.has(name)) samples.set(name, []);
    // The first round warms up.
    if (round > 0) samples.get(name)!.push(sample);
  };
  for (let round = 0; round <= rounds; round++) {
    for (const table of Object.keys(GEOMETRIES)) {
      for (const coding of CODINGS)
        for (const one of contenders)
          add(
            `${table}, ${coding}: ${one.name}`,
            round,
            await cost(one, table, one.name === 'TiPg' ? 2 : 4, coding),
          );
      add(`${table}: ST_AsMVT by pgbench`, round, ceiling(table, 4));
      add(`${table}: the rows alone`, round, floor(table, 4));
    }
  }
  const ratio = (theirs: string, ours: string) => {
    const own = samples.get(ours)!;
    return (samples.get(theirs) ?? []).map(({ cpuMs }, i) => cpuMs / own[i]!.cpuMs);
  };
  const peers = ['Martin', 'TiPg'].filter((name) => contenders.some((one) => one.name === name));
  const versions = [
    must(join(BIN, 'postgres'), ['--version']),
    `PostGIS ${must('psql', ['-At', '-c', 'SELECT postgis_lib_version()', postgres.url])}`,
    ...(peers.includes('Martin') ? [`Martin ${must(MARTIN, ['--version'])}`] : []),
    ...(peers.includes('TiPg')
      ? [`TiPg ${must(TIPG, ['-c', "import importlib.metadata as m; print(m.version('tipg'))"])}`]
      : []),
  ];
  publish({
    bench: 'tile-peers',
    command: `./run bench tile-peers --rounds ${rounds}`,
    about: `${tiles.length} tiles (zoom ${ZOOM}) of about 5,200 SYNTHETIC buildings as points, lines and polygons, 4 attributes, no cache, ${CLIENTS} clients that take gzip or take nothing but identity. CPU of server and database together, per tile, children counted; the database is reached by TCP and uses no parallel query. Compared first: the same attributes, boxes within one grid unit. pgbench is the floor of every server that asks for ST_AsMVT (pg_tileserv, Tegola), the rows alone that of every other: of both the database's CPU counts, not the client's. ${versions.join(', ')}.`,
    figures: [...samples].map(([name, list]) => ({
      name,
      rounds: {
        'CPU ms/tile': list.map((s) => s.cpuMs),
        'ms/tile': list.map((s) => s.wallMs),
        'kB/tile': list.map((s) => s.kB),
      },
    })),
    ratios: Object.keys(GEOMETRIES).flatMap((table) =>
      CODINGS.flatMap((coding) => [
        ...peers.map((name) => ({
          what: `CPU, ${table}, ${coding}, ${name} / graticule on PostGIS`,
          rounds: ratio(`${table}, ${coding}: ${name}`, `${table}, ${coding}: graticule, PostGIS`),
          ...(name === 'Martin' && coding === 'identity' ? { goal: POSTGIS_GOALS[table]! } : {}),
        })),
        ...(peers.includes('Martin')
          ? [
              {
                what: `CPU, ${table}, ${coding}, Martin on PostGIS / graticule on GeoPackage`,
                rounds: ratio(`${table}, ${coding}: Martin`, `${table}, ${coding}: graticule, GeoPackage`),
                ...(coding === 'identity' ? { goal: GEOPACKAGE_GOALS[table]! } : {}),
              },
            ]
          : []),
        ...(coding === 'identity'
          ? [
              {
                what: `CPU, ${table}, the rows alone / graticule on PostGIS`,
                rounds: ratio(`${table}: the rows alone`, `${table}, ${coding}: graticule, PostGIS`),
              },
            ]
          : []),
      ]),
    ),
    notes,
  });
} finally {
  for (const one of contenders) await one.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
