export const WEBHOOK_LIMITS = {
  /** Milliseconds of one attempt to deliver an event. */
  webhookMs: 10_000,
  /** Deliveries that may wait for one webhook. */
  webhookBacklog: 10_000,
} as const;
