export const ALERT_LIMITS = {
  /** Maximum number of connections that receive alerts at the same time: of one process, and of one key or user. */
  alertSubscribers: 64,
  alertSubscribersPerKey: 16,
  /** Maximum number of alert zones, and of alert rules. */
  zones: 100_000,
  rules: 100_000,
  /** Maximum number of positions of an alert zone, and of characters of its text. */
  zonePositions: 200_000,
  zoneCharacters: 8_388_608,
  /** Maximum number of alert events, and their maximum age in milliseconds. */
  events: 1_000_000,
  eventAgeMs: 90 * 86_400_000,
} as const;
