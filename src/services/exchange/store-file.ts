import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { seriesNumber } from '../../core/tiles/store-series.js';

/** The file of a store that has the table of a collection; see `ImportDeps.storeOf`. */
export function findStoreFile(collection: Collection | undefined, first: string): string | undefined {
  if (!hasFeatures(collection) || collection.stac || collection.source.path === undefined) return undefined;
  if (!existsSync(dirname(first))) return undefined;
  const path = realpathSync(collection.source.path);
  const folder = realpathSync(dirname(first));
  return seriesNumber(join(folder, basename(first)), path) === undefined ? undefined : path;
}
