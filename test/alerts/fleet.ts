import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { alive, engines, family, gateways } from '../support/processes.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';

const TABLE = `
  CREATE TABLE cars (fid serial PRIMARY KEY, geom geometry(Point, 4326), name text);
  CREATE INDEX ON cars USING gist (geom)`;
const START_MS = 120_000;

/** Processes of a server that a test can end. */
export type Part = 'gateway' | 'engine' | 'supervisor';

/** Name of the lease of the evaluator among the leases of receivers. */
const LEADER = `SELECT owner FROM graticule_state.sinks WHERE name = ':alerts'`;

/** Servers that share a state and a table of PostGIS, all on one PostgreSQL. */
export class Fleet {
  readonly servers: TestServer[] = [];
  layerId = 0;
  #geo!: pg.Pool;
  #state!: pg.Pool;
  #env: Record<string, string> = {};

  private constructor(readonly postgres: TestPostgres) {}

  /** `sql`: more tables. */
  static async start(size: number, env: Record<string, string>, sql = ''): Promise<Fleet> {
    const fleet = new Fleet(await startPostgres(['max_connections=300']));
    try {
      const place = await makeDatabase(fleet.postgres.url);
      fleet.#geo = openPool(fleet.postgres.url);
      fleet.#state = openPool(place);
      await fleet.#geo.query(`${TABLE}; ${sql}`);
      fleet.#env = { SVC_STATE__URL: place, SVC_REMOTE__ALLOW: '127.0.0.1', ...env };
      for (let i = 0; i < size; i++) fleet.servers.push(await fleet.#startServer());
      fleet.layerId = await fleet.findLayer('cars');
      return fleet;
    } catch (error) {
      await fleet.stop();
      throw error;
    }
  }

  #startServer(former?: TestServer): Promise<TestServer> {
    const place = former ? { dataDir: former.dataDir, port: Number(new URL(former.url).port) } : {};
    return startServerProcess({ sources: [this.postgres.url], env: this.#env, ...place });
  }

  async findLayer(table: string): Promise<number> {
    const response = await fetch(`${this.servers[0]!.url}/api/v1/streaming/features/capabilities`);
    const { layers } = (await response.json()) as { layers: { name: string; layerId: number }[] };
    return layers.find(({ name }) => name === table)!.layerId;
  }

  /** Rows of the table and of its outbox. Undefined while PostgreSQL does not run. */
  async geo<T extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<T[]> {
    return (await this.#geo.query<T>(sql, values)).rows;
  }

  async state<T extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<T[]> {
    return (await this.#state.query<T>(sql, values)).rows;
  }

  /** Response of the administration API of one server. */
  async admin(method: string, path: string, body?: unknown, server = this.servers[0]!) {
    const response = await fetch(`${server.url}/api/v1/admin${path}`, {
      method,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
    const document = (await response.json()) as any;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(document)}`);
    return document.data ?? document;
  }

  async addZone(wkt: string, zoneName = 'zone'): Promise<number> {
    return (await this.admin('POST', '/alerts/zones', { zoneName, serviceId: 'default', wkt })).zoneId;
  }

  async addRule(rule: Record<string, unknown>): Promise<number> {
    const more = { ruleName: 'rule', serviceId: 'default', layerId: this.layerId };
    return (await this.admin('POST', '/alerts/rules', { ...more, ...rule })).ruleId;
  }

  /** Waits until the first comparisons of new rules have ended. */
  async untilCompared(): Promise<void> {
    const sql = 'SELECT id FROM graticule_state.alert_rules WHERE scan IS NOT NULL AND problem IS NULL';
    while ((await this.state(sql)).length > 0) await pause(50);
  }

  /** Server whose process evaluates the rules now. */
  async findLeader(): Promise<TestServer | undefined> {
    const [row] = await this.state<{ owner: string | null }>(LEADER);
    const pid = Number(row?.owner?.split(':')[1]);
    return this.servers.find((server) => family(server.process.pid!).includes(pid));
  }

  /** Ends a process as a crash does. The server is whole again when this resolves. False: there was no such process. */
  async crash(server: TestServer, part: Part): Promise<boolean> {
    const { pid } = server.process;
    const children = family(pid!);
    const [victim] = part === 'supervisor' ? [pid!] : (part === 'gateway' ? gateways : engines)(pid!);
    if (victim === undefined || !alive(victim)) return false;
    process.kill(victim, 'SIGKILL');
    if (part === 'supervisor') {
      while (children.some(alive)) await pause(50);
      this.servers[this.servers.indexOf(server)] = await this.#startServer(server);
    } else await untilReady(server);
    return true;
  }

  /** Does something while no server runs. */
  async without(work: () => Promise<void>): Promise<void> {
    const former = [...this.servers];
    for (const server of former) await server.kill();
    await work();
    for (const [at, server] of former.entries()) this.servers[at] = await this.#startServer(server);
  }

  /** Stops the processes of a server without a word, as a machine that swaps. */
  pause(server: TestServer): () => void {
    const pids = family(server.process.pid!);
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    return () => {
      for (const pid of pids) if (alive(pid)) process.kill(pid, 'SIGCONT');
    };
  }

  async restartPostgres(): Promise<void> {
    await this.postgres.halt();
    await this.postgres.start();
    for (const server of this.servers) await untilReady(server);
  }

  log(): string {
    return this.servers.map((server) => `${server.url}\n${server.log()}`).join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    await Promise.all([this.#geo?.end(), this.#state?.end()]);
    await this.postgres.stop();
  }
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on('error', () => {});
  return pool;
}

async function untilReady(server: TestServer): Promise<void> {
  for (const late = Date.now() + START_MS; ; await pause(50)) {
    const path = `${server.url}/ogc/features/collections/cars?f=json`;
    const response = await fetch(path, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    if (response?.ok) return;
    if (Date.now() > late) throw new Error(`the server was not ready in time:\n${server.log().slice(-5000)}`);
  }
}
