import type Database from '../../../native/sqlite.js';
import type { Cancellation } from '../../threads/cancellation.js';

/** Changes of a table as its store reports them. */
export interface StoreState {
  /** Cursor of the newest event. */
  cursor: number;
  /**
   * Identifier of the table's file and a count of the rows written so far by all programs. Null if the store does not
   * count, or if the version of the collection changes with each write.
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

/** Source of the rows from which an overview is built. */
export interface OverviewRows {
  /** Null for a table whose changes cannot be noticed. */
  state(): Promise<StoreState | null>;
  /**
   * Makes rows readable as the table or view `staged` of a connection: FID, GEOMETRY and the fields of `levelFields`.
   * Default: all rows. `ids` selects some of them.
   */
  stage(db: Database.Database, ids?: readonly string[], cancellation?: Cancellation): Promise<void>;
  unstage(db: Database.Database): void;
  /** Returns the changes after a cursor. Undefined if some events are missing. */
  changes(since: number): Promise<OverviewChanges | undefined>;
  /** FID of the row of an id. */
  fidOf(id: string): number | bigint;
}
