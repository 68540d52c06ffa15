import { action, group, report, resource, setting } from '../kit.js';

/** The groups of which nothing is built yet, as the contract lists them. One that is built gets a file of its own. */

/** Sign-in of operators. */
export const adminAuth = group({ tag: 'Security and admin auth', scope: 'admin-auth', envelope: 'raw' }, [
  report('GET /auth/config', 'Get Admin Auth Configuration'),
  report('GET /auth/session', 'Get Admin Auth Session'),
  action('POST /auth/bearer', 'Issue Console Operator Bearer'),
  action('POST /auth/logout', 'Logout Admin Auth Session'),
  action('POST /auth/providers/{providerKey}/authorize-url', 'Create Admin Auth Authorize Url'),
  action('POST /auth/providers/{providerKey}/token', 'Request Admin Auth Token'),
  report('GET /auth/providers/{providerKey}/logout-url', 'Get Admin Auth Logout Url'),
]);

/** Alert zones, rules and delivery channels. */
export const alerts = group({ tag: 'Alerts', scope: 'alerts', envelope: 'wrapped' }, [
  ...resource('/alerts/zones/{zoneId}', {
    list: 'List Alert Zones',
    create: 'Create Alert Zone',
    get: 'Get Alert Zone',
    update: 'Update Alert Zone',
    remove: 'Delete Alert Zone',
  }),
  ...resource('/alerts/rules/{ruleId}', {
    list: 'List Alert Rules',
    create: 'Create Alert Rule',
    get: 'Get Alert Rule',
    update: 'Update Alert Rule',
    remove: 'Delete Alert Rule',
  }),
  report('POST /alerts/rules/test', 'Test Alert Rule'),
  action('PUT /alerts/rules/{ruleId}/enabled', 'Set Alert Rule Enabled State'),
  report('GET /alerts/rules/{ruleId}/health', 'Get Alert Rule Health'),
  report('GET /alerts/channels', 'List Alert Channel States'),
  action('POST /alerts/channels/{channel}/pause', 'Pause Alert Channel'),
  action('POST /alerts/channels/{channel}/resume', 'Resume Alert Channel'),
  action('POST /alerts/dispatch/redrive', 'Redrive Alert Dead-Letters'),
  report('GET /alerts/rules/{ruleId}/events', 'List Alert Rule Events'),
]);

/** Trust in client certificates. */
export const clientCertificates = group(
  { tag: 'Security and admin auth', scope: 'client-certificates', envelope: 'wrapped' },
  [
    ...resource('/security/client-certificates/profiles/{profileId}', {
      list: 'List Client Certificate Trust Profiles',
      create: 'Create Client Certificate Trust Profile',
      get: 'Get Client Certificate Trust Profile',
      update: 'Update Client Certificate Trust Profile',
      remove: 'Disable Client Certificate Trust Profile',
    }),
    ...resource('/security/client-certificates/profiles/{profileId}/mappings/{mappingId}', {
      list: 'List Client Certificate Principal Mappings',
      create: 'Create Client Certificate Principal Mapping',
      update: 'Update Client Certificate Principal Mapping',
      remove: 'Disable Client Certificate Principal Mapping',
    }),
    ...resource('/security/client-certificates/profiles/{profileId}/revocations/{revocationId}', {
      list: 'List Client Certificate Revocations',
      create: 'Add Client Certificate Revocation',
      remove: 'Remove Client Certificate Revocation',
    }),
    report('POST /security/client-certificates/validate', 'Validate Client Certificate'),
  ],
);

/** Evidence for controls, residency and encryption. */
export const compliance = group({ tag: 'Compliance', scope: 'compliance', envelope: 'wrapped' }, [
  report('GET /compliance/dashboard', 'Get Compliance Dashboard'),
  report('GET /compliance/report', 'Export Compliance Report'),
  report('POST /compliance/residency/evaluate', 'Evaluate Residency Policy'),
  action('POST /compliance/encryption/rotate-key', 'Advance Compliance Key-Version Posture'),
]);

