export const AUTH_LIMITS = {
  /** Milliseconds for which a key that was valid is believed while the state database does not answer. */
  keyTrustMs: 300_000,
} as const;
