import { OUTBOX_EVENTS } from '../../core/kit/limits.js';
import { computeEpoch, type FeedEntry } from '../../core/streams/events.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';
import type { FeedBounds } from '../../stores/streams/feed.js';

/** Store of the entries: the state database. */
export interface FeedLog {
  after(cursor: number, limit: number): Promise<FeedEntry[]>;
  bounds(): Promise<FeedBounds>;
}

/** Reason why a client cannot resume after a cursor: its entries were deleted, or it belongs to another feed. */
export type CursorProblem = 'expired' | 'invalid';

type Listener = (entries: readonly FeedEntry[]) => void;

const BATCH = 500;

/**
 * The feed as one process sees it. The newest entries are kept in memory, so that followers who were away for a moment
 * cost no read of the database. Listeners get every entry once, in the order of cursors, without holes.
 */
export class Feed {
  readonly #log: FeedLog;
  readonly #listeners = new Set<Listener>();
  /** The newest entries, oldest first, up to `#head`. */
  #recent: FeedEntry[] = [];
  #recentBytes = 0;
  #head: number;
  #oldest: number;
  #catchingUp: Promise<void> | undefined;
  #behind = false;

  private constructor(
    log: FeedLog,
    { oldest, newest }: FeedBounds,
    /** Number of entries that are kept. */
    readonly capacity: number,
  ) {
    this.#log = log;
    this.#head = newest;
    this.#oldest = oldest;
  }

  static async open(log: FeedLog, limit: number = OUTBOX_EVENTS): Promise<Feed> {
    return new Feed(log, await log.bounds(), limit);
  }

  /** Cursor of the newest entry. */
  get head(): number {
    return this.#head;
  }

  get oldest(): number {
    return this.#oldest;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Accepts entries that were just appended. If there are missing entries before them, those are read first. */
  accept(entries: readonly FeedEntry[]): void {
    const fresh = entries.filter(({ cursor }) => cursor > this.#head);
    if (fresh.length === 0) return;
    if (fresh[0]!.cursor === this.#head + 1 && !this.#catchingUp) this.#add(fresh);
    else void this.catchUp();
  }

  /** Reads what other processes appended. Rejects when the log cannot be read. */
  catchUp(): Promise<void> {
    this.#behind = true;
    this.#catchingUp ??= this.#read().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  async #read(): Promise<void> {
    while (this.#behind) {
      this.#behind = false;
      const entries = await this.#log.after(this.#head, BATCH);
      if (entries.length > 0) this.#add(entries);
      if (entries.length === BATCH) this.#behind = true;
    }
  }

  #add(entries: readonly FeedEntry[]): void {
    for (const entry of entries) {
      this.#recent.push(entry);
      this.#recentBytes += countBytes(entry);
    }
    this.#head = entries[entries.length - 1]!.cursor;
    this.#oldest = Math.max(this.#oldest, this.#head - this.capacity + 1);
    this.#forget();
    for (const listener of this.#listeners) listener(entries);
  }

  /** Drops the older half when the limits are exceeded, so that each entry is moved at most once. */
  #forget(): void {
    if (this.#recent.length <= OUTBOX_EVENTS && this.#recentBytes <= STREAM_LIMITS.feedBytes) return;
    const dropped = this.#recent.splice(0, Math.ceil(this.#recent.length / 2));
    for (const entry of dropped) this.#recentBytes -= countBytes(entry);
  }

  /** Reason why a client cannot resume after this cursor. Undefined if it can. */
  problemOf(cursor: number): CursorProblem | undefined {
    if (cursor > this.#head || computeEpoch(cursor) !== computeEpoch(this.#head)) return 'invalid';
    return cursor < this.#oldest - 1 ? 'expired' : undefined;
  }

  /**
   * Entries after a cursor, oldest first. Empty at the head. Returns an array directly if the entries are in memory.
   */
  after(cursor: number, limit: number): readonly FeedEntry[] | Promise<readonly FeedEntry[]> {
    if (cursor >= this.#head) return [];
    const first = this.#recent[0]?.cursor ?? this.#head + 1;
    if (cursor >= first - 1) return this.#recent.slice(cursor - first + 1, cursor - first + 1 + limit);
    return this.#fromLog(cursor, limit);
  }

  /**
   * The next entries after a cursor, or after `from` if entries before that are missing for the reason `problem`. They
   * can be deleted until the moment when they are read.
   */
  async resume(
    cursor: number,
    limit: number,
  ): Promise<{ entries: readonly FeedEntry[]; from: number; problem: CursorProblem | undefined }> {
    // Another process can have read further than this one.
    if (cursor > this.#head) await this.catchUp();
    const problem = this.problemOf(cursor);
    const from = problem === undefined ? cursor : problem === 'expired' ? this.oldest - 1 : this.head;
    const entries = await this.after(from, limit);
    const isHole = entries.length > 0 && entries[0]!.cursor > from + 1;
    return { entries, from, problem: problem ?? (isHole ? 'expired' : undefined) };
  }

  /**
   * Entries from the log. They may already have been trimmed, by age or by other processes. From then on, `problemOf`
   * reports it.
   */
  async #fromLog(cursor: number, limit: number): Promise<readonly FeedEntry[]> {
    const beyond = this.#head + 1;
    const entries = await this.#log.after(cursor, limit);
    const first = entries[0]?.cursor ?? beyond;
    if (first > cursor + 1) this.#oldest = Math.max(this.#oldest, first);
    return entries;
  }
}

function countBytes(entry: FeedEntry): number {
  if (entry.kind === 'gap') return 256;
  const { geometry, attributes, geometryBefore, attributesBefore } = entry.event;
  return (
    512 +
    2 *
      [geometry, attributes, geometryBefore, attributesBefore].reduce(
        (sum, text) => sum + (text?.length ?? 0),
        0,
      )
  );
}
