export const WEBHOOK_LIMITS = {
  /** Maximum milliseconds of one delivery attempt. */
  webhookMs: 10_000,
  /** Maximum number of waiting deliveries of one webhook. */
  webhookBacklog: 10_000,
} as const;
