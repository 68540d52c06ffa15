import { join, resolve } from 'node:path';
import type { CatalogSnapshot } from '../core/collection.js';
import type { Pools } from '../core/tasks.js';
import { Catalog } from '../gateway/services/catalog.js';
import { Databases } from '../gateway/services/databases.js';
import { openState } from '../gateway/stores/state.js';
import { withPools } from './local.js';
import { resolveConfig } from './settings.js';

export interface CatalogOptions {
  dataDir?: string;
  config?: string;
  source?: string[];
}

export interface LocalCatalog {
  catalog: CatalogSnapshot;
  pools: Pools;
  dataDir: string;
}

/** What a server with these options would publish, and workers for it, for one command. */
export async function withCatalog<T>(
  options: CatalogOptions,
  work: (local: LocalCatalog) => Promise<T>,
  vectorThreads?: number,
): Promise<T> {
  const { config } = resolveConfig(
    { 'data.directory': options.dataDir, 'data.sources': options.source },
    options.config,
  );
  const dataDir = resolve(config.data.directory);
  const state = await openState(join(dataDir, 'state.db'));
  try {
    return await withPools(
      async (pools) => {
        const databases = new Databases(pools);
        const layerIdOf = (id: string) => state.collections.idOf(id);
        // One reading has no collections to compare with those before it.
        const replaced = () => {};
        const catalog = new Catalog({ pools, databases, dataDir, layerIdOf, replaced });
        try {
          return await work({ catalog: await catalog.prepare(config.data.sources), pools, dataDir });
        } finally {
          databases.close();
        }
      },
      { vectorThreads, remoteHosts: config.remote.allow },
    );
  } finally {
    await state.close();
  }
}
