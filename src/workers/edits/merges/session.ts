import type { EditSession } from '../session.js';

/** The transaction of a merge: that of edits, and what is done to many rows at once. */
export interface MergeSession {
  readonly edits: EditSession;
  /**
   * What the merge of this token has answered, when one has committed. Otherwise nobody else carries out one of this token
   * before this transaction ends.
   */
  receipt(): Promise<string | undefined>;
  /** Keeps the answer of this merge. */
  keepReceipt(text: string): Promise<void>;
  /** Keeps others from writing to the table, where what is read of it must stay true. */
  lock(): Promise<void>;
  /** The features that have one of the keys (JSON of values of the field), each with its key. */
  find(field: string, keys: readonly string[]): Promise<[key: string, id: string][]>;
  /** Ids of some features that exist for who asks; none when there are no more. */
  some(most: number): Promise<string[]>;
  /** How many features exist for who asks, up to a number. */
  count(atMost: number): Promise<number>;
  /** Deletes all features that exist for who asks; returns how many. */
  clear(): Promise<number>;
  /** Writes that things have changed that are not told one by one; returns its cursor. To be called last. */
  recordGap(): Promise<number>;
}
