/** Messages between the gateway thread and the one thread that owns the state database. */

export interface StateRequest {
  id: number;
  sql: string;
  parameters: readonly unknown[];
}

export interface StateRows {
  id: number;
  rows: Record<string, unknown>[];
  /** Rows that an INSERT, UPDATE or DELETE touched; absent for statements that return rows. */
  changes?: number;
  lastRowId?: number;
  /** Number of prepared statements, after the statement was prepared. Absent if it was prepared before. */
  prepared?: number;
}

export interface StateFault {
  id: number;
  /** SQLite's symbolic code, such as `SQLITE_CONSTRAINT_UNIQUE`. */
  code: string;
  message: string;
}

/** Sent once, before any reply: the file is open, or why not. */
export type StateReady = { opened: true } | { opened: false; message: string };

export type StateReply = StateRows | StateFault;

/** Statements that the thread keeps prepared. */
export const MAX_PREPARED = 300;

/** Sent when another connection has written to the file. */
export const CHANGED = 'changed';

export interface StateWorkerData {
  path: string;
  /** Milliseconds to wait for a lock of another process. */
  busyTimeout: number;
}
