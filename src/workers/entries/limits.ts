export const ENTRY_LIMITS = {
  /**
   * Maximum milliseconds for a statement of a process, and milliseconds between two checks by the database that the
   * process still exists.
   */
  processStatementMs: 21_600_000,
  processClientMs: 2000,
} as const;
