import { setTimeout as pause } from 'node:timers/promises';
import { CHANNEL } from '../../core/streams/events.js';
import { isPgError, PostgresConnection } from '../../native/postgres.js';

const CONNECT_MS = 5000;
/** Maximum milliseconds of one wait, so that a connection that closed in between is noticed. */
const WAIT_MS = 60_000;
const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 15_000;

export interface ListenOptions {
  /**
   * Called when events were written, and after a reconnect, because events may have been written while the connection
   * was lost.
   */
  notify(): void;
  /**
   * Called once when the connection is lost or cannot be opened, until it is restored. `reason` contains no password.
   */
  lost(reason: string): void;
}

/** Listens for events of all writers of a database, on a separate connection that is restored when it breaks. */
export class EventListener {
  readonly #url: string;
  readonly #options: ListenOptions;
  readonly #closing = new AbortController();
  #connection: PostgresConnection | undefined;
  #failures = 0;

  constructor(url: string, options: ListenOptions) {
    this.#url = url;
    this.#options = options;
    void this.#run();
  }

  close(): void {
    this.#closing.abort();
    this.#connection?.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#listen();
      } catch (error) {
        if (signal.aborted) return;
        if (this.#failures++ === 0) this.#options.lost(describeReason(error));
      } finally {
        this.#connection?.close();
      }
      const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** this.#failures, LONGEST_BACKOFF_MS);
      await pause(backoff, undefined, { ref: false, signal }).catch(() => {});
    }
  }

  async #listen(): Promise<void> {
    const connection = new PostgresConnection();
    this.#connection = connection;
    await connection.connect(this.#url, CONNECT_MS);
    await connection.query(`LISTEN ${CHANNEL}`);
    this.#failures = 0;
    this.#options.notify();
    while (!this.#closing.signal.aborted) {
      if (await connection.notified(WAIT_MS)) this.#options.notify();
    }
  }
}

function describeReason(error: unknown): string {
  return isPgError(error) ? `${error.code}: ${error.message}` : String(error);
}
