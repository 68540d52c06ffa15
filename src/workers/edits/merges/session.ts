import type { EditSession } from '../session.js';

/** Transaction of a merge: the operations of edits, and operations on many rows. */
export interface MergeSession {
  readonly edits: EditSession;
  /**
   * Returns the result of the committed merge with this token. If there is none, no other transaction can run a merge
   * with this token before this one ends.
   */
  receipt(): Promise<string | undefined>;
  /** Stores the result of this merge. */
  keepReceipt(text: string): Promise<void>;
  /** Locks the table against other writers, because the rows that were read must not change. */
  lock(): Promise<void>;
  /** The features that have one of the keys (JSON of values of the field), each with its key. */
  find(field: string, keys: readonly string[]): Promise<[key: string, id: string][]>;
  /** Returns ids of some features that are visible to the caller. Empty if there are no more. */
  some(most: number): Promise<string[]>;
  /** Returns the number of features that are visible to the caller, up to a maximum. */
  count(atMost: number): Promise<number>;
  /** Deletes all features that are visible to the caller; returns their number. */
  clear(): Promise<number>;
  /** Records that features changed without an event for each; returns the cursor of the gap. Call it last. */
  recordGap(): Promise<number>;
}
