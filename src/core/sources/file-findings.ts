/** A SQLite file that took the place of another one whose write-ahead log was still there. */
export interface FileFinding {
  path: string;
  /** `replaced`: another file has its name; `overwritten`: the same file has another content. */
  kind: 'replaced' | 'overwritten';
  /** Bytes of the log that did not belong to it. */
  bytes: number;
  /** Path of the saved log; null if there was no space for it. */
  kept: string | null;
}
