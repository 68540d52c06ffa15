import { setTimeout as pause } from 'node:timers/promises';
import type { FaultyCluster } from './cluster.js';
import { Reader } from './reader.js';
import { Store } from './store.js';
import { Subscriber } from './subscriber.js';
import { Writer } from './writer.js';

const WRITERS = 6;
const LATE_MS = 180_000;

export interface LoadSetup {
  /** Of a batch, which becomes true as a whole. */
  operations: number;
  /** Between two batches of a writer. */
  pauseMs: number;
  /** Between two requests of a reader. */
  readMs: number;
  /** Number of the layer that is edited. */
  layer: number;
  /** How many there are to be at least. */
  edits: number;
}

/** Six writers, a reader of each server, and subscribers, whatever happens meanwhile. */
export class Load {
  readonly writers: Writer[];
  readonly readers: Reader[];
  readonly subscribers: Subscriber[];
  readonly store = new Store();
  #isOver = false;
  #running: Promise<unknown>;
  #settling = Promise.resolve();

  constructor(
    private readonly cluster: FaultyCluster,
    { operations, pauseMs, readMs, layer, edits }: LoadSetup,
  ) {
    const { servers } = cluster;
    const { store } = this;
    this.writers = Array.from(
      { length: WRITERS },
      (_, i) =>
        new Writer({
          name: `w${i}`,
          servers,
          operations,
          pauseMs,
          named: i % 2 === 0,
          settled: () => this.#settled(),
          store,
        }),
    );
    this.readers = servers.map((server) => new Reader(server, store, readMs));
    this.subscribers = [0, 1, 2, 0].map((first) => new Subscriber(servers, first, layer));
    const isOver = () => this.#isOver;
    this.#running = Promise.all([
      ...this.readers.map((reader) => reader.read(isOver)),
      ...this.writers.map((writer) => writer.write(() => this.#isOver && this.acknowledged >= edits)),
    ]);
  }

  get acknowledged(): number {
    return this.writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }

  /** What no server should have answered. */
  get wrong(): string[] {
    return [...this.readers, ...this.writers].flatMap(({ wrong }) => wrong);
  }

  /** Features that the writers know of, by name. */
  truth(): Map<string, number> {
    const known = this.writers.flatMap(({ features }) => [...features]);
    return new Map(known.filter((one): one is [string, number] => one[1] !== undefined));
  }

  /** Resolves when every writer has gone on since. */
  async goesOn(): Promise<void> {
    const before = this.writers.map(({ counts }) => counts.batches);
    await this.#until(() => this.writers.every(({ counts }, i) => counts.batches >= before[i]! + 2));
  }

  /** Resolves when all subscribers were told of all features that were made by now. */
  async isHeard(): Promise<void> {
    const names = this.writers.flatMap(({ features }) => [...features.keys()]);
    const isBehind = ({ events }: Subscriber) => names.some((name) => !events.has(`insert ${name} 0`));
    await this.#until(() => !this.subscribers.some(isBehind));
  }

  async #until(condition: () => boolean): Promise<void> {
    for (const late = Date.now() + LATE_MS; !condition(); await pause(50)) {
      if (Date.now() < late) continue;
      const counts = [...this.writers, ...this.subscribers].map((one) => JSON.stringify(one.counts));
      throw new Error(`it did not go on:\n${[...counts, ...this.wrong].join('\n')}`);
    }
  }

  /** Lets the writers come to their end. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  close(): void {
    this.#isOver = true;
    for (const subscriber of this.subscribers) subscriber.close();
  }

  /** A database may still commit what a server that died had sent. */
  #settled(): Promise<void> {
    this.#settling = this.#settling.then(() => this.#allCommitted());
    return this.#settling;
  }

  async #allCommitted(): Promise<void> {
    const { database } = this.cluster;
    const query = (sql: string) => database.query(sql, 'geo').catch(() => undefined);
    let time: unknown;
    while (!(time = (await query('SELECT clock_timestamp()::text AS time'))?.[0]?.['time'])) await pause(100);
    const older = `SELECT pid FROM pg_stat_activity WHERE xact_start < '${time}' AND pid <> pg_backend_pid()
      AND backend_type = 'client backend'`;
    while ((await query(older))?.length !== 0) await pause(50);
  }
}
