export const MAP_LIMITS = {
  /** Lines of a legend. */
  legendEntries: 150,
} as const;
