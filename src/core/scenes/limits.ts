export const SCENE_LIMITS = {
  /** Features of one tile. A scene whose tiles have more must be generated again. */
  tileFeatures: 65_536,
  /** Bytes of one tile before compression. */
  tileBytes: 64 * 2 ** 20,
} as const;
