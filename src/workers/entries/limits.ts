export const ENTRY_LIMITS = {
  /**
   * Milliseconds that a statement of a process can take, and milliseconds between the database's checks whether the
   * process still exists.
   */
  processStatementMs: 21_600_000,
  processClientMs: 2000,
} as const;
