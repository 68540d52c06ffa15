export const EDIT_LIMITS = {
  /** Waiting edits of one store. Further ones get 503. */
  editQueue: 256,
  /** Events that a merge writes one by one. A larger merge sends a gap event. */
  mergeEvents: 10_000,
  /** Rejected rows of a merge that its list has. */
  mergeListed: 100_000,
  /** Bounding boxes of the changes of an edit; more are combined. */
  editAreas: 64,
} as const;
