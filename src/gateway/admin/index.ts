import type { AdminDeps } from './deps.js';
import { adminAuth } from './groups/admin-auth.js';
import { apiKeys } from './groups/api-keys.js';
import { audit } from './groups/audit.js';
import { cache } from './groups/cache.js';
import { cacheOperations } from './groups/cache-operations.js';
import { capabilities } from './groups/capabilities.js';
import { certificateParts, clientCertificates } from './groups/client-certificates.js';
import { cloudRasters } from './groups/cloud-rasters.js';
import { configuration } from './groups/configuration.js';
import { connections } from './groups/connections.js';
import { embedKeys } from './groups/embed-keys.js';
import { externalServices } from './groups/external-services.js';
import { featureEvents } from './groups/feature-events.js';
import { features } from './groups/features.js';
import { fieldMasks } from './groups/field-masks.js';
import { geocoding } from './groups/geocoding.js';
import { geoprocessing } from './groups/geoprocessing.js';
import { identity } from './groups/identity.js';
import { imports } from './groups/import.js';
import { importFiles } from './groups/import-files.js';
import { jobDiagnostics, jobs } from './groups/jobs.js';
import { layerMetadata } from './groups/layer-metadata.js';
import { layers, singleLayer } from './groups/layers.js';
import { migration, performanceEvidence } from './groups/migration.js';
import { migrationArtifacts } from './groups/migration-artifacts.js';
import { multidimCoverages } from './groups/multidim-coverages.js';
import { oauth } from './groups/oauth.js';
import { oidc } from './groups/oidc.js';
import { operations } from './groups/operations.js';
import { performance } from './groups/performance.js';
import { proposals } from './groups/proposals.js';
import { rateLimits } from './groups/rate-limits.js';
import { replicas } from './groups/replicas.js';
import { resumableUploads } from './groups/resumable-uploads.js';
import { roles } from './groups/roles.js';
import { rowPolicies } from './groups/row-policies.js';
import { serviceOperations } from './groups/service-operations.js';
import { services, singleLayerMetadata } from './groups/services.js';
import { streaming } from './groups/streaming.js';
import { styles } from './groups/styles.js';
import { tenants } from './groups/tenants.js';
import { tileOperations } from './groups/tile-operations.js';
import {
  alerts,
  compliance,
  deploy,
  federation,
  fieldWorkflows,
  forms,
  importServices,
  investigations,
  license,
  networkDatasets,
  observability,
  packages,
  platformRelease,
  scenes,
} from './groups/unbuilt.js';
import { users } from './groups/users.js';
import { zarrStores } from './groups/zarr-stores.js';
import { type AdminOperation, type Group, operationsOf } from './kit.js';
import { manifest } from './manifest/operations.js';
import { releases } from './releases/operations.js';

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
  migrationArtifacts,
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
  rowPolicies,
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

/** Operations of ours below the same path, beside those that the contract lists. */
export function extensionOperations(deps: AdminDeps): AdminOperation[] {
  return [
    ...[manifest, singleLayer, singleLayerMetadata, certificateParts],
    ...[resumableUploads, jobDiagnostics, performanceEvidence],
  ].flatMap((group) => operationsOf(group, deps));
}
