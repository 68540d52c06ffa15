export const PROVIDER_LIMITS = {
  /** Milliseconds that one statement of an edit can take. The store ends it before the request times out. */
  editStatementMs: 29_000,
  /** Bytes of a layer that is encoded for a map. */
  mapLayerBytes: 67_108_864,
  /** Milliseconds after which PostGIS undoes a merge of which it hears nothing. */
  mergeIdleMs: 60_000,
  /** Milliseconds that one statement of a merge may take. */
  mergeStatementMs: 600_000,
  /** Days for which a store remembers that a merge was carried out. */
  mergeReceiptDays: 30,
} as const;
