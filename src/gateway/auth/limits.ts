export const AUTH_LIMITS = {
  /** Milliseconds for which a valid key is trusted while the state database does not respond. */
  keyTrustMs: 300_000,
} as const;
