import type { Pools } from '../../core/tasks/tasks.js';
import type { Catalog } from '../../services/catalog/catalog.js';
import { LiveScenes } from '../../services/scenes/live-scenes.js';
import { SceneRegistry } from '../../services/scenes/registry.js';
import { TilesetFolders } from '../../services/scenes/tileset-folders.js';
import type { State } from '../../stores/state/state.js';

export interface SceneServices {
  readonly scenes: SceneRegistry;
  readonly liveScenes: LiveScenes;
  readonly tilesetFolders: TilesetFolders;
}

/** Scenes of published folders and layers. */
export function createScenes(
  { documents }: Pick<State, 'documents'>,
  catalog: Pick<Catalog, 'sources'>,
  pools: Pools,
): SceneServices {
  const tilesetFolders = new TilesetFolders(() => catalog.sources);
  const scenes = new SceneRegistry({
    documents,
    validate: (settings) => tilesetFolders.validate(settings),
  });
  return { scenes, liveScenes: new LiveScenes(pools), tilesetFolders };
}
