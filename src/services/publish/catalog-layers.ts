import {
  CatalogSnapshot,
  type Collection,
  type Quarantined,
  type TileSettings,
} from '../../core/collection.js';
import { withSettings } from './index.js';

/** What is published beside the sources. */
export interface CatalogLayers {
  readonly collections: readonly Collection[];
  /** Their ids, and those of layers that are switched off: no source gets them. */
  readonly ids: ReadonlySet<string>;
  readonly quarantined: readonly Quarantined[];
}

export const NO_LAYERS: CatalogLayers = { collections: [], ids: new Set(), quarantined: [] };

/** Both in one catalog. A collection that was read before its id was taken is left out until the next reading. */
export function withLayers(
  read: CatalogSnapshot,
  { collections, ids, quarantined }: CatalogLayers,
  tiles: Readonly<Record<string, TileSettings>> = {},
): CatalogSnapshot {
  if (ids.size === 0) return read;
  const others = read.collections.filter(({ id }) => !ids.has(id));
  const layers = collections.map((layer) => withSettings(layer, tiles[layer.id]));
  return new CatalogSnapshot(
    [...others, ...layers],
    [...read.quarantined, ...quarantined],
    read.generation,
    read.matrixSets,
  );
}