/** Databases that layers are published from. */
export const connections = group({ tag: 'Connections', scope: 'connections', envelope: 'wrapped' }, [
  ...resource('/connections/{id}', {
    list: 'List Secure Connections',
    create: 'Create Secure Connection',
    get: 'Get Secure Connection',
    update: 'Update Secure Connection',
    remove: 'Delete Secure Connection',
  }),
  report('GET /connections/{id}/tables', 'Get Connection Tables'),
  action('POST /connections/test', 'Test Draft Connection'),
  action('POST /connections/{id}/test', 'Test Saved Connection'),
  report('POST /connections/encryption/validate', 'Validate Encryption Service'),
  action('POST /connections/encryption/rotate-key', 'Rotate Encryption Key'),
]);

/** Deployment operations and their preflight. */
export const deploy = group({ tag: 'Deploy', scope: 'deploy', envelope: 'raw' }, [
  report('GET /deploy/preflight', 'Get Deploy Preflight'),
  report('POST /deploy/plan', 'Plan Deploy Operation'),
  ...resource('/deploy/operations/{operationId}', {
    list: 'List Deploy Operations',
    create: 'Create Deploy Operation',
    get: 'Get Deploy Operation',
  }),
  action('POST /deploy/operations/{operationId}/submit', 'Submit Deploy Operation'),
  action('POST /deploy/operations/{operationId}/rollback', 'Rollback Deploy Operation'),
  action('POST /deploy/operations/{operationId}/promote', 'Promote Deploy Operation'),
]);

/** Keys that web pages embed, and their use. */
export const embedKeys = group({ tag: 'Embed keys', scope: 'embed-keys', envelope: 'wrapped' }, [
  ...resource('/embed/keys/{id}', {
    list: 'List Embed Keys',
    create: 'Create Embed Key',
    get: 'Get Embed Key',
  }),
  action('POST /embed/keys/{id}/rotate', 'Rotate Embed Key'),
  action('POST /embed/keys/{id}/revoke', 'Revoke Embed Key'),
  report('GET /embed/usage', 'Query Embed Usage'),
]);

/** Discovery of services elsewhere. */
export const externalServices = group(
  { tag: 'External services', scope: 'external-services', envelope: 'raw' },
  [action('POST /external-services/discover', 'Discover External Service')],
);

/** What this edition can do. */
export const features = group({ tag: 'Features', scope: 'features', envelope: 'wrapped' }, [
  report('GET /features', 'Get Feature Overview'),
]);

/** Sources that are queried where they are. */
export const federation = group({ tag: 'Federation', scope: 'federation', envelope: 'raw' }, [
  report('GET /federation/sources', 'List Federated Sources'),
  report('GET /federation/sources/{id}/plan', 'Plan Federated Query'),
]);

/** Attributes hidden from roles. */
export const fieldMasks = group({ tag: 'Field-mask policies', scope: 'field-masks', envelope: 'wrapped' }, [
  ...resource('/field-mask-policies/{id}', {
    list: 'List Field-Mask Policies',
    create: 'Create Field-Mask Policy',
    get: 'Get Field-Mask Policy',
    remove: 'Delete Field-Mask Policy',
  }),
]);

/** Review of data collected in the field. */
export const fieldWorkflows = group({ tag: 'Field workflows', scope: 'field-workflows', envelope: 'raw' }, [
  report('GET /field-workflows/submissions', 'List Field Submissions'),
  report('GET /field-workflows/submissions/{submissionId}', 'Get Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/assignment', 'Assign Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/decision', 'Decide Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/comments', 'Comment On Field Submission'),
  report('GET /field-workflows/exports', 'List Field Exports'),
  action('POST /field-workflows/exports', 'Create Field Export'),
]);

/** Form packages for data collection. */
export const forms = group({ tag: 'Forms', scope: 'forms', envelope: 'raw' }, [
  ...resource('/forms/packages/{formId}', {
    list: 'List Form Packages',
    create: 'Create Form Package Draft',
    get: 'Get Current Form Package',
  }),
  action('POST /forms/packages/generate', 'Generate Form Package'),
  ...resource('/forms/packages/{formId}/versions/{packageVersion}', {
    list: 'List Form Package Versions',
    get: 'Get Form Package Version',
    update: 'Update Form Package Draft',
  }),
  report('POST /forms/packages/{formId}/versions/{packageVersion}/validate', 'Validate Form Package Version'),
  action('POST /forms/packages/{formId}/versions/{packageVersion}/publish', 'Publish Form Package Version'),
  action('POST /forms/packages/{formId}/versions/{packageVersion}/reopen', 'Reopen Form Package Version'),
]);

