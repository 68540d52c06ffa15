import { adminAuth } from '../access/admin/admin-auth.js';
import { apiKeys } from '../access/admin/api-keys.js';
import { certificateParts, clientCertificates } from '../access/admin/client-certificates.js';
import { embedKeys } from '../access/admin/embed-keys.js';
import { fieldMasks } from '../access/admin/field-masks.js';
import { identity } from '../access/admin/identity.js';
import { oauth } from '../access/admin/oauth.js';
import { oidc } from '../access/admin/oidc.js';
import { rateLimits } from '../access/admin/rate-limits.js';
import { roles } from '../access/admin/roles.js';
import { rowPolicies } from '../access/admin/row-policies.js';
import { tenants } from '../access/admin/tenants.js';
import { users } from '../access/admin/users.js';
import type { AdminDeps } from '../admin/deps.js';
import { type AdminOperation, createAdminOperations, type OperationGroup } from '../admin/kit.js';
import type { RunServices } from '../admin/row-run.js';
import { alertEvents } from '../alerts/admin/alert-events.js';
import { alertStreams } from '../alerts/admin/alert-streams.js';
import { alerts } from '../alerts/admin/alerts.js';
import { audit } from '../audit/admin/audit.js';
import { auditCheckpoints } from '../audit/admin/checkpoints.js';
import { layerMetadata } from '../catalog/admin/layer-metadata.js';
import { publishedLayerOperations, singleLayer } from '../catalog/admin/layers.js';
import { serviceOperations } from '../catalog/admin/service-operations.js';
import { services, singleLayerMetadata } from '../catalog/admin/services.js';
import { catalogSources } from '../catalog/admin/sources.js';
import { compliance } from '../compliance/admin/compliance.js';
import { connections } from '../connections/admin/connections.js';
import { deploy } from '../deploy/admin/deploy.js';
import { platformRelease } from '../deploy/admin/platform-release.js';
import { diagnosticBundles } from '../diagnostics/admin/bundles.js';
import { imports } from '../exchange/admin/import.js';
import { importFiles } from '../exchange/admin/import-files.js';
import { importServices } from '../exchange/admin/import-services.js';
import { migration, performanceEvidence } from '../exchange/admin/migrations/migration.js';
import { migrationArtifacts } from '../exchange/admin/migrations/migration-artifacts.js';
import { resumableUploads } from '../exchange/admin/resumable-uploads.js';
import { federation } from '../federation/admin/federation.js';
import { fieldWorkflows } from '../forms/admin/field-workflows.js';
import { formPackages } from '../forms/admin/form-packages.js';
import { geocoding } from '../geocoding/admin/geocoding.js';
import { investigations } from '../investigations/admin/investigations.js';
import { jobDiagnostics, jobs } from '../jobs/admin/jobs.js';
import { license } from '../licensing/admin/license.js';
import { manifest } from '../manifest/operations.js';
import { events } from '../observability/admin/events.js';
import { exceptions } from '../observability/admin/exceptions.js';
import { observability } from '../observability/admin/observability.js';
import { opsHealth } from '../observability/admin/ops-health.js';
import { performanceCache } from '../observability/admin/performance-cache.js';
import { queries } from '../observability/admin/queries.js';
import { requestRecords } from '../observability/admin/requests.js';
import { resources } from '../observability/admin/resources.js';
import { performanceSummary } from '../observability/admin/summary.js';
import { proposalSeals, proposedActions } from '../operate/admin/actions.js';
import { autonomy } from '../operate/admin/autonomy.js';
import { findingDetails, opsFindings } from '../operate/admin/findings.js';
import { proposals } from '../operate/admin/proposals.js';
import { capabilities } from '../operations/admin/capabilities.js';
import { configuration } from '../operations/admin/configuration.js';
import { externalServices } from '../operations/admin/external-services.js';
import { features } from '../operations/admin/features.js';
import { activeOperations } from '../operations/admin/operations.js';
import { networkDatasets } from '../operations/admin/unbuilt.js';
import { packageOperations } from '../packages/admin/packages.js';
import { geoprocessing } from '../processes/admin/geoprocessing.js';
import { cloudRasters } from '../rasters/admin/cloud-rasters.js';
import { multidimCoverages } from '../rasters/admin/multidim-coverages.js';
import { zarrStores } from '../rasters/admin/zarr-stores.js';
import { releases } from '../releases/operations.js';
import { replicas } from '../replicas/admin/replicas.js';
import { scenes } from '../scenes/admin/scenes.js';
import { featureEvents } from '../streams/admin/feature-events.js';
import { streaming } from '../streams/admin/streaming.js';
import { styles } from '../styles/admin/styles.js';
import { cache } from '../tiles/admin/cache.js';
import { cacheAdminOperations } from '../tiles/admin/cache-operations.js';
import { tileJobOperations } from '../tiles/admin/tile-operations.js';

/** Every group of the management API, in the order of its documentation. */
export const GROUPS: readonly OperationGroup[] = [
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
  formPackages,
  geocoding,
  geoprocessing,
  identity,
  imports,
  importFiles,
  importServices,
  migrationArtifacts,
  investigations,
  jobs,
  publishedLayerOperations,
  license,
  capabilities,
  releases,
  layerMetadata,
  migration,
  multidimCoverages,
  networkDatasets,
  oauth,
  alertEvents,
  events,
  observability,
  opsFindings,
  autonomy,
  opsHealth,
  audit,
  oidc,
  cacheAdminOperations,
  serviceOperations,
  alertStreams,
  activeOperations,
  packageOperations,
  platformRelease,
  proposals,
  queries,
  resources,
  exceptions,
  performanceCache,
  performanceSummary,
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
  tileJobOperations,
  users,
  zarrStores,
];

/** All operations below /api/v1/admin. Operations without an implementation respond with 501. */
export function adminOperations(deps: AdminDeps, runs: RunServices): AdminOperation[] {
  return GROUPS.flatMap((group) => createAdminOperations(group, deps, runs));
}

/** Graticule's own operations below the same path, in addition to those of the contract. */
export function extensionOperations(deps: AdminDeps, runs: RunServices): AdminOperation[] {
  return [
    ...[manifest, singleLayer, singleLayerMetadata, certificateParts],
    ...[resumableUploads, jobDiagnostics, performanceEvidence, catalogSources],
    ...[diagnosticBundles, auditCheckpoints, requestRecords, findingDetails, proposedActions, proposalSeals],
  ].flatMap((group) => createAdminOperations(group, deps, runs));
}
