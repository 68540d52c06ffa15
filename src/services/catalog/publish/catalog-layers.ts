import { hasFeatures } from '../../../core/catalog/abilities.js';
import {
  CatalogSnapshot,
  type Collection,
  type QuarantineEntry,
  type TileSettings,
} from '../../../core/catalog/collection.js';
import { withSettings } from './index.js';

/** Collections published in addition to the sources. */
export interface CatalogLayers {
  readonly collections: readonly Collection[];
  /** Their ids, and those of layers that are switched off: no source gets them. */
  readonly ids: ReadonlySet<string>;
  readonly quarantined: readonly QuarantineEntry[];
}

export const NO_LAYERS: CatalogLayers = { collections: [], ids: new Set(), quarantined: [] };

/**
 * The catalog of sources and layers. If a layer took the id of a collection that was read earlier, that collection is
 * omitted until the next reading.
 */
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
    [...read.quarantined.filter((one) => !collections.some((layer) => isOf(layer, one))), ...quarantined],
    read.generation,
    read.matrixSets,
  );
}

/** Whether a finding is about the table of a layer, which is published with what the table does not say, as its SRID. */
function isOf(layer: Collection, { path, layer: name, isUnread }: QuarantineEntry): boolean {
  if (isUnread || name === undefined || !hasFeatures(layer)) return false;
  const { schema, table } = layer.source;
  return path === layer.file && name === `${schema}.${table}`;
}
