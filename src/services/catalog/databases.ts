import { setTimeout } from 'node:timers/promises';
import { DEFAULT_TABLES, type TableRule } from '../../core/catalog/table-rule.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { withoutPassword } from '../../core/sources/database-url.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { DiscoveredDatabase, Patience, VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import { errorRecovery } from '../telemetry/process-metrics.js';

/** Interval for pinging databases, in milliseconds. */
const CHECK_MS = 2000;
const PING_DEADLINE_MS = 5000;
const DISCOVER_DEADLINE_MS = 60_000;
/** The first reading of the tables skips slow views. A second reading in the background has time for them. */
const QUICK: Patience = { tableMs: 1000, allMs: 1500 };
const PATIENT: Patience = { tableMs: 30_000, allMs: 540_000, isFinal: true };
const PATIENT_DEADLINE_MS = 600_000;
const STATUS_MS = 2000;
/** A check that is younger is taken for the state of now. */
const FRESH_MS = 500;

interface DatabaseState {
  /** Contents at the last successful reading. */
  contents?: DiscoveredDatabase;
  up: boolean;
  /** Reason why the database is down. */
  reason: string;
  /** True if the tables must be read again, for example because the database was down at the last reading. */
  awaited: boolean;
  checkedAt: number;
  /** Time of the first failure since the database last responded. */
  downSince: number;
  checking?: Promise<void>;
  /** True while its tables are read for longer than a start waits. */
  isSlow: boolean;
  /** Contents that were found after the wait. The next reading uses them. */
  late?: DiscoveredDatabase;
  /** True during the second reading, of slow views. */
  isLookedAt: boolean;
  /** Views that were also too slow for the second reading. */
  readonly slowViews: Map<string, string>;
}

export interface DatabaseStatus {
  /** The database's URL without passwords. */
  name: string;
  up: boolean;
  /** Whether a ping has no response yet. */
  isLate: boolean;
  /** Whether collections of it are published. */
  published: boolean;
  reason: string;
}

/**
 * The databases among the sources: their contents and whether they respond. A database that is down keeps its
 * collections, whose requests fail until it is back. A database that was down at the start is published when it comes
 * up.
 */
export class Databases {
  readonly #databases = new Map<string, DatabaseState>();
  /** URLs of databases that operators connected. Their layers exist whether the database responds or not. */
  #connected: ReadonlySet<string> = new Set();
  readonly #pools: Pools;
  #tables: TableRule = DEFAULT_TABLES;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    pools: Pools,
    /** Milliseconds for which a start or a reload waits for the tables of a database that has not listed any yet. */
    private readonly firstMs: number,
  ) {
    this.#pools = pools;
  }

  /**
   * Removes databases that are no longer sources. `tables` selects the tables that are listed in the remaining
   * databases from now on.
   */
  keep(urls: readonly string[], tables = DEFAULT_TABLES): void {
    this.#tables = tables;
    for (const url of this.#databases.keys())
      if (!urls.includes(url) && !this.#connected.has(url)) this.#databases.delete(url);
  }

  /**
   * Monitors these databases, which operators connected, in addition to the sources. Earlier connected databases are
   * removed.
   */
  connect(urls: readonly string[]): void {
    for (const url of this.#connected) if (!urls.includes(url)) this.#databases.delete(url);
    this.#connected = new Set(urls);
    for (const url of urls) if (!this.#databases.has(url)) this.#databases.set(url, newState());
  }

  /** Contents of a database. While it is down, the last known contents. Rejects with `TaskFailure`. */
  async discover(url: string): Promise<DiscoveredDatabase> {
    const database = this.#databases.get(url) ?? newState();
    this.#databases.set(url, database);
    const { late } = database;
    if (late) {
      database.late = undefined;
      database.contents = late;
      this.#lookLonger(url, database);
      return late;
    }
    if (database.isSlow) throw slow();
    try {
      const options = { deadlineMs: DISCOVER_DEADLINE_MS };
      const reading = this.#pools.run(
        'vector.discover',
        { database: url, patience: QUICK, tables: this.#tables },
        options,
      );
      const found = await (database.contents ? reading : this.#first(database, reading));
      database.contents = withReasons(withSlowViews(found, database.contents), database.slowViews);
      note(database, undefined);
      this.#lookLonger(url, database);
      return database.contents;
    } catch (error) {
      if (database.isSlow) throw error;
      note(database, error);
      database.awaited = !database.up;
      if (database.contents && !database.up) return database.contents;
      throw error;
    }
  }

  /**
   * Waits a short time for the first reading, because views that are slow to count must not delay other sources. A
   * later result is kept.
   */
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
          // The tables are read again when the database responds to pings.
          database.awaited = true;
        },
      )
      .finally(() => {
        database.isSlow = false;
      });
    throw slow();
  }

  /** Reads the views that were too slow for the first look; the next reading takes what is found. */
  #lookLonger(url: string, database: DatabaseState): void {
    const slow = slowIn(database.contents!).filter((layer) => !database.slowViews.has(layer));
    if (slow.length === 0 || database.isLookedAt) return;
    database.isLookedAt = true;
    this.#pools
      .run(
        'vector.discover',
        { database: url, patience: PATIENT, tables: this.#tables },
        { deadlineMs: PATIENT_DEADLINE_MS },
      )
      .then(
        (found) => {
          for (const { layer, isSlow, reason } of found.problems)
            if (isSlow && layer !== undefined) database.slowViews.set(layer, reason);
          database.late = withSlowViews(found, database.contents);
          database.awaited = true;
        },
        // The next reload tries again.
        () => undefined,
      )
      .finally(() => {
        database.isLookedAt = false;
      });
  }

  /**
   * Monitors the databases. Calls `returned` for a database whose tables must be read again, and `reconnected` for
   * one that operators connected.
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

  /** State of each database. If a database takes longer than `patienceMs` to respond, its last known state. */
  async status(patienceMs = STATUS_MS): Promise<DatabaseStatus[]> {
    const checks = Promise.all([...this.#databases].map(([url, database]) => this.#check(url, database)));
    const late = new AbortController();
    await Promise.race([checks, setTimeout(patienceMs, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    return [...this.#databases].map(([url, { up, reason, contents, checking }]) => ({
      name: withoutPassword(url),
      up,
      reason,
      isLate: checking !== undefined,
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
  const times = { checkedAt: 0, downSince: 0 };
  return {
    up: true,
    reason: '',
    awaited: false,
    ...times,
    isSlow: false,
    isLookedAt: false,
    slowViews: new Map(),
  };
}

const slowIn = ({ problems }: DiscoveredDatabase): string[] =>
  problems.flatMap(({ layer, isSlow }) => (isSlow && layer !== undefined ? [layer] : []));

/** The contents found, with the former state of views that were read before and are too slow for this reading. */
function withSlowViews(
  found: DiscoveredDatabase,
  former: DiscoveredDatabase | undefined,
): DiscoveredDatabase {
  const slow = new Set(slowIn(found));
  if (slow.size === 0 || !former) return found;
  const findName = ({ source: { schema, table, geometryColumn } }: VectorLayerInfo) =>
    [`${schema}.${table}`, `${schema}.${table}.${geometryColumn}`].find((name) => slow.has(name));
  const views = former.layers.filter((layer) => findName(layer) !== undefined);
  const names = new Set(views.map(findName));
  const problems = found.problems.filter(({ layer, isSlow }) => !isSlow || !names.has(layer));
  return { ...found, layers: [...found.layers, ...views], problems };
}

/** Gives views that a longer reading did not finish either the reason of that reading. */
function withReasons(found: DiscoveredDatabase, reasons: ReadonlyMap<string, string>): DiscoveredDatabase {
  if (reasons.size === 0) return found;
  const problems = found.problems.map((one) => {
    const reason = one.isSlow && one.layer !== undefined ? reasons.get(one.layer) : undefined;
    return reason === undefined ? one : { ...one, reason };
  });
  return { ...found, problems };
}

function slow(): TaskFailure {
  return new TaskFailure(
    'deadline-exceeded',
    'The database did not list its tables in time. They will be published when it has.',
  );
}

/** Records the result of a request. Failures that do not concern the database leave its state unchanged. */
function note(database: DatabaseState, error: unknown): void {
  if (error === undefined) {
    if (!database.up) errorRecovery.cell('database').observe(performance.now() - database.downSince);
    database.up = true;
  } else if (error instanceof TaskFailure && DOWN.has(error.code)) {
    if (database.up) database.downSince = performance.now();
    database.up = false;
    database.reason = error.code === 'store-unavailable' ? 'does not respond' : 'did not respond in time';
  }
  database.checkedAt = performance.now();
}

const DOWN: ReadonlySet<string> = new Set(['store-unavailable', 'deadline-exceeded']);
