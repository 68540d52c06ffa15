import type Database from '../../../native/sqlite.js';
import type { Cancellation } from '../../threads/cancellation.js';

/** What a store tells of the changes of a table. */
export interface StoreState {
  /** Cursor of the newest event. */
  cursor: number;
  /**
   * A word for the file of the table and a count of the rows written so far, also by others; null where the store does
   * not count, or where the version of the collection changes with them.
   */
  writes: string | null;
}

export interface OverviewChanges {
  /** Ids of the features that changed. */
  ids: string[];
  /** Events that speak of them. */
  events: number;
  /** Cursor of the newest event. */
  cursor: number;
}

/** How an overview gets the rows of its table. */
export interface OverviewRows {
  /** Null for a table whose changes cannot be noticed. */
  state(): Promise<StoreState | null>;
  /**
   * Makes rows readable as the table or view `staged` of a connection: FID, GEOMETRY and the fields of `levelFields`.
   * All rows, or those of some ids.
   */
  stage(db: Database.Database, ids?: readonly string[], cancellation?: Cancellation): Promise<void>;
  unstage(db: Database.Database): void;
  /** What events after a cursor say; undefined when some are missing. */
  changes(since: number): Promise<OverviewChanges | undefined>;
  /** FID of the row of an id. */
  fidOf(id: string): number | bigint;
}
