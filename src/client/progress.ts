import type { DataFrame, StatusFrame, StreamMode } from './frames.js';

/** `lost`: frames before this one never came, which only a broken connection can cause. */
export type FrameVerdict = 'new' | 'duplicate' | 'lost';

/** How far one subscription has come, and so where it goes on after its connection broke. */
export class SubscriptionProgress {
  /** Cursor to resume after; undefined while only a new snapshot (or a new beginning) can tell what is there. */
  resume: number | undefined;
  /** Changes up to this cursor have been taken. */
  #seen: number;
  #sequence = 0;
  #inSnapshot = false;
  /** Whether the server tells it now: heartbeats before that speak of others. */
  #begun = false;

  constructor(
    private readonly mode: StreamMode,
    cursor: number | undefined,
  ) {
    this.resume = cursor;
    this.#seen = cursor ?? -1;
  }

  /** The server is asked, once more perhaps. */
  request(): void {
    this.#begun = false;
  }

  /** The server took the subscription up: it counts from 0 again. */
  begun({ cursor }: StatusFrame): void {
    this.#begun = true;
    this.#sequence = 0;
    this.#inSnapshot = false;
    if (this.mode === 'delta') this.resume ??= cursor;
  }

  /** The server sends a change again rather than not at all: what has been taken is told from what is new. */
  take(frame: DataFrame): FrameVerdict {
    if (frame.sequence !== this.#sequence) return 'lost';
    this.#sequence++;
    switch (frame.type) {
      case 'feature-change':
        if (frame.cursor <= this.#seen) return 'duplicate';
        this.#reach(frame.cursor);
        break;
      case 'gap':
        this.#seen = frame.cursor;
        // Where a snapshot follows, what came before says nothing any more.
        this.resume = this.mode === 'delta' ? frame.cursor : undefined;
        break;
      case 'snapshot-begin':
        this.#inSnapshot = true;
        this.#seen = frame.cursor;
        this.resume = undefined;
        break;
      case 'snapshot':
        this.#seen = frame.cursor;
        this.resume = frame.cursor;
        break;
      case 'snapshot-end':
        this.#inSnapshot = false;
        this.resume = this.#seen;
    }
    return 'new';
  }

  /** Nothing that is wanted lies before this cursor but what has come: a subscription to little need not look there again. */
  passed(cursor: number): void {
    if (!this.#begun || this.#inSnapshot || this.resume === undefined || cursor <= this.resume) return;
    this.resume = cursor;
    this.#seen = cursor;
  }

  #reach(cursor: number): void {
    this.#seen = cursor;
    if (!this.#inSnapshot) this.resume = cursor;
  }
}
