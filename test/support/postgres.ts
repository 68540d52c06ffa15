import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** A PostgreSQL server with PostGIS of a test's own. */
export interface TestPostgres {
  /** Connection URL for `pg`, libpq and GDAL: a Unix socket; no TCP port is open. */
  url: string;
  /** Stops the server and removes all it wrote. */
  stop(): Promise<void>;
}

const VERSION = 15;
const PROGRAMS = `/usr/lib/postgresql/${VERSION}/bin`;
const POSTGIS = `/usr/share/postgresql/${VERSION}/extension/postgis.control`;
const INSTALL = `apt-get install --no-install-recommends postgresql-${VERSION} postgresql-${VERSION}-postgis-3`;
const START_MS = 30_000;
const OWNER = 'graticule';

/**
 * Runs the server given as arguments until the input closes, which it also does when the test process dies in
 * any way. Then stops the server at once and removes its folder.
 */
const KEEPER = `
folder=$1; shift
"$@" >"$folder/log" 2>&1 &
server=$!
read -r _
kill -INT $server
wait $server
rm -rf "$folder"`;

/** Starts a server in a fresh folder below the temporary directory. Rejects when PostGIS is not installed. */
export async function startPostgres(): Promise<TestPostgres> {
  if (!existsSync(join(PROGRAMS, 'postgres')) || !existsSync(POSTGIS))
    throw new Error(`PostgreSQL ${VERSION} with PostGIS is not installed: ${INSTALL}`);
  const folder = mkdtempSync(join(tmpdir(), 'graticule-pg-'));
  const data = join(folder, 'data');
  const prefix = unprivileged(folder);
  try {
    run(
      [
        ...prefix,
        join(PROGRAMS, 'initdb'),
        '-D',
        data,
        '-U',
        OWNER,
        '-A',
        'trust',
        '-E',
        'UTF8',
        '--no-locale',
        '--no-sync',
      ],
      folder,
    );
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'synchronous_commit=off',
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
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
  const url = `postgresql://${OWNER}@localhost/postgres?host=${encodeURIComponent(folder)}`;
  try {
    await untilReady(url, join(folder, 'log'));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

/** PostgreSQL refuses to run as root: then it runs as the user of the Debian package, who gets the folder. */
function unprivileged(folder: string): string[] {
  if (process.getuid?.() !== 0) return [];
  const number = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  chownSync(folder, number('-u'), number('-g'));
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'];
}

function run([program, ...args]: string[], cwd: string): void {
  execFileSync(program!, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
}

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
      await new Promise((resolve) => setTimeout(resolve, 100));
    } finally {
      await client.end().catch(() => {});
    }
  }
}
