export const ALERT_LIMITS = {
  /** Maximum number of WebSockets that receive alerts at the same time. */
  alertSubscribers: 64,
} as const;
