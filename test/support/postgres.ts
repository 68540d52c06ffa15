import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { RUN_VARIABLE } from './run.js';

/** A PostgreSQL server with PostGIS of a test's own. */
export interface TestPostgres {
  /** Connection URL for `pg`, libpq and GDAL: a Unix socket; no TCP port is open. */
  url: string;
  /** Ends the server as a power cut of its clients would look; the data stays. */
  halt(): Promise<void>;
  /** Starts the halted server again. */
  start(): Promise<void>;
  /** Stops the server and removes all it wrote. */
  stop(): Promise<void>;
}

/** Debian has one version: 12 has 15, 13 has 17. */
const VERSION = [17, 15].find((version) => existsSync(`/usr/lib/postgresql/${version}`)) ?? 17;
/** Folder of the programs `postgres`, `pg_ctl` and the like. */
export const PROGRAMS = `/usr/lib/postgresql/${VERSION}/bin`;
const POSTGIS = `/usr/share/postgresql/${VERSION}/extension/postgis.control`;
const INSTALL = `apt-get install --no-install-recommends postgresql-${VERSION} postgresql-${VERSION}-postgis-3`;
const START_MS = 30_000;
/** The superuser of each cluster. */
export const OWNER = 'graticule';

/**
 * Runs the server given as arguments; `halt` and `start` on its input end it and start it again. When the input
 * closes, which it also does when the test process dies in any way, it stops the server at once and removes its folder.
 */
const KEEPER = `
folder=$1; shift
start() { "$@" >>"$folder/log" 2>&1 & server=$!; }
halt() { [ -z "$server" ] || { kill -INT $server; wait $server; server=; }; }
start "$@"
while read -r word; do
  case $word in
    halt) halt ;;
    start) start "$@" ;;
  esac
done
halt
rm -rf "$folder"`;

/**
 * Starts a server in a fresh folder below the temporary directory, with more settings such as `max_connections=10`.
 * Rejects when PostGIS is not installed.
 */
export async function startPostgres(extra: string[] = []): Promise<TestPostgres> {
  if (!existsSync(join(PROGRAMS, 'postgres')) || !existsSync(POSTGIS))
    throw new Error(`PostgreSQL ${VERSION} with PostGIS is not installed: ${INSTALL}`);
  const folder = mkdtempSync(join(tmpdir(), 'graticule-pg-'));
  const data = join(folder, 'data');
  const prefix = unprivileged(folder);
  try {
    makeCluster(data, prefix);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'synchronous_commit=off',
    // Compiling costs more than it saves in queries of tests.
    'jit=off',
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
    ...extra,
  ];
  const server = [...prefix, join(PROGRAMS, 'postgres'), '-D', data, ...settings.flatMap((s) => ['-c', s])];
  // A process group of its own: an interrupt from the terminal must not end the keeper before its work.
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'keeper', folder, ...server], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(keeper, 'exit');
  const stop = async () => {
    keeper.stdin.end();
    await ended;
  };
  const port = extra.find((setting) => setting.startsWith('port='));
  const url = `postgresql://${OWNER}@localhost/postgres?host=${encodeURIComponent(folder)}${port ? `&${port}` : ''}`;
  try {
    await untilReady(url, join(folder, 'log'));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    stop,
    async halt() {
      keeper.stdin.write('halt\n');
      while (existsSync(join(data, 'postmaster.pid'))) await pause();
    },
    async start() {
      keeper.stdin.write('start\n');
      await untilReady(url, join(folder, 'log'));
    },
  };
}

/** PostgreSQL refuses to run as root: then it runs as the user of the Debian package, who gets the folder. */
export function unprivileged(folder: string): string[] {
  if (process.getuid?.() !== 0) return [];
  const number = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  chownSync(folder, number('-u'), number('-g'));
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'];
}

/** A cluster whose database has PostGIS: the first of a run is made, the others are copies of it. */
export function makeCluster(data: string, prefix: string[]): void {
  const templates = process.env[RUN_VARIABLE];
  const template = templates && join(templates, 'cluster');
  if (template && existsSync(template)) return run(['cp', '-a', template, data]);
  const choices = ['-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync', '--wal-segsize=1'];
  run([...prefix, join(PROGRAMS, 'initdb'), '-D', data, '-U', OWNER, ...choices]);
  const single = [...prefix, join(PROGRAMS, 'postgres'), '--single', '-F', '-D', data, 'postgres'];
  run(single, 'CREATE EXTENSION postgis');
  // A third of the files is the log of what was done so far.
  run([...prefix, join(PROGRAMS, 'pg_resetwal'), '-D', data]);
  if (template) keepTemplate(data, template);
}

function keepTemplate(data: string, template: string): void {
  const own = `${template}-${process.pid}`;
  run(['cp', '-a', data, own]);
  try {
    renameSync(own, template);
  } catch {
    // Another test file was faster.
    rmSync(own, { recursive: true });
  }
}

function run([program, ...args]: string[], input = ''): void {
  execFileSync(program!, args, { cwd: tmpdir(), input, stdio: ['pipe', 'ignore', 'pipe'] });
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 100));

async function untilReady(url: string, log: string): Promise<void> {
  const until = Date.now() + START_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.query('CREATE EXTENSION IF NOT EXISTS postgis');
      return;
    } catch (error) {
      if (Date.now() > until) {
        const lines = existsSync(log) ? readFileSync(log, 'utf8') : '';
        throw new Error(`PostgreSQL was not ready in time: ${String(error)}\n${lines}`);
      }
      await pause();
    } finally {
      await client.end().catch(() => {});
    }
  }
}
