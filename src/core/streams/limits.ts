export const STREAM_LIMITS = {
  /** Maximum milliseconds in which a stream client reads none of the sent data. The server then closes the stream. */
  streamStallMs: 10_000,
  /** Characters of the filters, as JSON, of all subscriptions of clients without a key from one address, and of one key. */
  streamFiltersPerAddress: 1_048_576,
  streamFiltersPerKey: 8_388_608,
  /** Subscriptions of one session (contract). */
  streamSubscriptions: 64,
  /** Features and bytes of a snapshot, and rows read for it (contract). */
  snapshotFeatures: 5000,
  snapshotBytes: 4_194_304,
  /** Bytes of a snapshot in one frame for clients without a key. */
  anonymousSnapshotBytes: 1_048_576,
  /** Bytes per read of a snapshot, and concurrent reads for clients with and without a key. */
  snapshotPageBytes: 65_536,
  snapshotTurns: 4,
  anonymousSnapshotTurns: 2,
  /** Rows that a snapshot of a subscription reads. */
  snapshotScanRows: 20_000,
  /** Bytes of events in one page of a replay; there is always one event. */
  replayBytes: 16_777_216,
  /** Bytes of the newest events kept in memory. */
  feedBytes: 67_108_864,
  /** Requests with an idempotency key that are stored for a day. */
  idempotencyKeys: 100_000,
  /** Refused requests that become audit rows in a minute; each address and operation has one. */
  refusalsPerMinute: 60,
} as const;