/** Geocoding providers and reference data. */
export const geocoding = group({ tag: 'Geocoding', scope: 'geocoding', envelope: 'wrapped' }, [
  report('GET /geocoding/providers', 'Get Geocoding Providers'),
  action('POST /geocoding/reference-data/import', 'Import Geocoder Reference Data'),
]);

/** Use of geoprocessing tools. */
export const geoprocessing = group({ tag: 'Geoprocessing', scope: 'geoprocessing', envelope: 'wrapped' }, [
  report('GET /geoprocessing/tools/usage-ranking', 'Get geoprocessing tool usage ranking'),
]);

/** Identity providers and whether they can be reached. */
export const identity = group({ tag: 'Identity', scope: 'identity', envelope: 'wrapped' }, [
  report('GET /identity/providers', 'Get Identity Providers'),
  report('GET /identity/providers/{providerType}/test', 'Test Identity Provider Connectivity'),
]);

/** Import from other servers, and records of migrations. */
export const importServices = group({ tag: 'Import', scope: 'import-services', envelope: 'raw' }, [
  action('POST /import/scan', 'Scan Migration Source'),
  report('GET /import/platform-a/migrations', 'List Migration Runs (platform-a)'),
  report('GET /import/platform-a/migrations/{runId}/manifest', 'Get Migration Manifest'),
  action('POST /import/platform-a/migrations/{runId}/manifest', 'Record Migration Manifest'),
  report('GET /import/platform-a/migrations/{runId}/parity', 'Get Migration Parity'),
  action('POST /import/platform-a/migrations/{runId}/parity', 'Record Migration Parity'),
  action('POST /import/platform-b/discover', 'Discover Service (platform-b)'),
  action('POST /import/platform-b/start', 'Start Import (platform-b)'),
  report('GET /import/platform-b/jobs', 'List Import Jobs (platform-b)'),
  report('GET /import/platform-b/jobs/{jobId}', 'Get Import Job (platform-b)'),
  action('POST /import/platform-b/jobs/{jobId}/cancel', 'Cancel Import Job (platform-b)'),
  action('POST /import/geoservices/discover', 'Discover GeoServices Service'),
  action('POST /import/geoservices/start', 'Start GeoServices Import'),
  report('GET /import/geoservices/jobs', 'List GeoServices Import Jobs'),
  report('GET /import/geoservices/jobs/{jobId}', 'Get GeoServices Import Job'),
  action('POST /import/geoservices/jobs/{jobId}/cancel', 'Cancel GeoServices Import Job'),
  action('POST /import/migrations', 'Start Migration Batch'),
  report('GET /import/migrations/{batchId}', 'Get Migration Batch'),
  action('POST /import/ogc-api-features/collection', 'Import OGC API Features Collection'),
  action('POST /import/ogc-tiles/export', 'Export OGC WMTS Tile Cache'),
  action('POST /import/ogc-wcs/import', 'Import Legacy WCS Coverages'),
  action('POST /import/ogc-wfs/start', 'Start OGC WFS Import'),
  action('POST /import/ogc/coverages/import', 'Import OGC Coverages'),
]);

/** Collected evidence about an incident. */
export const investigations = group({ tag: 'Investigations', scope: 'investigations', envelope: 'raw' }, [
  ...resource('/investigations/{investigationId}', {
    list: 'List Investigations',
    create: 'Create Investigation',
    get: 'Get Investigation',
  }),
  action('PATCH /investigations/{investigationId}', 'Update Investigation'),
  action('POST /investigations/{investigationId}/links', 'Link Resource To Investigation'),
  action('DELETE /investigations/{investigationId}/links/{linkId}', 'Remove Investigation Link'),
  action('POST /investigations/{investigationId}/pins', 'Pin Event To Investigation'),
  action('DELETE /investigations/{investigationId}/pins/{pinId}', 'Remove Investigation Pin'),
]);

