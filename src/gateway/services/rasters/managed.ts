import type { Pools } from '../../../core/tasks.js';
import type { JobEngine } from '../jobs/engine.js';
import { CloudRasters } from './cloud.js';
import { RasterImports } from './import.js';
import type { UrlOf } from './places.js';
import { type RegisteredDeps, RegisteredRasters } from './registered.js';

export interface ManagedRastersDeps extends RegisteredDeps {
  pools: Pools;
  jobs: JobEngine;
  urlOf: UrlOf;
}

/** Everything that the management API does with rasters. */
export interface ManagedRasters {
  readonly cloud: CloudRasters;
  readonly imports: RasterImports;
}

export function manageRasters(deps: ManagedRastersDeps): ManagedRasters {
  const registered = new RegisteredRasters(deps);
  return {
    cloud: new CloudRasters(registered, deps),
    imports: new RasterImports(registered, deps),
  };
}
