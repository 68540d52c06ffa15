import type { Log } from '../telemetry/log.js';
import { EventListener } from './listen.js';
import type { Outbox } from './relay.js';

/** Listens to the databases among the stores, one connection for each: what anybody writes there is heard of at once. */
export class Listeners {
  readonly #log: Log;
  readonly #wake: (key: string) => void;
  readonly #open = new Map<string, EventListener>();
  /** What they connect by: a password may change. */
  readonly #databases = new Map<string, string>();

  constructor(log: Log, wake: (key: string) => void) {
    this.#log = log;
    this.#wake = wake;
  }

  /** Listens to the databases of these stores from now on, and to no others. */
  use(outboxes: readonly Outbox[]): void {
    const databases = new Map(outboxes.map(({ key, source }) => [key, source.database]));
    for (const [key, listener] of this.#open) {
      if (databases.get(key) === this.#databases.get(key)) continue;
      listener.close();
      this.#open.delete(key);
    }
    for (const { key, source } of outboxes) {
      if (source.database !== undefined && !this.#open.has(key)) this.#listen(key, source.database);
    }
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
