export const PROVIDER_LIMITS = {
  /** Maximum milliseconds for one statement of an edit. The store cancels the statement before the request times out. */
  editStatementMs: 29_000,
  /** Bytes of a layer that is encoded for a map. */
  mapLayerBytes: 67_108_864,
  /** Milliseconds without a statement after which PostGIS rolls a merge back. */
  mergeIdleMs: 60_000,
  /** Maximum milliseconds for one statement of a merge. */
  mergeStatementMs: 600_000,
  /** Days for which a store keeps the receipt of a merge. */
  mergeReceiptDays: 30,
} as const;
