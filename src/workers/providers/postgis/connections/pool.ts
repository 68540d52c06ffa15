import { setTimeout as pause } from 'node:timers/promises';
import type { TaskFailure } from '../../../../core/errors/failure.js';
import { heldResources } from '../../../../core/observability/held.js';
import type { HoldGroup } from '../../../../core/observability/task-scope.js';
import { ConnectionCounts } from '../../../../core/sources/connection-counts.js';
import { withoutPassword } from '../../../../core/sources/database-url.js';
import type { PgError, PostgresConnection } from '../../../../native/postgres.js';
import { isPgError } from '../../../../native/postgres.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { convertPgError, createUnavailableFailure, isRepeatable, TOO_MANY_CONNECTIONS } from './failure.js';
import { openSession } from './session.js';

/** Number of connections that remain free for other programs if the server has few of them. */
const MARGIN = 3;
/** Milliseconds for which a pool does not open connections after the server ran out of them. */
const SHORTAGE_MS = 10_000;
/** Idle connections are closed after this time. */
const IDLE_MS = 60_000;
/** Milliseconds after a failed connection attempt in which requests fail immediately. */
const DOWN_MS = 1000;
/** Milliseconds between attempts while the server has no free connection. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const WAIT_MS = 20_000;

/** The connections of one thread to one database, opened when they are needed. */
export class ConnectionPool {
  readonly #idle: { connection: PostgresConnection; since: number }[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #open = new Set<PostgresConnection>();
  /** Open, or being opened. */
  #count = 0;
  #shortUntil = 0;
  readonly #label: string;
  #down: { until: number; failure: TaskFailure } | undefined;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(
    readonly url: string,
    readonly max: number,
    private readonly counts = new ConnectionCounts(),
  ) {
    counts.add('capacity', max);
    this.#label = withoutPassword(url).split('?')[0]!;
  }

  /** Open connections, in use or idle. */
  get connections(): readonly PostgresConnection[] {
    return [...this.#open];
  }

  /** True when every connection is in use. */
  get saturated(): boolean {
    return this.#count >= this.max && this.#idle.length === 0;
  }

  /**
   * Returns a connection for exclusive use, which the caller must return by `release` or `discard`. Rejects with
   * `TaskFailure`.
   */
  async acquire(cancellation?: Cancellation): Promise<PostgresConnection> {
    const started = performance.now();
    try {
      const connection = await this.#acquire(cancellation);
      this.counts.acquired(performance.now() - started);
      this.counts.add('active', 1);
      return connection;
    } catch (error) {
      if (!cancellation?.requested) this.counts.add('failures', 1);
      throw error;
    }
  }

  async #acquire(cancellation?: Cancellation): Promise<PostgresConnection> {
    const giveUp = performance.now() + WAIT_MS;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      this.#check(cancellation);
      const idle = this.#idle.pop();
      if (idle) return this.#taken(idle.connection);
      if (!this.#mayOpen()) {
        await this.#turn(cancellation);
        continue;
      }
      const opened = await this.#connect(cancellation);
      if (!('failure' in opened)) return this.#taken(opened.connection);
      this.#shortUntil = performance.now() + SHORTAGE_MS;
      if (this.#count > 0) continue;
      if (performance.now() > giveUp) {
        this.counts.add('timeouts', 1);
        throw opened.failure;
      }
      await pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  release(connection: PostgresConnection): void {
    this.counts.add('active', -1);
    // A connection with an open transaction must not be used by the next task.
    if (!connection.idle) return this.#drop(connection);
    this.#idle.push({ connection, since: performance.now() });
    this.#holdOf(connection).keep('connection pool');
    this.#sweeper ??= setInterval(() => this.#sweep(), IDLE_MS / 4).unref();
    this.#wake();
  }

  /** Gives back a connection whose work failed; a broken one is dropped, and with it all that are idle. */
  discard(connection: PostgresConnection, error: PgError): void {
    if (error.alive && !isRepeatable(error)) return this.release(connection);
    this.counts.add('active', -1);
    this.#drop(connection);
    // The cause, most often a restart, has also broken the idle connections.
    if (!error.alive) for (const { connection: idle } of this.#idle.splice(0)) this.#drop(idle);
  }

  close(): void {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
    this.counts.add('capacity', -this.max);
    for (const { connection } of this.#idle.splice(0)) this.#drop(connection);
  }

  #check(cancellation: Cancellation | undefined): void {
    if (!cancellation?.requested) return;
    // The place in the queue that this request may have received passes to the next request.
    this.#wake();
    cancellation.check();
  }

  #mayOpen(): boolean {
    return this.#count === 0 || (this.#count < this.max && performance.now() >= this.#shortUntil);
  }

  /** Opens a connection; returns the failure if the server has no free connections. */
  async #connect(
    cancellation: Cancellation | undefined,
  ): Promise<{ connection: PostgresConnection } | { failure: TaskFailure }> {
    if (this.#down && performance.now() < this.#down.until) throw this.#down.failure;
    this.#count++;
    this.counts.add('open', 1);
    let unwatch: (() => void) | undefined;
    try {
      const { connection, room } = await openSession(this.url, (opening) => {
        unwatch = cancellation?.onRequest(() => opening.cancel());
      });
      this.#down = undefined;
      this.#open.add(connection);
      this.#holdOf(connection);
      if (room >= MARGIN || this.#count === 1) return { connection };
      this.#drop(connection);
      return { failure: createUnavailableFailure('the server is short of connections') };
    } catch (error) {
      this.#count--;
      this.counts.add('open', -1);
      this.#wake();
      if (!isPgError(error)) throw error;
      const failure = convertPgError(error, cancellation?.requested ?? false);
      if (error.code === TOO_MANY_CONNECTIONS) return { failure };
      if (failure.code === 'store-unavailable') this.#down = { until: performance.now() + DOWN_MS, failure };
      throw failure;
    } finally {
      unwatch?.();
    }
  }

  #holdOf(connection: PostgresConnection): HoldGroup {
    return heldResources.opened('postgres-connection', this.#label, connection);
  }

  #taken(connection: PostgresConnection): PostgresConnection {
    this.#holdOf(connection).take();
    return connection;
  }

  #drop(connection: PostgresConnection): void {
    this.#open.delete(connection);
    heldResources.closed(connection);
    connection.close();
    this.#count--;
    this.counts.add('open', -1);
    this.#wake();
  }

  /** Waits until a connection is returned or dropped, or the task is cancelled. */
  #turn(cancellation: Cancellation | undefined): Promise<void> {
    return new Promise((resolve) => {
      const unwatch = cancellation?.onRequest(() => {
        const place = this.#waiting.indexOf(woken);
        if (place >= 0) this.#waiting.splice(place, 1);
        woken();
      });
      const woken = () => {
        unwatch?.();
        resolve();
      };
      this.#waiting.push(woken);
    });
  }

  #wake(): void {
    this.#waiting.shift()?.();
  }

  #sweep(): void {
    const since = performance.now() - IDLE_MS;
    // The longest idle come first: connections are taken from the end.
    while (this.#idle.length > 0 && this.#idle[0]!.since < since) this.#drop(this.#idle.shift()!.connection);
  }
}
