export const ALERT_LIMITS = {
  /** WebSockets that listen to alerts at once. */
  alertSubscribers: 64,
} as const;
