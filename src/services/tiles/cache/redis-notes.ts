import type { CacheNote } from '../../../core/cluster/notes.js';
import { broadcast } from '../../telemetry/event-metrics.js';
import { redisClient } from './redis-level.js';

const CHANNEL = 'graticule:notes';

/** A note in the form for other servers. */
export interface SharedNote {
  /** Sending server. Processes of one server receive the note from their supervisor. */
  readonly from: string;
  /** `origin` of the edited collection: another server may have a collection of that name which is another one. */
  readonly origin?: string;
  readonly note: CacheNote;
}

/**
 * Sends edits and invalidations to other servers, and receives theirs. Notes are lost while there is no connection.
 * Then tiles can be as old as without this channel.
 */
export class RedisNotes {
  readonly #sender: ReturnType<typeof redisClient>;
  readonly #receiver: ReturnType<typeof redisClient>;
  readonly #from: string;

  constructor(url: string, from: string, heard: (shared: SharedNote) => void) {
    this.#from = from;
    this.#sender = redisClient(url);
    this.#receiver = redisClient(url);
    this.#receiver.once('ready', () => {
      // The client restores subscriptions after each reconnection.
      this.#receiver.subscribe(CHANNEL, (text) => this.#hear(String(text), heard)).catch(() => {});
    });
  }

  tell(note: CacheNote, origin?: string): void {
    const done = broadcast();
    if (!this.#sender.isReady) return done(false);
    const shared: SharedNote = { from: this.#from, note, ...(origin === undefined ? {} : { origin }) };
    this.#sender.publish(CHANNEL, JSON.stringify(shared)).then(
      () => done(true),
      () => done(false),
    );
  }

  close(): void {
    this.#sender.destroy();
    this.#receiver.destroy();
  }

  #hear(text: string, heard: (shared: SharedNote) => void): void {
    let shared: SharedNote;
    try {
      shared = JSON.parse(text);
    } catch {
      return;
    }
    if (shared.from !== this.#from) heard(shared);
  }
}
