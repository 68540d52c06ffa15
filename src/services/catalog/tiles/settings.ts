import type { TileSettings } from '../../../core/catalog/collection.js';
import { ConfigError } from '../../../core/config/config.js';

/** Throws a `ConfigError` for settings that leave a collection no zoom level. */
export function requireTileSettings(collections: Readonly<Record<string, TileSettings>>): void {
  const problems = Object.entries(collections)
    .filter(([, { minZoom = 0, maxZoom = Number.POSITIVE_INFINITY }]) => minZoom > maxZoom)
    .map(([id]) => `tiles.collections.${id} has a minZoom above its maxZoom`);
  if (problems.length > 0) throw new ConfigError(problems);
}
