import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { makeCluster, OWNER, PROGRAMS, unprivileged } from '../support/postgres.js';
import { type Host, type Network, spawnOn } from './network.js';
import { childOf } from './processes.js';

const START_MS = 60_000;
const SETTINGS = [
  'listen_addresses=*',
  'fsync=off',
  'full_page_writes=off',
  'max_connections=200',
  'wal_retrieve_retry_interval=200ms',
];

/** PostgreSQL on one host. */
class Node {
  readonly data: string;
  readonly #log: string;
  readonly #prefix: string[];
  #process: ChildProcess | undefined;

  constructor(
    readonly host: Host,
    private readonly folder: string,
    range: string,
  ) {
    mkdirSync(folder, { recursive: true });
    this.#prefix = [...unprivileged(folder), '--pdeathsig', 'KILL'];
    this.data = join(folder, 'data');
    this.#log = join(folder, 'log');
    this.allow = () =>
      appendFileSync(
        join(this.data, 'pg_hba.conf'),
        `host all all ${range} trust\nhost replication all ${range} trust\n`,
      );
  }

  readonly allow: () => void;

  url(address: string, database: string): string {
    return `postgresql://${OWNER}@${address}/${database}`;
  }

  make(): void {
    makeCluster(this.data, this.#prefix.slice(0, -2));
    this.allow();
  }

  /** Becomes a copy that follows another node. */
  copy({ host: { address } }: Node): void {
    rmSync(this.data, { recursive: true, force: true });
    const from = ['-h', address, '-U', OWNER, '-c', 'fast', '--no-sync', '-R'];
    const command = [...this.#prefix, join(PROGRAMS, 'pg_basebackup'), ...from, '-D', this.data];
    execFileSync('ip', ['netns', 'exec', this.host.namespace, ...command], { cwd: this.folder });
    chmodSync(this.data, 0o700);
  }

  async start(): Promise<void> {
    const out = openSync(this.#log, 'a');
    const settings = [...SETTINGS, `unix_socket_directories=${this.folder}`].flatMap((one) => ['-c', one]);
    const command = [...this.#prefix, join(PROGRAMS, 'postgres'), '-D', this.data, ...settings];
    this.#process = spawnOn(this.host, command, {
      apart: true,
      cwd: this.folder,
      stdio: ['ignore', out, out],
    });
    await this.#untilReady();
  }

  async #untilReady(): Promise<void> {
    for (const late = Date.now() + START_MS; ; await pause(50)) {
      if (await this.query('SELECT 1').catch(() => undefined)) return;
      if (Date.now() > late || this.#process!.exitCode !== null)
        throw new Error(`PostgreSQL did not start:\n${readFileSync(this.#log, 'utf8').slice(-3000)}`);
    }
  }

  /** By the signal that it stops by: SIGINT as `pg_ctl stop` does, SIGKILL as a crash. */
  async stop(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    const process_ = this.#process;
    if (!process_ || process_.exitCode !== null || process_.signalCode !== null) return;
    const ended = once(process_, 'exit');
    process.kill(childOf(process_.pid!), signal);
    await ended;
  }

  async query(sql: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({
      connectionString: this.url(this.host.address, database),
      connectionTimeoutMillis: 5000,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query(sql)).rows ?? [];
    } finally {
      await client.end().catch(() => {});
    }
  }
}

/**
 * PostgreSQL on two hosts: a primary, and a standby without which it acknowledges nothing. Clients reach the primary by an
 * address that moves.
 */
export class Database {
  #primary: Node;
  #standby: Node;

  private constructor(
    private readonly network: Network,
    [first, second]: [Node, Node],
  ) {
    this.#primary = first;
    this.#standby = second;
  }

  static async start(network: Network, folder: string): Promise<Database> {
    const nodes = ['pg-a', 'pg-b'].map(
      (name) => new Node(network.add(name), join(folder, name), network.range),
    );
    const database = new Database(network, nodes as [Node, Node]);
    network.moveAddress(database.#primary.host);
    database.#primary.make();
    await database.#primary.start();
    await database.#follow();
    return database;
  }

  get hosts(): Host[] {
    return [this.#primary.host, this.#standby.host];
  }

  url(database: string): string {
    return this.#primary.url(this.network.movingAddress, database);
  }

  /** Rows of a statement, read of the primary past the servers. */
  query(sql: string, database: string): Promise<Record<string, unknown>[]> {
    return this.#primary.query(sql, database);
  }

  async restart(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    await this.#primary.stop(signal);
    await this.#primary.start();
    // Until then nothing is acknowledged.
    await this.#untilFollowed();
  }

  /** The primary is gone from one moment to the next; the standby takes its place and its address. */
  async failOver(clients: readonly Host[]): Promise<void> {
    const [lost, next] = [this.#primary, this.#standby];
    // A machine without power does not say goodbye.
    this.network.cut(lost.host, [...clients, next.host]);
    await lost.stop('SIGKILL');
    await next.query('SELECT pg_promote()');
    await next.query('ALTER SYSTEM RESET synchronous_standby_names');
    await next.query('SELECT pg_reload_conf()');
    this.#primary = next;
    this.#standby = lost;
    this.network.heal(lost.host, [...clients, next.host]);
    this.network.moveAddress(next.host);
  }

  /** Makes what was lost a standby of the primary. */
  async repair(): Promise<void> {
    await this.#follow();
  }

  async #follow(): Promise<void> {
    this.#standby.copy(this.#primary);
    await this.#standby.start();
    await this.#primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await this.#primary.query('SELECT pg_reload_conf()');
    await this.#untilFollowed();
  }

  async #untilFollowed(): Promise<void> {
    const isFollowed = async () => {
      const [row] = await this.#primary.query('SELECT sync_state FROM pg_stat_replication');
      return row?.['sync_state'] === 'sync';
    };
    while (!(await isFollowed())) await pause(50);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#primary.stop('SIGKILL'), this.#standby.stop('SIGKILL')]);
  }
}
