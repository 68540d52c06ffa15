import type { JobEngine } from '../../jobs/engine.js';
import type { Storage } from '../../storage/storage.js';
import { CloudRasters } from './cloud.js';
import type { StoreOf } from './connection-rasters.js';
import type { GridDeps } from './grid-scan.js';
import { RasterImports } from './import.js';
import { MultidimCoverages } from './multidim.js';
import { type RegisteredDeps, RegisteredRasters } from './registered-rasters.js';
import { ZarrStores } from './zarr.js';

export interface ManagedRastersDeps extends RegisteredDeps, GridDeps {
  jobs: JobEngine;
  /** Milliseconds for reading a file. Default: `LIMITS.importReadMs`. */
  readMs?: number;
  storage: Storage;
  storeOf: StoreOf;
}

/** Everything that the management API does with rasters. */
export interface ManagedRasters {
  readonly cloud: CloudRasters;
  readonly imports: RasterImports;
  readonly multidim: MultidimCoverages;
  readonly zarr: ZarrStores;
}

export function manageRasters(deps: ManagedRastersDeps): ManagedRasters {
  const registered = new RegisteredRasters(deps);
  return {
    cloud: new CloudRasters(registered, deps),
    imports: new RasterImports(registered, deps),
    multidim: new MultidimCoverages(registered, deps),
    zarr: new ZarrStores(registered, deps),
  };
}
