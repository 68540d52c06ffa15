import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Other servers of features, as their documentation says to run them, on one PostGIS table. */

export interface Peer {
  name: string;
  /** A page of the table as GeoJSON. */
  page(limit: number, offset: number): string;
  pid: number;
  stop(): void;
}

export interface Table {
  /** libpq URL, by Unix socket. */
  url: string;
  schema: string;
  table: string;
  id: string;
  geometry: string;
}

const HOME = resolve('.cache/peers');
const START_MS = 60_000;

async function started(name: string, child: ChildProcess, page: Peer['page'], folder: string): Promise<Peer> {
  const end = Date.now() + START_MS;
  const stop = () => {
    child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  };
  for (;;) {
    const ok = await fetch(page(1, 0)).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return { name, page, pid: child.pid!, stop };
    if (child.exitCode !== null || Date.now() > end) {
      stop();
      throw new Error(`${name} does not answer`);
    }
    await new Promise((resolved) => setTimeout(resolved, 200));
  }
}

function run(core: number, program: string, args: string[], env: Record<string, string>): ChildProcess {
  return spawn('taskset', ['-c', String(core), program, ...args], {
    stdio: ['ignore', 'ignore', process.env['PEER_LOG'] ? 'inherit' : 'ignore'],
    env: { ...process.env, ...env },
  });
}

export async function pgFeatureserv(table: Table, port: number, core: number): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-peer-'));
  const config = join(folder, 'pg_featureserv.toml');
  writeFileSync(
    config,
    `[Server]\nHttpHost = "127.0.0.1"\nHttpPort = ${port}\nAssetsPath = "${HOME}/featureserv-assets"\n[Paging]\nLimitMax = 2000\n`,
  );
  const child = run(core, `${HOME}/pg_featureserv`, ['-c', config], { DATABASE_URL: table.url });
  const items = `http://127.0.0.1:${port}/collections/${table.schema}.${table.table}/items.json`;
  return started(
    'pg_featureserv',
    child,
    (limit, offset) => `${items}?limit=${limit}&offset=${offset}&sortby=${table.id}`,
    folder,
  );
}

export async function tiPg(table: Table, port: number, core: number): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-peer-'));
  const args = ['-m', 'uvicorn', 'tipg.main:app', '--port', String(port), '--log-level', 'error'];
  // Its driver takes a host in the authority only.
  const { username, pathname } = new URL(table.url);
  const url = `postgresql://${username}@127.0.0.1:5432${pathname}`;
  const child = run(core, `${HOME}/tipg/bin/python`, args, { DATABASE_URL: url });
  const items = `http://127.0.0.1:${port}/collections/${table.schema}.${table.table}/items`;
  return started(
    'TiPg',
    child,
    (limit, offset) => `${items}?f=geojson&limit=${limit}&offset=${offset}`,
    folder,
  );
}

export async function pygeoapi(table: Table, port: number, core: number): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-peer-'));
  const config = join(folder, 'config.yml');
  const openapi = join(folder, 'openapi.yml');
  writeFileSync(config, JSON.stringify(pygeoapiConfig(table, port)));
  const env = { PYGEOAPI_CONFIG: config, PYGEOAPI_OPENAPI: openapi };
  spawnSync(`${HOME}/pygeoapi/bin/pygeoapi`, ['openapi', 'generate', config, '--output-file', openapi], {
    env: { ...process.env, ...env },
  });
  const args = ['-w', '1', '-b', `127.0.0.1:${port}`, 'pygeoapi.flask_app:APP'];
  const child = run(core, `${HOME}/pygeoapi/bin/gunicorn`, args, env);
  const items = `http://127.0.0.1:${port}/collections/features/items`;
  return started(
    'pygeoapi',
    child,
    (limit, offset) => `${items}?f=json&limit=${limit}&offset=${offset}`,
    folder,
  );
}

function pygeoapiConfig({ url, schema, table, id, geometry }: Table, port: number): object {
  const { searchParams, pathname, username } = new URL(url);
  const data = {
    host: searchParams.get('host'),
    dbname: pathname.slice(1),
    user: username,
    password: 'unused',
    search_path: [schema],
  };
  const text = { title: 'bench', description: 'bench', keywords: ['bench'], url: 'http://localhost' };
  return {
    server: {
      bind: { host: '127.0.0.1', port },
      url: `http://127.0.0.1:${port}`,
      mimetype: 'application/json; charset=UTF-8',
      encoding: 'utf-8',
      languages: ['en-US'],
      limits: { default_items: 10, max_items: 2000 },
      map: { url: 'http://localhost/{z}/{x}/{y}', attribution: 'none' },
    },
    logging: { level: 'ERROR' },
    metadata: {
      identification: { ...text, keywords_type: 'theme', terms_of_service: 'none' },
      license: { name: 'none', url: 'http://localhost' },
      provider: { name: 'bench', url: 'http://localhost' },
      contact: { name: 'bench', email: 'bench@localhost' },
    },
    resources: {
      features: {
        type: 'collection',
        ...text,
        links: [],
        extents: {
          spatial: { bbox: [-180, -90, 180, 90], crs: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84' },
        },
        providers: [{ type: 'feature', name: 'PostgreSQL', data, id_field: id, table, geom_field: geometry }],
      },
    },
  };
}

const MILLISECONDS_PER_TICK = 10;

interface Stat {
  pid: number;
  parent: number;
  cpuMs: number;
}

function stats(): Stat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const path = `/proc/${name}/stat`;
      if (!existsSync(path)) return [];
      try {
        const text = readFileSync(path, 'utf8');
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
        // Own time, and that of children which have ended.
        const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
        return [{ pid: Number(name), parent: Number(fields[1]), cpuMs: ticks * MILLISECONDS_PER_TICK }];
      } catch {
        return [];
      }
    });
}

/** CPU milliseconds of a process and all below it. */
export function treeCpuMs(root: number): number {
  const all = stats();
  let sum = 0;
  for (const wave = [root]; wave.length > 0; ) {
    const pid = wave.pop()!;
    sum += all.find((stat) => stat.pid === pid)?.cpuMs ?? 0;
    wave.push(...all.filter((stat) => stat.parent === pid).map((stat) => stat.pid));
  }
  return sum;
}

/** The process that started another: the supervisor of a gateway. */
export function parentOf(pid: number): number {
  return stats().find((stat) => stat.pid === pid)!.parent;
}
