/** Options of the native encoder of scene tiles: `gr_glb` of SQLite, and `sceneTile()` of a PostgreSQL connection. */

/** Source of a height, by the number of its column. */
export interface SceneHeightOptions {
  column?: number;
  metres?: number;
  otherwise?: number;
}

export interface SceneTileOptions {
  /** Names and types of the values of a row. */
  fields: readonly (string | { name: string; type: string })[];
  /** Number of the first fields that become attributes. Default: 0. */
  shown?: number;
  /** CRS of the geometries; anything PROJ reads. */
  from: string;
  /** West, south, east, north in degrees; features belong to the tile by their first position. */
  window: readonly number[];
  /** Longitude and latitude of the origin of positions. */
  origin: readonly number[];
  /** Polygons with Z as faces in space. Default: footprints are extruded. */
  faces?: boolean;
  base?: SceneHeightOptions;
  height?: SceneHeightOptions;
  metresPerZ?: number;
  /** Metres to add to heights, at the corners southwest, southeast, northwest, northeast. */
  offsets?: readonly number[];
  floor?: boolean;
  /** Linear RGBA, 0 to 1. */
  color?: readonly number[];
  maxFeatures?: number;
  /** Bytes before compression. */
  maxBytes?: number;
  /** Level of cells in which features are counted, in place of the tile. */
  cellLevel?: number;
  /** Milliseconds since 1970, after which the encoder fails. */
  deadline?: number;
}
