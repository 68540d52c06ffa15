import type { EditNote } from '../../core/cluster/notes.js';
import { mergeChanges } from '../../core/edits/edit-areas.js';
import type { FeatureEvent } from '../../core/edits/edits.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { FeedEntry, FeedGap } from '../../core/streams/events.js';

/**
 * Reports the effects of events on their collections, edit by edit, so that caches follow writes by other servers and
 * programs to a database. An edit of this server has the same cursor here as in its own report.
 */
export class Changes {
  readonly #changed: (note: EditNote) => void;
  /** The events of an edit whose end has not been read, by outbox and collection. */
  readonly #open = new Map<string, Map<string, FeatureEvent[]>>();

  constructor(changed: (note: EditNote) => void) {
    this.#changed = changed;
  }

  /** Takes the next entry of an outbox. */
  take(outbox: string, entry: FeedEntry): void {
    const open = this.#open.get(outbox) ?? new Map<string, FeatureEvent[]>();
    this.#open.set(outbox, open);
    if (entry.kind === 'gap') {
      // Layers that show the same rows in another form have a gap amid an edit of another layer.
      if (entry.outboxCursor === undefined || entry.collections.some((id) => open.has(id)))
        this.#tellAll(open);
      return this.#tellLost(entry);
    }
    const { event } = entry;
    const [first] = open.values();
    if (first && first[0]!.requestId !== event.requestId) this.#tellAll(open);
    const events = open.get(event.collection) ?? [];
    if (events.length === LIMITS.batchOperations) this.#tell(events.splice(0));
    events.push(event);
    open.set(event.collection, events);
    if (entry.ends) this.#tellAll(open);
  }

  #tellAll(open: Map<string, FeatureEvent[]>): void {
    for (const events of open.values()) this.#tell(events);
    open.clear();
  }

  /** Reports a change of unknown extent and of an unknown number of features. */
  #tellLost({ collections, outboxCursor: cursor }: FeedGap): void {
    if (cursor === undefined) return;
    for (const collection of collections) this.#changed({ collection, change: { cursor } });
  }

  #tell(events: readonly FeatureEvent[]): void {
    const last = events.at(-1);
    if (last) this.#changed({ collection: last.collection, change: mergeChanges(events, last.cursor) });
  }
}
