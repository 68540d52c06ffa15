import { resolve } from 'node:path';
import type { CatalogSnapshot } from '../core/catalog/collection.js';
import type { Config } from '../core/config/config.js';
import type { Pools } from '../core/tasks/tasks.js';
import { Catalog } from '../services/catalog/catalog.js';
import { ChosenCrsStore } from '../services/catalog/crs/chosen-crs.js';
import { Databases } from '../services/catalog/databases.js';
import { dataSettings } from '../services/catalog/publish/settings.js';
import { registeredIn } from '../services/catalog/rasters/registered-rasters.js';
import { StacImagery } from '../services/rasters/stac-imagery/searches.js';
import { remoteHosts } from '../services/storage/hosts.js';
import { openStorage } from '../services/storage/open.js';
import { openConfiguredState, type State } from '../stores/state/state.js';
import { withPools } from './local.js';
import { resolveConfig } from './settings.js';

export interface CatalogOptions {
  dataDir?: string;
  config?: string;
  source?: string[];
  crs?: Record<string, string>;
}

export interface LocalCatalog {
  catalog: CatalogSnapshot;
  pools: Pools;
  dataDir: string;
  config: Config;
  state: State;
}

/**
 * Opens the catalog that a server with these options would publish, and workers for it, for the duration of one
 * command.
 */
export async function withCatalog<T>(
  options: CatalogOptions,
  work: (local: LocalCatalog) => Promise<T>,
  vectorThreads?: number,
): Promise<T> {
  const { config } = resolveConfig(
    { 'data.directory': options.dataDir, 'data.sources': options.source, 'data.crs': options.crs },
    options.config,
  );
  const dataDir = resolve(config.data.directory);
  const state = await openConfiguredState(config);
  try {
    return await withPools(
      async (pools) => {
        const databases = new Databases(pools, config.postgis.startWaitMs);
        // Without a running server, the passwords of connections cannot be decrypted.
        const registered = () => registeredIn(state, async () => undefined);
        const storage = openStorage(config, pools);
        const chosenCrs = new ChosenCrsStore(state.documents);
        await chosenCrs.load();
        const catalog = new Catalog({
          pools,
          databases,
          imagery: new StacImagery(pools),
          dataDir,
          storage,
          layerIdOf: (id, holder) => state.collections.idOf(id, holder),
          holders: () => state.collections.holders(),
          findNames: (holders) => state.collections.findNames(holders),
          registered,
          chosenCrsOf: (path) => chosenCrs.of(path),
        });
        try {
          const snapshot = await catalog.prepare(dataSettings(config));
          return await work({ catalog: snapshot, pools, dataDir, config, state });
        } finally {
          databases.close();
        }
      },
      { vectorThreads, remoteHosts: remoteHosts(config) },
    );
  } finally {
    await state.close();
  }
}
