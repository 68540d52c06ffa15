import type { DataFrame, StatusFrame, StreamMode } from './frames.js';

/** `lost`: frames before this one never came, which only a broken connection can cause. */
export type FrameVerdict = 'new' | 'duplicate' | 'lost';

/** Progress of one subscription, from which it resumes after a lost connection. */
export class SubscriptionProgress {
  /** Cursor to resume after; undefined if a new snapshot or a new start is required. */
  resume: number | undefined;
  /** Changes up to this cursor have been taken. */
  #seen: number;
  #sequence = 0;
  #inSnapshot = false;
  /** Whether the server has confirmed the subscription. Earlier heartbeats concern other subscriptions. */
  #begun = false;

  constructor(
    private readonly mode: StreamMode,
    cursor: number | undefined,
  ) {
    this.resume = cursor;
    this.#seen = cursor ?? -1;
  }

  /** Called when the subscription is requested, also again. */
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

  /** The server may repeat a change rather than omit it. Returns whether the frame is new. */
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
        // If a snapshot follows, the earlier cursor no longer applies.
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

  /**
   * All requested changes up to this cursor have arrived, so a subscription with few changes need not read them
   * again.
   */
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
