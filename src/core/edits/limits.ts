export const EDIT_LIMITS = {
  /** Edits of one store that may wait for the one that runs; more are answered 503. */
  editQueue: 256,
  /** Events that a merge writes one by one. A larger merge sends a gap event. */
  mergeEvents: 10_000,
  /** Rejected rows of a merge that its list has. */
  mergeListed: 100_000,
  /** Boxes that tell where an edit changed something; more are gathered. */
  editAreas: 64,
} as const;
