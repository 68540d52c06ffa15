import { setTimeout } from 'node:timers/promises';
import { withoutPassword } from '../core/database-url.js';
import { TaskFailure } from '../core/failure.js';
import type { Pools } from '../core/tasks.js';
import type { DiscoveredDatabase } from '../core/vector-tasks.js';
import { errorRecovery } from './telemetry/process-metrics.js';

/** How often databases are asked whether they answer. */
const CHECK_MS = 2000;
const PING_DEADLINE_MS = 5000;
const DISCOVER_DEADLINE_MS = 60_000;
/** Milliseconds for which a start or a reload waits for the tables of a database that has not listed any yet. */
const FIRST_MS = 3000;
const STATUS_MS = 2000;
/** A check that is younger is taken for the state of now. */
const FRESH_MS = 500;

interface DatabaseState {
  /** What was found when the database answered last. */
  contents?: DiscoveredDatabase;
  up: boolean;
  /** Why it is down. */
  reason: string;
  /** True when it was down as its tables were asked for: they are to be asked for again. */
  awaited: boolean;
  checkedAt: number;
  /** When it went down. */
  downSince: number;
  checking?: Promise<void>;
  /** True while its tables are read for longer than a start waits. */
  isSlow: boolean;
  /** What was found after that wait; taken by the next reading. */
  late?: DiscoveredDatabase;
}

export interface DatabaseStatus {
  /** The database's URL without passwords. */
  name: string;
  up: boolean;
  /** Whether collections of it are published. */
  published: boolean;
  reason: string;
}

/**
 * The databases among the sources: what they hold, and whether they answer. One that is down keeps its collections,
 * whose requests fail until it is back; one that was down from the start is published when it comes up.
 */
export class Databases {
  readonly #databases = new Map<string, DatabaseState>();
  /** Those that operators connected: their layers are there whether they answer or not. */
  #connected: ReadonlySet<string> = new Set();
  readonly #pools: Pools;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    pools: Pools,
    private readonly firstMs = FIRST_MS,
  ) {
    this.#pools = pools;
  }

  /** Forgets databases that are no sources any more. */
  keep(urls: readonly string[]): void {
    for (const url of this.#databases.keys())
      if (!urls.includes(url) && !this.#connected.has(url)) this.#databases.delete(url);
  }

  /** Looks after these databases too, which operators connected, and after no others of that kind. */
  connect(urls: readonly string[]): void {
    for (const url of this.#connected) if (!urls.includes(url)) this.#databases.delete(url);
    this.#connected = new Set(urls);
    for (const url of urls) if (!this.#databases.has(url)) this.#databases.set(url, newState());
  }

  /** What a database holds; while it is down, what it held. Rejects with `TaskFailure`. */
  async discover(url: string): Promise<DiscoveredDatabase> {
    const database = this.#databases.get(url) ?? newState();
    this.#databases.set(url, database);
    const { late } = database;
    if (late) {
      database.late = undefined;
      database.contents = late;
      return late;
    }
    if (database.isSlow) throw slow();
    try {
      const options = { deadlineMs: DISCOVER_DEADLINE_MS };
      const reading = this.#pools.run('vector.discover', { database: url }, options);
      database.contents = await (database.contents ? reading : this.#first(database, reading));
      note(database, undefined);
      return database.contents;
    } catch (error) {
      if (database.isSlow) throw error;
      note(database, error);
      database.awaited = !database.up;
      if (database.contents && !database.up) return database.contents;
      throw error;
    }
  }

  /** Waits a short time: views that are slow to count must not delay other sources. What comes later is kept. */
  async #first(database: DatabaseState, reading: Promise<DiscoveredDatabase>): Promise<DiscoveredDatabase> {
    const end = new AbortController();
    const timer = setTimeout(this.firstMs, undefined, { signal: end.signal }).catch(() => undefined);
    const contents = await Promise.race([reading, timer]).finally(() => end.abort());
    if (contents) return contents;
    database.isSlow = true;
    reading
      .then(
        (found) => {
          note(database, undefined);
          database.late = found;
          database.awaited = true;
        },
        (error: unknown) => {
          note(database, error);
          // It is asked again when it answers pings.
          database.awaited = true;
        },
      )
      .finally(() => {
        database.isSlow = false;
      });
    throw slow();
  }

  /**
   * Looks after the databases; `returned` is called for one whose tables are to be asked for again, `reconnected` for one
   * that operators connected.
   */
  watch(returned: (name: string) => void, reconnected: () => void = () => {}): void {
    this.#timer = setInterval(() => void this.#look(returned, reconnected), CHECK_MS).unref();
  }

  async #look(returned: (name: string) => void, reconnected: () => void): Promise<void> {
    for (const [url, database] of this.#databases) {
      const wasUp = database.up;
      await this.#check(url, database);
      if (!wasUp && database.up && this.#connected.has(url)) reconnected();
      if (!database.awaited || !database.up) continue;
      database.awaited = false;
      returned(withoutPassword(url));
    }
  }

  /** The state of every database now; of one that takes long to answer, the last that is known. */
  async status(): Promise<DatabaseStatus[]> {
    const checks = Promise.all([...this.#databases].map(([url, database]) => this.#check(url, database)));
    const late = new AbortController();
    await Promise.race([checks, setTimeout(STATUS_MS, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    return [...this.#databases].map(([url, { up, reason, contents }]) => ({
      name: withoutPassword(url),
      up,
      reason,
      published: contents !== undefined || this.#connected.has(url),
    }));
  }

  #check(url: string, database: DatabaseState): Promise<void> {
    if (performance.now() - database.checkedAt < FRESH_MS) return Promise.resolve();
    database.checking ??= this.#pools
      .run('vector.ping', { database: url }, { deadlineMs: PING_DEADLINE_MS })
      .then(
        () => note(database, undefined),
        (error: unknown) => note(database, error),
      )
      .finally(() => {
        database.checking = undefined;
      });
    return database.checking;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function newState(): DatabaseState {
  return { up: true, reason: '', awaited: false, checkedAt: 0, downSince: 0, isSlow: false };
}

function slow(): TaskFailure {
  return new TaskFailure(
    'deadline-exceeded',
    'The database has not listed its tables in time. They are published as soon as it has.',
  );
}

/** Failures that say nothing of the database leave its state as it was. */
function note(database: DatabaseState, error: unknown): void {
  if (error === undefined) {
    if (!database.up) errorRecovery.cell('database').observe(performance.now() - database.downSince);
    database.up = true;
  } else if (error instanceof TaskFailure && DOWN.has(error.code)) {
    if (database.up) database.downSince = performance.now();
    database.up = false;
    database.reason = error.code === 'store-unavailable' ? 'does not answer' : 'does not answer in time';
  }
  database.checkedAt = performance.now();
}

const DOWN: ReadonlySet<string> = new Set(['store-unavailable', 'deadline-exceeded']);
