export const TASK_LIMITS = {
  /** Evaluations of a condition on a row, and pixels of an image, above which a task counts as heavy. */
  heavySteps: 1_000_000,
  heavyPixels: 4_194_304,
  /** Maximum steps of a count, which ends after a second. */
  timedCountSteps: 4_000_000,
} as const;
