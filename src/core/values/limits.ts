export const VALUE_LIMITS = {
  /** Values and members of JSON in a parameter, a field or a frame. */
  textValues: 50_000,
  textNames: 10_000,
} as const;
