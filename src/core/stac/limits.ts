export const STAC_LIMITS = {
  /** Items of a STAC page: default and most (contract); bytes that end one before it is full, and matches counted. */
  stacDefault: 10,
  stacMax: 10_000,
  stacPageBytes: 33_554_432,
  stacCounted: 100_000,
  /** Scenes of a mosaic of a STAC API: default and maximum. */
  stacScenesDefault: 500,
  stacScenes: 2000,
  /** Scenes of one search for a window: default and maximum. */
  stacWindowScenesDefault: 100,
  stacWindowScenes: 250,
} as const;
