/** Scenes: 3D tilesets that the server publishes. */

import type { HeightRule } from './scene-tiles.js';

export const SCENE_TYPES = ['hosted_tiles', 'terrain', 'building', 'point_cloud'] as const;
type SceneType = (typeof SCENE_TYPES)[number];

interface SceneExtent {
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
}

/** Members that operators set. */
export interface SceneSettings {
  readonly name: string;
  readonly description: string | null;
  readonly datasetType: SceneType;
  /** Folder of the tileset. Empty for live scenes. */
  readonly assetRoot: string;
  readonly tilesetFileName: string;
  readonly extent: SceneExtent | null;
  readonly crs: string | null;
  readonly cachePolicy: { readonly maxAgeSeconds: number; readonly noStore: boolean };
  readonly isPublic: boolean;
  readonly requiresAuth: boolean;
  /** Null: all callers who can read the scene. */
  readonly allowedRoles: readonly string[] | null;
  readonly editionGate: string | null;
}

/** A scene whose tiles are encoded from the features of a layer at each request. */
export interface LiveScene {
  readonly layerId: number;
  /** Fields that become attributes. Null: all fields. */
  readonly fields: readonly string[] | null;
  readonly height: HeightRule;
  readonly base: HeightRule | null;
}

export interface SceneDataset extends SceneSettings {
  /** Id in URLs. */
  readonly id: string;
  readonly status: 'active' | 'inactive' | 'validation_failed';
  readonly validationMessage: string | null;
  /** Counts changes from 1. */
  readonly revision: number;
  readonly live?: LiveScene;
}
