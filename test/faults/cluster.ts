import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from './database.js';
import { type Host, Network, spawnOn } from './network.js';
import { FaultyServer } from './server.js';

const FOLDERS = 'graticule-faults-';
/** The clock of the last server is ahead; the loader knows what `$LIB` is. */
const CLOCK_AHEAD = [
  'env',
  'LD_PRELOAD=/usr/$LIB/faketime/libfaketimeMT.so.1',
  'FAKETIME=+300s',
  'FAKETIME_DONT_FAKE_MONOTONIC=1',
];

/** Name of two features that are there from the beginning, so that the extent is known; nobody changes them. */
export const CORNER = 'corner';
const TABLE = `
  CREATE EXTENSION IF NOT EXISTS postgis;
  CREATE TABLE spots (fid uuid PRIMARY KEY, geom geometry(Point, 4326), name text NOT NULL, version integer NOT NULL);
  CREATE INDEX ON spots USING gist (geom); CREATE INDEX ON spots (name);
  INSERT INTO spots SELECT gen_random_uuid(), ST_SetSRID(ST_MakePoint(n, n), 4326), '${CORNER}', 0
  FROM (VALUES (0), (10)) AS v(n)`;

/** Three servers, PostgreSQL with a standby, and Redis, each on a host of its own. */
export class FaultyCluster {
  readonly network: Network;
  readonly #folder: string;
  #redis: ChildProcess | undefined;
  database!: Database;
  redis!: Host;
  servers!: FaultyServer[];

  constructor() {
    removeLeftovers();
    this.network = new Network();
    this.#folder = mkdtempSync(join(tmpdir(), `${FOLDERS}${process.pid}-`));
    // PostgreSQL runs as another user.
    execFileSync('chmod', ['755', this.#folder]);
  }

  /** `env` are more settings of all servers. */
  async start(env: Record<string, string>): Promise<void> {
    const { network } = this;
    this.database = await Database.start(network, this.#folder);
    await this.database.query('CREATE DATABASE state TEMPLATE template0', 'postgres');
    await this.database.query('CREATE DATABASE geo TEMPLATE template0', 'postgres');
    await this.database.query(TABLE, 'geo');
    this.redis = network.add('redis');
    const settings = ['--bind', '0.0.0.0', '--protected-mode', 'no', '--dir', this.#folder, '--save', ''];
    this.#redis = spawnOn(this.redis, ['redis-server', ...settings], { stdio: 'ignore', apart: true });
    const all = {
      SVC_STATE__URL: this.database.url('state'),
      SVC_CACHE__REDIS__URL: `redis://${this.redis.address}:6379`,
      SVC_REMOTE__ALLOW: network.testAddress,
      ...env,
    };
    const sources = [this.database.url('geo'), 'demo/data/world_map.gpkg'];
    this.servers = ['one', 'two', 'three'].map((name, i) => {
      const launcher = i === 2 ? CLOCK_AHEAD : [];
      const folder = join(this.#folder, name);
      return new FaultyServer({ host: network.add(name), folder, sources, env: all, launcher });
    });
    await Promise.all(this.servers.map((server) => server.start()));
  }

  /** The databases of all. */
  get databases(): Host[] {
    return this.database.hosts;
  }

  async stop(): Promise<void> {
    for (const server of this.servers ?? []) await server.kill();
    await this.database?.stop();
    this.#redis?.kill('SIGKILL');
    this.network.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Folders of tests that died. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${FOLDERS}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(tmpdir(), name), { recursive: true });
  }
}
