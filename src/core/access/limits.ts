export const ACCESS_LIMITS = {
  /** Lifetime of a session access token, in seconds. */
  sessionTokenSeconds: 900,
  /** Timeout of an OpenID provider in milliseconds, and maximum bytes of its response. */
  providerMs: 10_000,
  providerBytes: 1_048_576,
} as const;