/** Publishing of tables as layers. */
export const layers = group({ tag: 'Layers', scope: 'layers', envelope: 'wrapped' }, [
  report('GET /connections/{id}/layers', 'List Published Layers'),
  action('POST /connections/{id}/layers', 'Publish Layer'),
  action('PUT /connections/{id}/layers/{layerId}/enabled', 'Set Layer Enabled'),
  action('PUT /connections/{id}/layers/enabled', 'Set Service Layers Enabled'),
  report('POST /connections/{id}/tables/validate', 'Validate Table For Layer Publishing'),
  action('POST /connections/{id}/layers/extents/refresh', 'Refresh Layer Extents'),
  action('POST /connections/{id}/layers/{layerId}/features/refresh', 'Refresh Layer Feature Snapshot'),
]);

/** License, entitlements and capacity. */
export const license = group({ tag: 'License', scope: 'license', envelope: 'wrapped' }, [
  report('GET /license', 'Get License Status'),
  action('POST /license', 'Upload License'),
  report('GET /license/entitlements', 'Get License Entitlements'),
  report('GET /license/status', 'Get Platform License Status'),
  report('GET /license/features', 'Get License Feature Entitlements'),
  action('POST /license/upload', 'Upload License File'),
  report('GET /license/capacity', 'Get License Capacity State'),
  action('POST /license/capacity/surge', 'Set License Surge Mode'),
]);

/** Records and evidence of migrations. */
export const migration = group({ tag: 'Migration', scope: 'migration', envelope: 'raw' }, [
  report('GET /migration/performance-evidence/latest', 'Get Latest Migration Performance Evidence'),
  report('GET /migration/performance-evidence/history', 'List Migration Performance Evidence History'),
  report('GET /migration/performance-evidence/{evidenceId}', 'Get Migration Performance Evidence'),
  ...resource('/migration/runs/{runId}', {
    list: 'List Migration Runs',
    create: 'Record Migration Run Started',
    get: 'Get Migration Run',
  }),
  action('POST /migration/runs/{runId}/complete', 'Record Migration Run Completed'),
  action('POST /migration/runs/{runId}/cancel', 'Cancel Migration Run'),
  report('GET /migration/runs/{runId}/evidence-pack', 'Download Migration Run Evidence Pack'),
  report('GET /migration/runs/{runId}/scorecard', 'Download Migration Run Reconciliation Scorecard'),
  action('POST /migration/runs/{runId}/scorecard', 'Record Migration Run Reconciliation Scorecard'),
]);

/** Networks for routing and their topology generations. */
export const networkDatasets = group(
  { tag: 'Network datasets', scope: 'network-datasets', envelope: 'raw' },
  [
    ...resource('/network-datasets/{id}', {
      list: 'List Network Datasets',
      create: 'Register Network Dataset',
      get: 'Get Network Dataset',
      update: 'Update Network Dataset',
      remove: 'Delete Network Dataset',
    }),
    report('GET /network-datasets/{id}/generations', 'List Topology Generations'),
    action('POST /network-datasets/{id}/generations', 'Allocate Draft Topology Generation'),
    action('POST /network-datasets/{id}/generations/{generation}/edits', 'Apply Topology Edit Batch'),
    action('POST /network-datasets/{id}/generations/{generation}/rebuild', 'Submit Topology Rebuild'),
    report(
      'GET /network-datasets/{id}/generations/{generation}/rebuild/{attempt}',
      'Get Topology Rebuild Attempt',
    ),
    action('POST /network-datasets/{id}/promote', 'Promote Topology Generation'),
    action('POST /network-datasets/{id}/rollback', 'Roll Back Topology Generation'),
    report('GET /network-datasets/{id}/promotions', 'List Topology Promotions'),
  ],
);

/** OAuth clients and the scopes they may ask for. */
export const oauth = group({ tag: 'OAuth clients and scopes', scope: 'oauth', envelope: 'wrapped' }, [
  ...resource('/oauth-clients/{id}', {
    list: 'List OAuth Clients',
    create: 'Register OAuth Client',
    get: 'Get OAuth Client',
    remove: 'Delete OAuth Client',
  }),
  ...setting('/oauth-scopes', { get: 'List OAuth Scopes', set: 'Define OAuth Scope' }),
  action('DELETE /oauth-scopes/{scope}', 'Delete OAuth Scope'),
]);

