import type { AdminDeps } from './deps.js';
import { apiKeys } from './groups/api-keys.js';
import { audit } from './groups/audit.js';
import { cache } from './groups/cache.js';
import { cacheOperations } from './groups/cache-operations.js';
import { capabilities } from './groups/capabilities.js';
import { cloudRasters } from './groups/cloud-rasters.js';
import { configuration } from './groups/configuration.js';
import { featureEvents } from './groups/feature-events.js';
import { imports } from './groups/import.js';
import { importFiles } from './groups/import-files.js';
import { jobs } from './groups/jobs.js';
import { layerMetadata } from './groups/layer-metadata.js';
import { multidimCoverages } from './groups/multidim-coverages.js';
import { operations } from './groups/operations.js';
import { performance } from './groups/performance.js';
import { serviceOperations } from './groups/service-operations.js';
import { streaming } from './groups/streaming.js';
import { styles } from './groups/styles.js';
import { tileOperations } from './groups/tile-operations.js';
import {
  adminAuth,
  alerts,
  clientCertificates,
  compliance,
  connections,
  deploy,
  embedKeys,
  externalServices,
  features,
  federation,
  fieldMasks,
  fieldWorkflows,
  forms,
  geocoding,
  geoprocessing,
  identity,
  importServices,
  investigations,
  layers,
  license,
  migration,
  networkDatasets,
  oauth,
  observability,
  oidc,
  packages,
  platformRelease,
  proposals,
  rateLimits,
  releases,
  replicas,
  roles,
  rowLevelSecurity,
  scenes,
  services,
  tenants,
  users,
} from './groups/unbuilt.js';
import { zarrStores } from './groups/zarr-stores.js';
import { type AdminOperation, type Group, operationsOf } from './kit.js';

/** Every group of the management API, in the order of its documentation. */
export const GROUPS: readonly Group[] = [
  alerts,
  apiKeys,
  cache,
  cloudRasters,
  compliance,
  configuration,
  connections,
  deploy,
  embedKeys,
  externalServices,
  featureEvents,
  features,
  federation,
  fieldMasks,
  fieldWorkflows,
  forms,
  geocoding,
  geoprocessing,
  identity,
  imports,
  importFiles,
  importServices,
  investigations,
  jobs,
  layers,
  license,
  capabilities,
  releases,
  layerMetadata,
  migration,
  multidimCoverages,
  networkDatasets,
  oauth,
  observability,
  audit,
  oidc,
  cacheOperations,
  serviceOperations,
  operations,
  packages,
  platformRelease,
  proposals,
  performance,
  rateLimits,
  rowLevelSecurity,
  roles,
  scenes,
  adminAuth,
  clientCertificates,
  services,
  replicas,
  streaming,
  styles,
  tenants,
  tileOperations,
  users,
  zarrStores,
];

/** Every operation below /api/v1/admin; the ones without an implementation answer 501. */
export function adminOperations(deps: AdminDeps): AdminOperation[] {
  return GROUPS.flatMap((group) => operationsOf(group, deps));
}
