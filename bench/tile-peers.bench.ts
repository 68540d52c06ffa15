import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres.js';
import { tilesInside } from './support/buildings.js';
import { treeCpuMs } from './support/peers.js';
import { GEOMETRIES, loadBuildings, splitByGeometry } from './support/postgis.js';
import { option, publish } from './support/report.js';
import { compare, essence } from './support/tile-essence.js';
import type { Encoding } from './support/tile-series.js';
import { MARTIN, startPeers, startTiles, TILE_TYPES, TIPG, type TileServer } from './support/tile-servers.js';

/**
 * Tiles that no cache holds, over HTTP, from one PostGIS and by this server also from a GeoPackage of the same rows: CPU
 * of server and database together, per tile, as vector tiles and as MapLibre Tiles, for clients that take gzip and for
 * clients that take none. All reach the database by TCP; it uses no parallel query, which on two busy cores multiplies what ST_AsMVT costs. First all must give
 * the same features in the same places.
 */
const rounds = option('rounds', 7);
const ROWS = 200_000;
const ZOOM = 14;
const HALF_WORLD = 20037508.342789244;
const CLIENTS = 4;
/** Of Martin's CPU, for clients that take no gzip. */
const POSTGIS_GOALS: Readonly<Record<string, number>> = { points: 1.5, lines: 1.25, polygons: 3.5 };
const GEOPACKAGE_GOALS: Readonly<Record<string, number>> = { points: 2, lines: 1.5, polygons: 4 };
/** Of Martin's CPU for MapLibre Tiles, by gzip and without. */
const MLT_GOAL = 4;
const BIN = `/usr/lib/postgresql/${existsSync('/usr/lib/postgresql/17') ? 17 : 15}/bin`;

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

const side = (2 * HALF_WORLD) / 2 ** ZOOM;
const tiles = tilesInside(ROWS, 16).map(
  ([minx, , , maxy]) =>
    [ZOOM, Math.round((minx + HALF_WORLD) / side), Math.round((HALF_WORLD - maxy) / side)] as const,
);

interface Request {
  table: string;
  encoding: Encoding;
  coding: 'gzip' | 'identity';
}
const REQUESTS: Request[] = Object.keys(GEOMETRIES).flatMap((table) =>
  (['mvt', 'mlt'] as const).flatMap((encoding) =>
    (['gzip', 'identity'] as const).map((coding) => ({ table, encoding, coding })),
  ),
);
const title = ({ table, encoding, coding }: Request) =>
  `${table}, ${encoding === 'mlt' ? 'MLT, ' : ''}${coding}`;

async function cost(one: TileServer, { table, encoding, coding }: Request, passes: number) {
  const headers = { accept: TILE_TYPES[encoding], 'accept-encoding': coding };
  const cpu = treeCpuMs(one.pid) + treeCpuMs(database);
  const begin = performance.now();
  const list = Array.from({ length: passes * tiles.length }, (_, i) => tiles[(i * 7) % tiles.length]!);
  let bytes = 0;
  // Connections of a measurement are its own: a server may close those that wait meanwhile.
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let tile = list.pop(); tile; tile = list.pop()) {
        const size = await bodySize(one.url(table, ...tile), headers, agent);
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
function bodySize(url: string, headers: Record<string, string>, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
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

const contenders: TileServer[] = [];
try {
  const file = load();
  contenders.push(await startTiles('graticule, PostGIS', tcp, 18_101));
  contenders.push(await startTiles('graticule, GeoPackage', file, 18_102));
  const { peers: started, notes } = await startPeers({
    ...{ database: tcp, folder, clients: CLIENTS, tile: tiles[0]! },
  });
  contenders.push(...started);
  for (const table of Object.keys(GEOMETRIES)) {
    for (const tile of tiles.slice(0, 4)) {
      const own = await essence(contenders[0]!.url(table, ...tile), 'mvt');
      for (const one of contenders)
        for (const encoding of one.encodings)
          compare(
            own,
            await essence(one.url(table, ...tile), encoding),
            `${one.name}, ${encoding}, ${table} ${tile.join('/')}`,
          );
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
    for (const request of REQUESTS)
      for (const one of contenders)
        if (one.encodings.includes(request.encoding))
          add(`${title(request)}: ${one.name}`, round, await cost(one, request, one.name === 'TiPg' ? 2 : 4));
    for (const table of Object.keys(GEOMETRIES)) {
      add(`${table}: ST_AsMVT by pgbench`, round, ceiling(table, 4));
      add(`${table}: the rows alone`, round, floor(table, 4));
    }
  }
  const ratio = (theirs: string, ours: string) => {
    const own = samples.get(ours)!;
    return (samples.get(theirs) ?? []).map(({ cpuMs }, i) => cpuMs / own[i]!.cpuMs);
  };
  const peers = started.map(({ name }) => name);
  const ratiosOf = (request: Request) => {
    const { table, encoding, coding } = request;
    const mlt = encoding === 'mlt';
    const goal = (goals: Readonly<Record<string, number>>) =>
      !mlt && coding === 'identity' ? { goal: goals[table]! } : {};
    const name = title(request);
    return started
      .filter(({ encodings }) => encodings.includes(encoding))
      .flatMap((peer) => [
        {
          what: `CPU, ${name}, ${peer.name} / graticule on PostGIS`,
          rounds: ratio(`${name}: ${peer.name}`, `${name}: graticule, PostGIS`),
          ...(peer.name === 'Martin' ? (mlt ? { goal: MLT_GOAL } : goal(POSTGIS_GOALS)) : {}),
        },
        ...(peer.name === 'Martin'
          ? [
              {
                what: `CPU, ${name}, Martin on PostGIS / graticule on GeoPackage`,
                rounds: ratio(`${name}: Martin`, `${name}: graticule, GeoPackage`),
                ...goal(GEOPACKAGE_GOALS),
              },
            ]
          : []),
      ]);
  };
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
    about: `${tiles.length} tiles (zoom ${ZOOM}) of about 5,200 SYNTHETIC buildings as points, lines and polygons, 4 attributes, no cache, ${CLIENTS} clients that take gzip or take nothing but identity, as vector tiles and as MapLibre Tiles (which Martin makes of the vector tile that the database sends; TiPg has none). CPU of server and database together, per tile, children counted; the database is reached by TCP and uses no parallel query. Compared first: the same attributes, boxes within one grid unit. pgbench is the floor of every server that asks for ST_AsMVT (pg_tileserv, Tegola), the rows alone that of every other: of both the database's CPU counts, not the client's. ${versions.join(', ')}.`,
    figures: [...samples].map(([name, list]) => ({
      name,
      rounds: {
        'CPU ms/tile': list.map((s) => s.cpuMs),
        'ms/tile': list.map((s) => s.wallMs),
        'kB/tile': list.map((s) => s.kB),
      },
    })),
    ratios: [
      ...REQUESTS.flatMap(ratiosOf),
      ...Object.keys(GEOMETRIES).map((table) => ({
        what: `CPU, ${table}, the rows alone / graticule on PostGIS`,
        rounds: ratio(`${table}: the rows alone`, `${table}, identity: graticule, PostGIS`),
      })),
    ],
    notes,
  });
} finally {
  for (const one of contenders) await one.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
