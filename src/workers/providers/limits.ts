export const PROVIDER_LIMITS = {
  /** Milliseconds that one statement of an edit can take. The store ends it before the request times out. */
  editStatementMs: 29_000,
  /** Bytes of a layer that is encoded for a map. */
  mapLayerBytes: 67_108_864,
  /** Milliseconds without a statement after which PostGIS rolls a merge back. */
  mergeIdleMs: 60_000,
  /** Milliseconds that one statement of a merge can take. */
  mergeStatementMs: 600_000,
  /** Days for which a store keeps the receipt of a merge. */
  mergeReceiptDays: 30,
} as const;
