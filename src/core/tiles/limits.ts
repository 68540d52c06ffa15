export const TILE_LIMITS = {
  /** Bytes of a vector tile before compression, which about halves them: beyond it features are dropped. */
  tileBytes: 1_048_576,
  /** Cells along a side of a tile that counts points. */
  cellsPerSide: 64,
  /** Maximum bytes of a stored tile, decompressed, that is transcoded into the other vector tile encoding. */
  transcodedTileBytes: 8_388_608,
  /** Bytes of geometries read for one layer, 256 more per row, from which on an overview of its table is made. */
  tileWork: 8_388_608,
  /** Bytes of all overviews together; beyond it the oldest are removed. */
  overviewBytes: 53_687_091_200,
  /** Areas of past edits that are kept for each collection. */
  loggedAreas: 1024,
  /** Look-ups of tiles on disk that may wait; more go without. */
  levelQueue: 256,
  /** Bytes of tiles that may wait to be written to disk or to Redis; more are not written. */
  levelQueueBytes: 33_554_432,
  /** Milliseconds that a tile in Redis may take; then it is made. */
  redisMs: 50,
  /** Milliseconds for looking into a tile package that is a database. */
  packageReadMs: 600_000,
} as const;
