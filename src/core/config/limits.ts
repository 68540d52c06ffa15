export const CONFIG_LIMITS = {
  /** Bytes that the steps of a plan leave for each other where the settings do not say. */
  planSpoolBytes: 8_589_934_592,
  /** Heavy requests of one address that may run or wait at the same time, where no key comes with them. */
  heavyPerAddress: 8,
  /** Maximum queued tasks per pool. Further requests get 503. */
  poolQueue: 512,
  /** Maximum expected wait for a worker in milliseconds. Further requests get 503. */
  poolWaitMs: 5000,
  /** Bytes of the in-memory tile cache. */
  tileCacheBytes: 268_435_456,
  /** Maximum open stream sessions (contract). */
  streamSessions: 256,
  /** Sessions of streams from one address without a key, and of one key. */
  streamSessionsPerAddress: 64,
  streamSessionsPerKey: 128,
  /** Bytes of tiles on disk, where there is a folder for them. */
  diskTileBytes: 4_294_967_296,
  /** Connections of one gateway process to a state in PostgreSQL. */
  stateConnections: 100,
} as const;
