import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { answers, startGraticule } from './server.js';
import type { Encoding } from './tile-series.js';

/** Servers of vector tiles, each with its best settings and no cache. */
export interface TileServer {
  name: string;
  pid: number;
  encodings: readonly Encoding[];
  url(table: string, z: number, x: number, y: number): string;
  stop(): void | Promise<void>;
}

export interface PeerSettings {
  /** Of the database, by TCP. */
  database: string;
  /** Where configurations are written. */
  folder: string;
  /** Connections to the database. */
  clients: number;
  /** A tile that holds something: z, x, y. */
  tile: readonly [number, number, number];
}

/** Media types that servers choose an encoding by. */
export const TILE_TYPES: Readonly<Record<Encoding, string>> = {
  mvt: 'application/vnd.mapbox-vector-tile',
  mlt: 'application/vnd.maplibre-tile',
};

export const MARTIN = resolve('.cache/peers/martin/bin/martin');
export const TIPG = resolve('.cache/peers/tipg/bin/python');

/** What the configuration of Martin calls the geometries. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  points: 'POINT',
  lines: 'LINESTRING',
  polygons: 'POLYGON',
};

interface Peer {
  name: string;
  program: string;
  args: string[];
  env: Record<string, string>;
  encodings: readonly Encoding[];
  url: TileServer['url'];
}

async function startPeer({ program, args, env, ...peer }: Peer, tile: PeerSettings['tile']) {
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', process.env['PEER_LOG'] ? 'inherit' : 'ignore'],
    env: { ...process.env, ...env },
  });
  const stop = () => void child.kill('SIGTERM');
  try {
    await answers(peer.url('points', ...tile));
  } catch (error) {
    stop();
    throw error;
  }
  return { ...peer, pid: child.pid!, stop };
}

/** Martin makes MapLibre Tiles of the vector tiles that the database sends, where a client takes them. */
export async function startMartin({ database, folder, clients, tile }: PeerSettings): Promise<TileServer> {
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
      postgres: {
        connection_string: database,
        pool_size: clients,
        tables: Object.fromEntries(tables),
        convert_to_mlt: 'auto',
      },
    }),
  );
  const peer: Peer = {
    name: 'Martin',
    program: MARTIN,
    args: ['--config', config],
    env: { RUST_LOG: 'error' },
    encodings: ['mvt', 'mlt'],
    url: (table, z, x, y) => `http://127.0.0.1:18103/${table}/${z}/${x}/${y}`,
  };
  return startPeer(peer, tile);
}

export async function startTipg({ database, tile }: PeerSettings): Promise<TileServer> {
  const peer: Peer = {
    name: 'TiPg',
    program: TIPG,
    args: ['-m', 'uvicorn', 'tipg.main:app', '--port', '18104', '--log-level', 'error'],
    env: {
      DATABASE_URL: database,
      TIPG_MAX_FEATURES_PER_TILE: '100000',
      TIPG_TILE_BUFFER: '64',
      TIPG_TILE_RESOLUTION: '4096',
      TIPG_SET_MVT_LAYERNAME: 'false',
    },
    encodings: ['mvt'],
    url: (table, z, x, y) =>
      `http://127.0.0.1:18104/collections/public.${table}/tiles/WebMercatorQuad/${z}/${x}/${y}`,
  };
  return startPeer(peer, tile);
}

/** The peers that are installed, and a note on each that is not. */
export async function startPeers(settings: PeerSettings): Promise<{ peers: TileServer[]; notes: string[] }> {
  const peers: TileServer[] = [];
  const notes: string[] = [];
  for (const [start, program] of [
    [startMartin, MARTIN],
    [startTipg, TIPG],
  ] as const) {
    if (existsSync(program)) peers.push(await start(settings));
    else notes.push(`${program} is not there: bench/peers/install.sh`);
  }
  return { peers, notes };
}

/** Ours, which keeps no tile: each is made. */
export async function startTiles(name: string, source: string, port: number): Promise<TileServer> {
  const server = await startGraticule([source], { port, cores: '0,1', env: { SVC_CACHE__TILE_BYTES: '0' } });
  const tiles = `${server.origin}/ogc/tiles/collections`;
  const response = await fetch(tiles);
  const { collections } = (await response.json()) as { collections: { id: string; title: string }[] };
  const ids = new Map(collections.map(({ id, title }) => [title.toLowerCase(), id]));
  return {
    name,
    pid: server.pid,
    encodings: ['mvt', 'mlt'],
    url: (table, z, x, y) => `${tiles}/${ids.get(table)}/tiles/WebMercatorQuad/${z}/${y}/${x}`,
    stop: () => server.stop(),
  };
}