/** Errors, logs, alerts, findings and health as seen by operators. */
export const observability = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/errors', 'Get Recent Errors'),
  report('GET /observability/telemetry', 'Get Telemetry Status'),
  report('GET /observability/migrations', 'Get Migration Status'),
  report('GET /observability/alerts', 'List Observability Alerts'),
  report('GET /observability/alerts/{eventId}', 'Get Observability Alert'),
  action('POST /observability/alerts/{eventId}/acknowledge', 'Acknowledge Observability Alert'),
  action('POST /observability/alerts/{eventId}/resolve', 'Resolve Observability Alert'),
  action('POST /observability/alerts/{eventId}/suppress', 'Suppress Observability Alert'),
  ...resource('/observability/autonomy/policies/{rule}', {
    list: 'List Ops Autonomy Policies',
    get: 'Get Ops Autonomy Policy',
    update: 'Set Ops Autonomy Policy',
  }),
  ...setting('/observability/autonomy/settings', {
    get: 'Get Ops Autonomy Settings',
    set: 'Set Ops Autonomy Settings',
  }),
  report('GET /observability/events', 'List Operate Events'),
  report('GET /observability/findings', 'Get Ops Findings'),
  action('POST /observability/findings/{findingId}/propose', 'Propose Ops Finding Action'),
  report('GET /observability/logs', 'List Recent Server Logs'),
  report('GET /observability/ops-health', 'Get Ops Health Snapshot'),
  report('GET /observability/ops-health/history', 'Get Ops Health History'),
]);

/** OpenID Connect providers. */
export const oidc = group({ tag: 'OIDC providers', scope: 'oidc', envelope: 'wrapped' }, [
  ...resource('/oidc/providers/{id}', {
    list: 'List OIDC Providers',
    create: 'Create OIDC Provider',
    get: 'Get OIDC Provider',
    update: 'Update OIDC Provider',
    remove: 'Delete OIDC Provider',
  }),
  action('POST /oidc/providers/{id}/test', 'Test OIDC Provider Connection'),
]);

/** Review of packages before they run. */
export const packages = group({ tag: 'Packages', scope: 'packages', envelope: 'wrapped' }, [
  report('POST /packages/validate', 'Validate Package'),
  report('POST /packages/preview', 'Preview Package'),
]);

/** Convergence of the parts of a release. */
export const platformRelease = group(
  { tag: 'Platform release', scope: 'platform-release', envelope: 'raw' },
  [action('POST /platform-release/converge', 'Converge Platform Release')],
);

/** Proposed operations and their approval. */
export const proposals = group({ tag: 'Proposals', scope: 'proposals', envelope: 'raw' }, [
  report('GET /proposals', 'List Operation Proposals'),
  report('GET /proposals/{id}', 'Get Operation Proposal'),
  action('POST /proposals/{id}/approve', 'Approve Operation Proposal'),
  action('POST /proposals/{id}/reject', 'Reject Operation Proposal'),
]);

/** Rate limit policies and their state. */
export const rateLimits = group({ tag: 'Rate limits', scope: 'rate-limits', envelope: 'wrapped' }, [
  ...resource('/rate-limits/{id}', {
    list: 'List Rate Limit Policies',
    create: 'Create Rate Limit Policy',
    get: 'Get Rate Limit Policy',
    update: 'Update Rate Limit Policy',
    remove: 'Delete Rate Limit Policy',
  }),
  report('GET /rate-limits/status', 'Get Rate Limit Status'),
]);

/** Release packages of metadata and their rollout. */
export const releases = group({ tag: 'Metadata and capabilities', scope: 'releases', envelope: 'raw' }, [
  report('GET /metadata/environments/{environment}/inventory', 'Get Metadata Semantic Inventory'),
  report('POST /metadata/environment-bindings/query', 'Query Metadata Environment Bindings'),
  ...resource('/metadata/release-packages/{packageId}', {
    list: 'List Metadata Release Packages',
    create: 'Create Metadata Release Package',
    get: 'Get Metadata Release Package',
  }),
  report(
    'GET /metadata/release-packages/{packageId}/gitops-manifest',
    'Get Metadata Release GitOps Manifest',
  ),
  report('GET /metadata/releases/{packageId}/operation', 'Get Metadata Release Operation'),
  report('POST /metadata/prevalidate', 'Prevalidate Metadata Release Package Compatibility'),
  action('POST /metadata/coordinated-releases/operations', 'Create Coordinated Release Operation'),
  action(
    'POST /metadata/coordinated-releases/operations/{operationId}/approve/{gate}',
    'Approve Coordinated Release Gate',
  ),
  action(
    'POST /metadata/coordinated-releases/operations/{operationId}/rollback',
    'Roll Back Coordinated Release',
  ),
  report('GET /metadata/coordinated-releases/{packageId}/operation', 'Get Coordinated Release Operation'),
  action('POST /metadata/releases/operations', 'Create Metadata Release Operation'),
]);

