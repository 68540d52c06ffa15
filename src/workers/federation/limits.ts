export const FEDERATION_LIMITS = {
  /** Features that one request reads from a source, and their bytes. */
  federatedFeatures: 20_000,
  federatedBytes: 67_108_864,
  /** Requests to a source for one request of a client. */
  federatedRequests: 100,
} as const;
