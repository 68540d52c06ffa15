export const START_LIMITS = {
  /** Milliseconds between two looks for attachments that nobody has any more. */
  attachmentSweepMs: 3_600_000,
} as const;
