import type { Log } from '../telemetry/log.js';
import { EventListener } from './listen.js';
import type { Outbox } from './relay.js';

/**
 * Listens to the databases among the stores, with one connection for each. Events of all writers arrive immediately.
 */
export class Listeners {
  readonly #log: Log;
  readonly #wake: (key: string) => void;
  readonly #open = new Map<string, EventListener>();
  /** Connection URLs, because a password can change. */
  readonly #databases = new Map<string, string>();

  constructor(log: Log, wake: (key: string) => void) {
    this.#log = log;
    this.#wake = wake;
  }

  /** Starts listening to the databases of these stores, and stops for those of the removed keys. */
  change(outboxes: readonly Outbox[], removed: readonly string[]): void {
    for (const key of removed) this.#end(key);
    for (const { key, source } of outboxes) {
      if (source.database !== this.#databases.get(key)) this.#end(key);
      if (source.database !== undefined && !this.#open.has(key)) this.#listen(key, source.database);
    }
  }

  #end(key: string): void {
    this.#open.get(key)?.close();
    this.#open.delete(key);
    this.#databases.delete(key);
  }

  #listen(key: string, database: string): void {
    const listener = new EventListener(database, {
      notify: () => this.#wake(key),
      lost: (reason) =>
        this.#log.write('database.listen.failed', {
          Store: key,
          Error: reason,
        }),
    });
    this.#open.set(key, listener);
    this.#databases.set(key, database);
  }

  close(): void {
    for (const listener of this.#open.values()) listener.close();
    this.#open.clear();
  }
}
