import type { SceneDataset } from '../../core/scenes/scenes.js';

export const SCENES_PATH = '/scenes';

/** URL of the root tileset of a scene. */
export const tilesetUrl = (baseUrl: string, { id, tilesetFileName }: SceneDataset): string =>
  `${baseUrl}${SCENES_PATH}/${id}/${encodeURIComponent(tilesetFileName)}`;
