export const CQL2_LIMITS = {
  /** Operators, literals and property names in one filter; positions of its geometries count apart. */
  filterNodes: 10_000,
  /** Characters of a pattern of LIKE. */
  filterPattern: 10_000,
  /** Levels of nesting of a filter. */
  filterDepth: 100,
} as const;
