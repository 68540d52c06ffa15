export const ALERT_LIMITS = {
  /** Maximum number of WebSockets that receive alerts at the same time. */
  alertSubscribers: 64,
  zones: 100_000,
  rules: 100_000,
  /** Positions of a zone, and characters of its text. */
  zonePositions: 200_000,
  zoneCharacters: 8_388_608,
  /** Maximum number of alert events, and their maximum age in milliseconds. */
  events: 1_000_000,
  eventAgeMs: 90 * 86_400_000,
} as const;
