export const CATALOG_LIMITS = {
  /** Default pixels per side of a map. */
  mapSideDefault: 256,
} as const;
