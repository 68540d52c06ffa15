export const ACCESS_LIMITS = {
  /** Seconds for which the access token of a session holds. */
  sessionTokenSeconds: 900,
  /** Milliseconds that an OpenID provider may take for an answer, and bytes of one. */
  providerMs: 10_000,
  providerBytes: 1_048_576,
} as const;
