export const DELIVERY_LIMITS = {
  /** Maximum milliseconds of one attempt. */
  attemptMs: 10_000,
  /** Maximum number of waiting deliveries of a receiver that is paused or fails. */
  backlog: 10_000,
  /** Maximum milliseconds for which a delivery waits. */
  waitMs: 86_400_000,
  /** Maximum milliseconds for which a delivery waits that no server can send. */
  unattendedMs: 600_000,
  /** Maximum milliseconds that `Retry-After` can put off the next attempt. */
  retryAfterMs: 900_000,
  /** Milliseconds between notices to operators about the failures of one receiver. */
  noticeMs: 3_600_000,
} as const;
