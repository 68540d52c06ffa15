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
  /** Maximum number of tile look-ups that wait for the disk. Further requests do not use the disk cache. */
  levelQueue: 256,
  /** Maximum bytes of tiles that wait to be written to disk or to Redis. Further tiles are not written. */
  levelQueueBytes: 33_554_432,
  /** Maximum milliseconds of a tile look-up in Redis. The server then generates the tile. */
  redisMs: 50,
  /** Maximum milliseconds for inspecting a tile package that is a database. */
  packageReadMs: 600_000,
} as const;