/** Replicas of services and their conflicts. */
export const replicas = group({ tag: 'Services', scope: 'replicas', envelope: 'wrapped' }, [
  report('GET /services/{serviceId}/replicas', 'List Service Replicas'),
  report('GET /services/{serviceId}/replicas/{replicaId}', 'Get Service Replica'),
  report('GET /services/{serviceId}/replicas/{replicaId}/conflicts', 'List Replica Conflicts'),
  report('GET /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}', 'Get Replica Conflict'),
  action(
    'POST /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}/resolve',
    'Resolve Replica Conflict',
  ),
]);

/** Roles and their permissions. */
export const roles = group({ tag: 'Roles', scope: 'roles', envelope: 'wrapped' }, [
  ...resource('/roles/{id}', {
    list: 'List Roles',
    create: 'Create Role',
    get: 'Get Role',
    update: 'Update Role',
    remove: 'Delete Role',
  }),
  ...setting('/roles/{id}/permissions', { get: 'Get Role Permissions', set: 'Set Role Permissions' }),
]);

/** Rows hidden from roles. */
export const rowLevelSecurity = group(
  { tag: 'Row-level security', scope: 'row-level-security', envelope: 'wrapped' },
  [
    ...resource('/rls-policies/{id}', {
      list: 'List RLS Policies',
      create: 'Create RLS Policy',
      get: 'Get RLS Policy',
      remove: 'Delete RLS Policy',
    }),
  ],
);

/** 3D scene datasets. */
export const scenes = group({ tag: 'Scenes', scope: 'scenes', envelope: 'raw' }, [
  ...resource('/scenes/{id}', {
    list: 'List Scene Datasets',
    create: 'Register Scene Dataset',
    get: 'Get Scene Dataset',
    update: 'Update Scene Dataset',
    remove: 'Deactivate Scene Dataset',
  }),
  action('POST /scenes/generate', 'Generate Scene From Feature Layer'),
  action('POST /scenes/ingest/citygml', 'Ingest CityGML Scene'),
  action('POST /scenes/ingest/pointcloud', 'Ingest Point Cloud Scene'),
  report('GET /scenes/{id}/resolve', 'Resolve Scene Dataset'),
]);

/** Settings of services. */
export const services = group({ tag: 'Services', scope: 'services', envelope: 'wrapped' }, [
  report('GET /services', 'List Services'),
  report('GET /services/{serviceName}/settings', 'Get Service Settings'),
  action('PUT /services/{serviceName}/protocols', 'Update Service Protocols'),
  action('PUT /services/{serviceName}/mapserver', 'Update MapServer Settings'),
  action('PUT /services/{serviceName}/access-policy', 'Update Service Access Policy'),
  action('PUT /services/{serviceName}/timeinfo', 'Update Service Time Info'),
  action('PUT /services/{serviceName}/layers/{layerId}/metadata', 'Update Layer Metadata'),
  report('GET /services/{serviceName}/layers/{layerId}/export', 'Export Layer Data'),
]);

/** Tenants and their use. */
export const tenants = group({ tag: 'Tenants', scope: 'tenants', envelope: 'wrapped' }, [
  ...resource('/tenants/{tenantId}', {
    list: 'List Tenants',
    create: 'Create Tenant',
    get: 'Get Tenant',
    remove: 'Delete Tenant',
  }),
  report('GET /tenants/usage', 'Export Tenant Billing Usage'),
  action('POST /tenants/{tenantId}/suspend', 'Suspend Tenant'),
  action('POST /tenants/{tenantId}/resume', 'Resume Tenant'),
]);

/** Users and their roles. */
export const users = group({ tag: 'Users', scope: 'users', envelope: 'wrapped' }, [
  ...resource('/users/{id}', { list: 'List Users', get: 'Get User', remove: 'Deprovision User' }),
  action('PUT /users/{id}/roles', 'Update User Roles'),
  report('GET /users/{id}/effective-permissions', 'Get User Effective Permissions'),
]);
