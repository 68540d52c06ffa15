export const ENTRY_LIMITS = {
  /** Milliseconds that a statement of a process may take, and between looks of the database at whether the process is there. */
  processStatementMs: 21_600_000,
  processClientMs: 2000,
} as const;
