import { changeOf } from '../../core/edit-areas.js';
import type { FeatureEvent } from '../../core/edits.js';
import type { FeedEntry, FeedGap } from '../../core/events.js';
import { LIMITS } from '../../core/limits.js';
import type { EditNote } from '../edits.js';

/**
 * Tells what events did to their collections, edit by edit, so that caches follow what other servers and other programs
 * write to a database. An edit of this server gets the same cursor here as from who made it.
 */
export class Changes {
  readonly #changed: (note: EditNote) => void;
  /** The events of an edit whose end has not been read, by outbox. */
  readonly #open = new Map<string, FeatureEvent[]>();

  constructor(changed: (note: EditNote) => void) {
    this.#changed = changed;
  }

  /** Takes the next entry of an outbox. */
  take(outbox: string, entry: FeedEntry): void {
    let events = this.#open.get(outbox) ?? [];
    this.#open.set(outbox, []);
    if (entry.kind === 'gap') {
      this.#tell(events);
      return this.#tellLost(entry);
    }
    const [first] = events;
    if (first && (!isSameEdit(first, entry.event) || events.length === LIMITS.batchOperations)) {
      this.#tell(events);
      events = [];
    }
    events.push(entry.event);
    if (entry.ends) this.#tell(events);
    else this.#open.set(outbox, events);
  }

  /** What changed may lie anywhere, and may be any number of features. */
  #tellLost({ collections, outboxCursor: cursor }: FeedGap): void {
    if (cursor === undefined) return;
    for (const collection of collections) this.#changed({ collection, change: { cursor } });
  }

  #tell(events: readonly FeatureEvent[]): void {
    const last = events.at(-1);
    if (last) this.#changed({ collection: last.collection, change: changeOf(events, last.cursor) });
  }
}

function isSameEdit(a: FeatureEvent, b: FeatureEvent): boolean {
  return a.requestId === b.requestId && a.collection === b.collection;
}
