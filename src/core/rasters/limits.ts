export const RASTER_LIMITS = {
  /** Bytes of a coverage before compression: about what can be written within the time of a request. */
  coverageBytes: 268_435_456,
  /** Bytes of values that are written as LERC, which are all in memory. */
  lercBytes: 33_554_432,
  /** Steps of a raster that are read at one place. */
  positionSteps: 1000,
  /** Parts and levels of nesting of band math. */
  expressionNodes: 250,
  expressionDepth: 60,
  /** Bands that one image is made of. */
  lookBands: 16,
  /** Bytes of a world file or a CRS text (contract). */
  sidecarBytes: 65_536,
  /** Milliseconds of one search of a STAC API. */
  stacSearchMs: 30_000,
  /** Concurrent searches of STAC APIs, and running and waiting searches for windows. */
  stacSearches: 4,
  stacWindowSearches: 16,
  /** Cached searches for windows, and their bytes. */
  stacWindows: 1000,
  stacWindowBytes: 67_108_864,
  /** Scenes of a mosaic that are opened at a time. */
  sceneRequests: 16,
} as const;
