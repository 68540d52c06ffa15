export const SCENE_LIMITS = {
  /** Scenes of a server, including inactive ones. */
  scenes: 10_000,
  /** Bytes of a tileset file that is registered. */
  tilesetBytes: 16 * 2 ** 20,
  /** Roles that can be allowed to read a scene. */
  roles: 100,
  /** Features of one tile. */
  tileFeatures: 65_536,
  /** Bytes of one tile before compression, and of the cells of a scene. */
  tileBytes: 64 * 2 ** 20,
  /** Level of the smallest cells: 180 degrees divided by 2 to this power. */
  maxLevel: 24,
} as const;
