export const CATALOG_LIMITS = {
  /** Pixels per side of a map where the request says nothing. */
  mapSideDefault: 256,
} as const;
