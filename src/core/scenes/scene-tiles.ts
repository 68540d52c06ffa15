/** Tiles of 3D scenes that are encoded from features: contents of 3D Tiles 1.1 as binary glTF 2.0. */

import type { FeatureQuery } from '../features/features.js';
import type { Box } from '../geometry/box.js';

/** Source of a height of each feature. */
export interface HeightRule {
  /** Field whose value is the height. Text can have a unit: `12.5`, `12 m`, `40 ft`. */
  field?: string;
  /** Metres per unit of the field. Default: 1. */
  metres?: number;
  /** Metres for features without a value, for heights: without a value above 0. */
  otherwise?: number;
}

/** Features of a scene, and how they become solids. */
export interface SceneFeatures extends FeatureQuery {
  /** `extrusion` of footprints from `base` by `height`, or `faces` whose Z is their height. */
  shape: 'extrusion' | 'faces';
  /** Default: the smallest Z of a footprint, otherwise 0. */
  base?: HeightRule;
  /** Required for extrusions. Features without a height above 0 are omitted and counted. */
  height?: HeightRule;
  /** Metres per unit of Z. Default: 1. */
  metresPerZ?: number;
}

/** Describes the features of a scene by the cells of a level of the quadtree (see scene-cells.ts). */
export interface SceneCellsTask extends SceneFeatures {
  level: number;
}

export interface SceneTileTask extends SceneFeatures {
  /** Fields that become attributes. */
  fields: readonly string[];
  /**
   * West, south, east and north in degrees. The tile contains the features whose first position is in the box, its
   * west and south sides included.
   */
  window: Box;
  /** Longitude and latitude of the origin of positions. Default: the centre of the window. */
  origin?: readonly [number, number];
  /**
   * Metres to add to heights to make them ellipsoidal, at the corners southwest, southeast, northwest and northeast of
   * the window. Default: heights are ellipsoidal.
   */
  offsets?: readonly [number, number, number, number];
  /** Whether extruded features are closed at the bottom. Default: true. */
  floor?: boolean;
  /** Linear red, green, blue and alpha from 0 to 1. */
  color?: readonly [number, number, number, number];
  encoding: 'identity' | 'gzip';
}

export interface SceneTileResult extends SceneCounts {
  /** Binary glTF 2.0, compressed as requested. */
  data: Uint8Array;
  encoding: 'identity' | 'gzip';
  /** Entity tag of the content before compression. */
  tag: string;
}

/** Number of features in a tile or scene, and of features that are not in it by reason. */
export interface SceneCounts {
  features: number;
  /** Without a height above 0. */
  withoutHeight?: number;
  /** Without a polygon that has an area. */
  withoutArea?: number;
  /** With a geometry that cannot be read. */
  unreadable?: number;
  /** Polygons in the tile whose rings cross: their triangles overlap. */
  crossedRings?: number;
}

export interface SceneCellsResult extends SceneCounts {
  /** Numbers of each cell, in no order: see scene-cells.ts. */
  cells: Float64Array;
}

/** Tasks of scenes, in vector threads. */
export interface SceneTasks {
  'vector.sceneCells': { input: SceneCellsTask; output: SceneCellsResult };
  'vector.sceneTile': { input: SceneTileTask; output: SceneTileResult };
}
