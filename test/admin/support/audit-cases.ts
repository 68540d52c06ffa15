import { randomUUID } from 'node:crypto';
import { bundle as createBundle } from '../../diagnostics/support/bundles.js';
import { ELSEWHERE, form, id, nothing, type OperationCase } from './audit-case.js';
import { IMPORT_CASES } from './audit-import-cases.js';
import type { AuditWorld } from './audit-world.js';

const layer = { path: (w: AuditWorld) => ({ layerId: String(w.layers['countries']) }) };
const service = { path: () => ({ serviceName: 'default' }), shownBy: '/services/{serviceName}/settings' };
const newMapping = (w: AuditWorld) => w.newMapping();
/** Operations on the rasters of a layer that lie in a bucket. There is no bucket, so none can be registered. */
const registrations = (path: string, location: Readonly<Record<string, string>>) => {
  const missing: OperationCase = { path: () => ({ id: '4711' }), status: 404 };
  return {
    [`GET ${path}`]: { query: { layerId: '1' } },
    [`POST ${path}`]: {
      body: (w: AuditWorld) => ({
        ...{ layerId: w.layers['countries'], name: 'r', provider: 'AwsS3', bucket: 'b', ...location },
      }),
      status: 400,
    },
    [`GET ${path}/{id}`]: missing,
    [`DELETE ${path}/{id}`]: missing,
    [`POST ${path}/{id}/refresh`]: missing,
  };
};
const noEvent: OperationCase = { path: () => ({ eventId: '4711' }), status: 404 };
const anInvestigation = id((w) => w.investigation(), 'investigationId');
const inInvestigation = { ...anInvestigation, shownBy: '/investigations/{investigationId}' };
const aDraft: OperationCase = { path: async (w) => ({ formId: await w.formDraft(), packageVersion: '1' }) };
const aPublished: OperationCase = {
  path: async (w) => ({ formId: await w.publishedForm(), packageVersion: '1' }),
};
const FORM_VERSION = '/forms/packages/{formId}/versions/{packageVersion}';
const SUBMISSION = '/field-workflows/submissions/{submissionId}';
const aSubmission = id((w) => w.submission(), 'submissionId');
const aScene = id((w) => w.scene());
const aDeployment = id((w) => w.deployment(), 'operationId');
const certificate = '/security/client-certificates';
const LICENCE = () => ({ type: 'application/octet-stream', content: 'no licence' });

const disk = { path: () => ({ rule: 'disk-low' }) };
const noFinding: OperationCase = { path: () => ({ findingId: 'disk-low-0' }), status: 404 };

/** Operations that answer 200 to a call without path, query and body need no case. */
export const CASES: Readonly<Record<string, OperationCase>> = {
  ...IMPORT_CASES,
  'POST /alerts/channels/{channel}/pause': { path: () => ({ channel: 'slack' }) },
  'POST /alerts/channels/{channel}/resume': { path: () => ({ channel: 'slack' }) },
  'POST /alerts/zones': { body: (w) => w.newZone() },
  'GET /alerts/zones/{zoneId}': id((w) => w.zone(), 'zoneId'),
  'PUT /alerts/zones/{zoneId}': { ...id((w) => w.zone(), 'zoneId'), body: (w) => w.newZone() },
  'DELETE /alerts/zones/{zoneId}': id((w) => w.zone(), 'zoneId'),
  'POST /alerts/rules': { body: (w) => w.newAlertRule() },
  'GET /alerts/rules/{ruleId}': id((w) => w.alertRule(), 'ruleId'),
  'PUT /alerts/rules/{ruleId}': { ...id((w) => w.alertRule(), 'ruleId'), body: (w) => w.newAlertRule() },
  'DELETE /alerts/rules/{ruleId}': id((w) => w.alertRule(), 'ruleId'),
  'POST /alerts/rules/test': { body: async (w) => ({ rule: await w.newAlertRule() }) },
  'PUT /alerts/rules/{ruleId}/enabled': {
    ...id((w) => w.alertRule(), 'ruleId'),
    body: () => ({ enabled: false }),
    shownBy: '/alerts/rules/{ruleId}',
  },
  'GET /alerts/rules/{ruleId}/health': id((w) => w.alertRule(), 'ruleId'),
  'GET /alerts/rules/{ruleId}/events': id((w) => w.alertRule(), 'ruleId'),
  'GET /observability/alerts/{eventId}': noEvent,
  'POST /observability/alerts/{eventId}/acknowledge': noEvent,
  'POST /observability/alerts/{eventId}/resolve': noEvent,
  'POST /observability/alerts/{eventId}/suppress': {
    ...noEvent,
    body: () => ({ suppressUntil: new Date(Date.now() + 3_600_000).toISOString() }),
  },
  'POST /api-keys': { body: (w) => ({ name: w.name('key'), permissions: ['admin:read'] }), status: 201 },
  'POST /api-keys/{id}/rotate': id((w) => w.apiKey()),
  'POST /api-keys/{id}/revoke': id((w) => w.apiKey()),
  'GET /api-keys/{id}/effective-permissions': id((w) => w.apiKey()),
  'POST /cache/invalidate': { body: () => ({ scope: 'collection', collectionId: 'countries' }) },
  ...registrations('/cloud-rasters', { objectKey: 'k.tif' }),
  'POST /license': { bytes: LICENCE, status: 400 },
  'POST /license/upload': { bytes: LICENCE, status: 400 },
  'POST /license/capacity/surge': { body: () => ({ enabled: false }) },
  'POST /compliance/residency/evaluate': { body: () => ({ region: 'eu-central-1' }) },
  'POST /deploy/plan': { body: (w) => w.newDeployment() },
  'POST /deploy/operations': { body: (w) => w.newDeployment(), status: 201 },
  'GET /deploy/operations/{operationId}': aDeployment,
  'POST /deploy/operations/{operationId}/submit': { ...nothing('operationId'), tag: null },
  'POST /deploy/operations/{operationId}/rollback': { ...aDeployment, status: 409 },
  'POST /deploy/operations/{operationId}/promote': { ...aDeployment, status: 409 },
  'POST /platform-release/converge': { status: 503 },
  'POST /connections': { body: (w) => w.newConnection(), status: 201 },
  'GET /connections/{id}': id((w) => w.connection()),
  'PUT /connections/{id}': { ...id((w) => w.connection()), body: () => ({ description: 'changed' }) },
  'DELETE /connections/{id}': id((w) => w.connection()),
  'GET /connections/{id}/tables': { ...id((w) => w.connection()), status: 503 },
  'POST /connections/encryption/rotate-key': { status: 400 },
  'POST /connections/test': { body: (w) => w.newConnection() },
  'POST /connections/{id}/test': id((w) => w.connection()),
  'POST /embed/keys': { body: (w) => w.newEmbedKey(), status: 201 },
  'GET /embed/keys/{id}': id((w) => w.embedKey()),
  'POST /embed/keys/{id}/rotate': id((w) => w.embedKey()),
  'POST /embed/keys/{id}/revoke': id((w) => w.embedKey()),
  'POST /external-services/discover': { body: () => ({ url: ELSEWHERE }), status: 400 },
  'POST /field-mask-policies': { body: (w) => w.newMask(), status: 201 },
  'GET /field-mask-policies/{id}': id((w) => w.mask()),
  'DELETE /field-mask-policies/{id}': id((w) => w.mask()),
  'POST /geocoding/reference-data/import': {
    bytes: form({ locatorName: 'audit' }, ['places.csv', 'name,lon,lat\nAudit,7,47\n', 'referenceData']),
  },
  'GET /identity/providers/{providerType}/test': { path: () => ({ providerType: 'Generic' }), status: 404 },
  'GET /jobs/{jobId}': id((w) => w.tileJob(), 'jobId'),
  'GET /jobs/{jobId}/logs': id((w) => w.tileJob(), 'jobId'),
  'GET /jobs/{jobId}/artifacts': id((w) => w.tileJob(), 'jobId'),
  'GET /jobs/{jobId}/actions': id((w) => w.tileJob(), 'jobId'),
  'GET /jobs/{jobId}/steps': id((w) => w.tileJob(), 'jobId'),
  'GET /jobs/{jobId}/diagnostics': id((w) => w.tileJob(), 'jobId'),
  'POST /jobs/{jobId}/cancel': nothing('jobId'),
  'POST /jobs/{jobId}/retry': nothing('jobId'),
  'GET /connections/{id}/layers': id((w) => w.connection()),
  'POST /connections/{id}/layers': {
    ...id((w) => w.connection()),
    body: () => ({ schema: 'public', table: 'none', serviceName: 'default' }),
    status: 503,
  },
  'PUT /connections/{id}/layers/{layerId}/enabled': {
    path: async (w) => ({ id: await w.connection(), layerId: '1' }),
    body: () => ({ enabled: false }),
    ...{ status: 404, tag: null },
  },
  'PUT /connections/{id}/layers/enabled': {
    ...id((w) => w.connection()),
    ...{ body: () => ({ enabled: false }), shownBy: '/connections/{id}/layers' },
  },
  'GET /connections/{id}/layers/{layerId}': {
    path: async (w) => ({ id: await w.connection(), layerId: '1' }),
    status: 404,
  },
  'DELETE /connections/{id}/layers/{layerId}': {
    path: async (w) => ({ id: await w.connection(), layerId: '1' }),
    ...{ status: 404, tag: null },
  },
  'POST /connections/{id}/tables/validate': {
    ...id((w) => w.connection()),
    ...{ body: () => ({ schema: 'public', table: 'none' }), status: 503 },
  },
  'POST /connections/{id}/layers/extents/refresh': id((w) => w.connection()),
  'POST /connections/{id}/layers/{layerId}/features/refresh': {
    path: async (w) => ({ id: await w.connection(), layerId: '1' }),
    status: 404,
  },
  'GET /metadata/environments/{environment}/inventory': { path: () => ({ environment: 'default' }) },
  'POST /metadata/environment-bindings/query': {
    body: () => ({ environments: ['default'], semanticIds: ['Layer/countries'] }),
  },
  'POST /metadata/release-packages': {
    body: () => ({ sourceEnvironment: 'default', changeClasses: {} }),
    status: 201,
  },
  'GET /metadata/release-packages/{packageId}': id((w) => w.releasePackage(), 'packageId'),
  'GET /metadata/release-packages/{packageId}/gitops-manifest': id((w) => w.releasePackage(), 'packageId'),
  'POST /metadata/prevalidate': {
    body: async (w) => ({ targetEnvironment: 'default', releasePackageId: await w.releasePackage() }),
  },
  'GET /metadata/releases/{packageId}/operation': nothing('packageId'),
  'POST /metadata/releases/operations': {
    body: () => ({
      ...{ packageId: 'none', targetEnvironment: 'default', resourceSemanticId: 'Layer/countries' },
      newFieldName: 'NAME',
    }),
    status: 400,
  },
  'POST /metadata/coordinated-releases/operations': {
    body: () => ({
      ...{ packageId: 'none', targetEnvironment: 'default', resourceSemanticId: 'Layer/countries' },
      ...{ newFieldName: 'NAME', containerTargetId: 'c', desiredImage: 'i' },
    }),
    status: 400,
  },
  'POST /metadata/coordinated-releases/operations/{operationId}/approve/{gate}': {
    path: () => ({ operationId: randomUUID(), gate: 'data' }),
    ...{ body: () => ({ reason: 'why' }), status: 404 },
  },
  'POST /metadata/coordinated-releases/operations/{operationId}/rollback': {
    ...nothing('operationId'),
    body: () => ({ reason: 'why' }),
  },
  'GET /metadata/coordinated-releases/{packageId}/operation': nothing('packageId'),
  'POST /metadata/manifest/apply': {
    body: () => ({
      dryRun: true,
      resources: [{ kind: 'Role', metadata: { name: 'audited' }, spec: { permissions: [] } }],
    }),
  },
  'GET /metadata/layers/{layerId}/popup-info': layer,
  'PUT /metadata/layers/{layerId}/popup-info': {
    ...layer,
    body: (w) => ({ Title: w.name('t'), fieldInfos: [] }),
  },
  'GET /metadata/layers/{layerId}/drawing-info': layer,
  'PUT /metadata/layers/{layerId}/drawing-info': {
    ...layer,
    body: (w) => ({ transparency: w.layers['countries'] }),
  },
  'GET /metadata/layers/{layerId}/relationships': layer,
  'PUT /metadata/layers/{layerId}/relationships': {
    ...layer,
    body: (w) => ({
      relationships: [
        {
          ...{ id: w.name('r'), name: 'same', originField: 'NAME', destinationField: 'NAME' },
          relatedLayerId: w.layers['countries'],
        },
      ],
    }),
  },
  'GET /metadata/layers/{layerId}/fields': layer,
  'PUT /metadata/layers/{layerId}/fields': {
    ...layer,
    body: (w) => ({
      fields: [
        {
          ...{ name: 'NAME', alias: w.name('alias') },
          domain: { type: 'codedValue', name: 'd', codedValues: [{ code: 'A', name: 'a' }] },
        },
      ],
    }),
  },
  'GET /metadata/layers/{layerId}/filter': layer,
  'PUT /metadata/layers/{layerId}/filter': {
    ...layer,
    body: (w) => ({ permanentFilter: { expression: `NAME <> '${w.name('x')}'` } }),
  },
  'GET /metadata/layers/{layerId}/validation': layer,
  'POST /migration/performance-evidence': {
    body: () => ({
      ...{ sourceFamily: 'none', fixtureSize: 'small', status: 'Pass', generatedAt: '2001-01-01T00:00:00Z' },
      artifact: { Own: 1 },
    }),
    status: 201,
  },
  'GET /migration/performance-evidence/latest': { status: 204 },
  'GET /migration/performance-evidence/{evidenceId}': nothing('evidenceId'),
  'POST /migration/runs': { body: (w) => w.newRun() },
  'GET /migration/runs/{runId}': id((w) => w.run(), 'runId'),
  'POST /migration/runs/{runId}/complete': {
    ...id((w) => w.run(), 'runId'),
    body: () => ({ status: 'succeeded' }),
  },
  'POST /migration/runs/{runId}/cancel': { ...id((w) => w.run(), 'runId'), body: () => ({ reason: 'why' }) },
  'GET /migration/runs/{runId}/evidence-pack': { ...id((w) => w.run(), 'runId'), status: 404 },
  'GET /migration/runs/{runId}/scorecard': { ...id((w) => w.run(), 'runId'), status: 404 },
  'POST /migration/runs/{runId}/scorecard': {
    path: () => ({ runId: 'carded' }),
    body: () => ({
      ...{ artifactKind: 'svc.migration.reconciliation-scorecard', artifactVersion: '1.0' },
      ...{
        runId: 'carded',
        sourceKind: 'geoserver-rest',
        generatedAt: '2026-01-01T00:00:00Z',
        verdict: 'pass',
      },
      fingerprint: `sha256:${'0'.repeat(64)}`,
      dataReconciliation: {
        ...{ classification: 'pass', layerCount: 0, passCount: 0, warnCount: 0, failCount: 0 },
        ...{ skippedCount: 0, catalogFindingCount: 0, reasons: [], layers: [] },
      },
      capabilityParity: {
        ...{ constructCount: 0, automatedCount: 0, assistedCount: 0, manualReviewCount: 0 },
        ...{ unsupportedCount: 0, parityRatio: 1 },
      },
    }),
  },
  ...registrations('/multidim-coverages', { objectKey: 'k.nc', format: 'NetCDF' }),
  'GET /multidim-coverages/jobs/{jobId}': nothing('jobId'),
  'POST /oauth-clients': { body: (w) => ({ name: w.name('client'), allowedScopes: [] }), status: 201 },
  'GET /oauth-clients/{id}': id((w) => w.client()),
  'DELETE /oauth-clients/{id}': id((w) => w.client()),
  'PUT /oauth-scopes': { body: (w) => ({ scope: w.name('scope'), permissions: [] }) },
  'DELETE /oauth-scopes/{scope}': { ...id((w) => w.scope(), 'scope'), shownBy: '/oauth-scopes' },
  'POST /oidc/providers': { body: (w) => w.newProvider(), status: 201 },
  'GET /oidc/providers/{id}': id((w) => w.provider()),
  'PUT /oidc/providers/{id}': { ...id((w) => w.provider()), body: (w) => ({ name: w.name('provider') }) },
  'DELETE /oidc/providers/{id}': id((w) => w.provider()),
  'POST /oidc/providers/{id}/test': id((w) => w.provider()),
  'POST /operations/cache/invalidate': { body: () => ({ keyPattern: 'nothing*', scope: 'all' }) },
  'GET /operations/streaming/alerts': { status: 400 },
  'DELETE /operations/streaming/subscribers/{subscriberId}': { ...nothing('subscriberId'), tag: null },
  'GET /operations/type/{operationType}': { path: () => ({ operationType: 'TileCache' }) },
  'GET /operations/{operationId}': id((w) => w.tileJob(), 'operationId'),
  'POST /operations/{operationId}/cancel': nothing('operationId'),
  'GET /observability/requests/{requestId}': { path: () => ({ requestId: 'nothing' }), status: 404 },
  'GET /observability/autonomy/policies/{rule}': disk,
  'PUT /observability/autonomy/policies/{rule}': { ...disk, body: () => ({ maxBlastRadius: 2 }) },
  'PUT /observability/autonomy/settings': { body: () => ({ killSwitchEnabled: true }) },
  'POST /observability/findings/{findingId}/propose': noFinding,
  'GET /observability/findings/{findingId}': noFinding,
  'POST /observability/findings/{findingId}/notes': { ...noFinding, body: () => ({ text: 'Logs fill it.' }) },
  'GET /actuators': {},
  'POST /proposals': { body: () => ({ actuator: 'tiles.evict', parameters: {} }), status: 201 },
  'GET /proposals/{id}': id((w) => w.proposal()),
  'GET /proposals/{id}/seals': id((w) => w.proposal()),
  'POST /proposals/{id}/approve': nothing('id'),
  'POST /proposals/{id}/reject': { ...id((w) => w.proposal()), body: () => ({ reason: 'why' }) },
  'DELETE /performance/enhanced/cache/invalidate': { query: { pattern: 'nothing*' }, tag: null },
  'GET /field-workflows/submissions': {},
  [`GET ${SUBMISSION}`]: aSubmission,
  [`POST ${SUBMISSION}/assignment`]: {
    ...aSubmission,
    body: () => ({ assignedTo: 'ann' }),
    shownBy: SUBMISSION,
  },
  [`POST ${SUBMISSION}/decision`]: {
    ...aSubmission,
    body: () => ({ status: 'rejected' }),
    shownBy: SUBMISSION,
  },
  [`POST ${SUBMISSION}/comments`]: {
    ...aSubmission,
    body: () => ({ body: 'Looks good' }),
    status: 201,
    shownBy: SUBMISSION,
  },
  'POST /field-workflows/exports': { body: () => ({ format: 'csv' }) },
  'GET /scenes/{id}': aScene,
  'PUT /scenes/{id}': { ...aScene, body: () => ({ name: 'Renamed' }) },
  'DELETE /scenes/{id}': { ...aScene, status: 204 },
  'POST /scenes': { body: (w) => w.newScene(), status: 201 },
  'POST /scenes/generate': {
    body: (w) => ({ layerId: w.layers['countries'], sceneId: `scene${w.name('')}`, defaultHeight: 9 }),
    status: 201,
  },
  'GET /scenes/{id}/resolve': { ...aScene, shownBy: '/scenes/{id}' },
  'POST /forms/packages': { body: (w) => w.newForm(), status: 201 },
  'POST /forms/packages/generate': { body: (w) => ({ prompt: 'trees', package: w.newForm() }) },
  'GET /forms/packages/{formId}': id((w) => w.formDraft(), 'formId'),
  'GET /forms/packages/{formId}/versions': id((w) => w.formDraft(), 'formId'),
  [`GET ${FORM_VERSION}`]: aDraft,
  [`PUT ${FORM_VERSION}`]: {
    ...aDraft,
    headers: { 'if-match': '*' },
    requiresIfMatch: true,
    body: (w) => ({ ...w.newForm(), formId: null }),
  },
  [`POST ${FORM_VERSION}/validate`]: aDraft,
  [`POST ${FORM_VERSION}/publish`]: { ...aDraft, shownBy: FORM_VERSION },
  [`POST ${FORM_VERSION}/reopen`]: aPublished,
  'POST /investigations': { body: (w) => ({ title: w.name('case') }), status: 201 },
  'GET /investigations/{investigationId}': anInvestigation,
  'PATCH /investigations/{investigationId}': { ...anInvestigation, body: () => ({ status: 'closed' }) },
  'POST /investigations/{investigationId}/pins': {
    ...inInvestigation,
    body: () => ({ eventKind: 'log', eventRef: 'log:4711', occurredAt: '2026-01-31T00:00:00Z' }),
  },
  'DELETE /investigations/{investigationId}/pins/{pinId}': {
    ...inInvestigation,
    path: async (w) => ({ investigationId: await w.investigation(), pinId: '4711' }),
    status: 404,
  },
  'POST /investigations/{investigationId}/links': {
    ...inInvestigation,
    body: () => ({ resourceKind: 'changeSet', resourceId: '4711' }),
  },
  'DELETE /investigations/{investigationId}/links/{linkId}': {
    ...inInvestigation,
    path: async (w) => ({ investigationId: await w.investigation(), linkId: '4711' }),
    status: 404,
  },
  'POST /rate-limits': { body: (w) => w.newRateLimit(), status: 201 },
  'GET /rate-limits/{id}': id((w) => w.rateLimit()),
  'PUT /rate-limits/{id}': { ...id((w) => w.rateLimit()), body: () => ({ requestsPerWindow: 2000 }) },
  'DELETE /rate-limits/{id}': id((w) => w.rateLimit()),
  'GET /rate-limits/status': { query: { key: 'nobody-at-all' }, status: 404 },
  'POST /rls-policies': { body: (w) => w.newRowPolicy(), status: 201 },
  'GET /rls-policies/{id}': id((w) => w.rowPolicy()),
  'DELETE /rls-policies/{id}': id((w) => w.rowPolicy()),
  'POST /roles': { body: (w) => ({ name: w.name('role') }), status: 201 },
  'GET /roles/{id}': id((w) => w.role()),
  'PUT /roles/{id}': { ...id((w) => w.role()), body: () => ({ description: 'changed' }) },
  'DELETE /roles/{id}': id((w) => w.role()),
  'GET /roles/{id}/permissions': id((w) => w.role()),
  'PUT /roles/{id}/permissions': {
    ...id((w) => w.role()),
    body: () => ({ permissions: [{ service: '*', layer: '*', operation: 'read' }] }),
  },
  'POST /auth/bearer': { status: 401 },
  'POST /auth/providers/{providerKey}/authorize-url': { ...nothing('providerKey'), body: () => ({}) },
  'POST /auth/providers/{providerKey}/token': {
    path: () => ({ providerKey: randomUUID() }),
    ...{ body: () => ({ grantType: 'authorization_code', code: 'c', state: 's' }), status: 404 },
  },
  'GET /auth/providers/{providerKey}/logout-url': nothing('providerKey'),
  [`POST ${certificate}/profiles`]: { body: () => ({ environmentId: 'audit' }), status: 201 },
  [`GET ${certificate}/profiles/{profileId}`]: id((w) => w.profile(), 'profileId'),
  [`PUT ${certificate}/profiles/{profileId}`]: {
    ...id((w) => w.profile(), 'profileId'),
    body: () => ({ displayName: 'changed' }),
  },
  [`DELETE ${certificate}/profiles/{profileId}`]: id((w) => w.profile(), 'profileId'),
  [`GET ${certificate}/profiles/{profileId}/mappings`]: id((w) => w.profile(), 'profileId'),
  [`POST ${certificate}/profiles/{profileId}/mappings`]: {
    ...id((w) => w.profile(), 'profileId'),
    ...{ body: newMapping, status: 201 },
  },
  [`PUT ${certificate}/profiles/{profileId}/mappings/{mappingId}`]: {
    path: (w) => w.mapping(),
    body: newMapping,
  },
  [`GET ${certificate}/profiles/{profileId}/mappings/{mappingId}`]: { path: (w) => w.mapping() },
  [`DELETE ${certificate}/profiles/{profileId}/mappings/{mappingId}`]: {
    path: (w) => w.mapping(),
  },
  [`GET ${certificate}/profiles/{profileId}/revocations`]: id((w) => w.profile(), 'profileId'),
  [`POST ${certificate}/profiles/{profileId}/revocations`]: {
    ...id((w) => w.profile(), 'profileId'),
    ...{ body: (w) => w.newRevocation(), status: 201 },
  },
  [`DELETE ${certificate}/profiles/{profileId}/revocations/{revocationId}`]: {
    path: (w) => w.revocation(),
  },
  [`GET ${certificate}/profiles/{profileId}/revocations/{revocationId}`]: { path: (w) => w.revocation() },
  [`POST ${certificate}/validate`]: { body: () => ({ certificate: 'none', encoding: 'pem' }) },
  'GET /services/{serviceName}/settings': { path: () => ({ serviceName: 'default' }) },
  'PUT /services/{serviceName}/protocols': {
    ...service,
    body: () => ({ enabledProtocols: ['FeatureServer'] }),
  },
  'PUT /services/{serviceName}/mapserver': { ...service, body: () => ({ defaultDpi: 120 }) },
  'PUT /services/{serviceName}/access-policy': { ...service, body: () => ({ allowAnonymous: false }) },
  'PUT /services/{serviceName}/timeinfo': { ...service, body: () => ({ trackIdField: 'NAME' }) },
  'PUT /services/{serviceName}/layers/{layerId}/metadata': {
    path: (w) => ({ serviceName: 'default', layerId: String(w.layers['countries']) }),
    body: () => ({ license: 'CC0', accessPolicy: { allowAnonymous: true } }),
  },
  'GET /services/{serviceName}/layers/{layerId}/metadata': {
    path: (w) => ({ serviceName: 'default', layerId: String(w.layers['countries']) }),
  },
  'GET /services/{serviceName}/layers/{layerId}/export': {
    path: (w) => ({ serviceName: 'default', layerId: String(w.layers['countries']) }),
    query: { format: 'csv' },
  },
  'GET /federation/sources': {},
  'GET /federation/sources/{id}/plan': { path: () => ({ id: 'nowhere' }), status: 404 },
  'POST /packages/validate': { body: () => ({ packageFamily: 'query', packagePayload: {} }) },
  'POST /packages/preview': { body: () => ({ packageFamily: 'query', packagePayload: {} }) },
  'POST /diagnostics/bundles': { body: () => createBundle(), status: 201 },
  'GET /diagnostics/bundles': {},
  'GET /diagnostics/bundles/{bundleId}': id((w) => w.bundle(), 'bundleId'),
  'DELETE /diagnostics/bundles/{bundleId}': { ...id((w) => w.bundle(), 'bundleId'), status: 204 },
  'GET /observability/audit/checkpoints': {},
  'GET /observability/requests': {},
  'GET /sources': {},
  'GET /sources/{id}': id((w) => w.source()),
  'GET /sources/{id}/crs': id((w) => w.source()),
  'GET /sources/{id}/crs/preview': { ...id((w) => w.source()), query: { crs: 'EPSG:4326' } },
  'PUT /sources/{id}/crs': { ...id((w) => w.source()), body: () => ({ crs: 'EPSG:4326' }) },
  'DELETE /sources/{id}/crs': { ...id((w) => w.sourceWithCrs()), status: 204 },
  'GET /crs': { query: { q: 'british' } },
  'POST /sources/{id}/retry': id((w) => w.source()),
  'GET /services/{serviceId}/replicas': { path: () => ({ serviceId: 'default' }) },
  'GET /services/{serviceId}/replicas/{replicaId}': nothing('serviceId', 'replicaId'),
  'GET /services/{serviceId}/replicas/{replicaId}/conflicts': nothing('serviceId', 'replicaId'),
  'GET /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}': nothing(
    'serviceId',
    'replicaId',
    'conflictId',
  ),
  'POST /services/{serviceId}/replicas/{replicaId}/conflicts/{conflictId}/resolve': {
    ...nothing('serviceId', 'replicaId', 'conflictId'),
    body: () => ({ action: 'keepServer' }),
  },
  'DELETE /streaming/features/sessions/{sessionId}': { ...nothing('sessionId'), tag: null },
  'GET /metadata/layers/{layerId}/style': layer,
  'PUT /metadata/layers/{layerId}/style': {
    ...layer,
    body: () => ({
      drawingInfo: { renderer: { type: 'simple', symbol: { type: 'esriSFS', color: [1, 2, 3, 255] } } },
    }),
  },
  'POST /metadata/layers/{layerId}/style/import-sld': {
    ...layer,
    ...{ bytes: () => ({ type: 'application/xml', content: '<no-sld/>' }), status: 422 },
  },
  'GET /metadata/layers/{layerId}/style/export-sld': layer,
  'POST /metadata/layers/{layerId}/suggest-style': { ...layer, body: () => ({ preferredField: 'NAME' }) },
  'POST /tenants': { body: (w) => ({ tenantId: w.name('tenant') }), status: 201 },
  'GET /tenants/{tenantId}': id((w) => w.tenant(), 'tenantId'),
  'DELETE /tenants/{tenantId}': id((w) => w.tenant(), 'tenantId'),
  'POST /tenants/{tenantId}/suspend': id((w) => w.tenant(), 'tenantId'),
  'POST /tenants/{tenantId}/resume': { ...id((w) => w.tenant(), 'tenantId'), status: 409 },
  'POST /tile-operations/jobs': { body: (w) => w.newTileJob(), status: 202 },
  'GET /tile-operations/jobs/{jobId}': id((w) => w.tileJob(), 'jobId'),
  'POST /tile-operations/jobs/{jobId}/cancel': nothing('jobId'),
  'POST /tile-operations/jobs/{jobId}/retry': { ...nothing('jobId'), status: 400 },
  'GET /users/{id}': nothing('id'),
  'DELETE /users/{id}': nothing('id'),
  'PUT /users/{id}/roles': { ...nothing('id'), body: () => ({ roles: ['reader'] }), shownBy: '/users/{id}' },
  'GET /users/{id}/effective-permissions': nothing('id'),
  ...registrations('/zarr-stores', { rootPath: 'z' }),
  'GET /tile-operations/jobs/{jobId}/archive': nothing('jobId'),
  'GET /operations/{jobId}/export': nothing('jobId'),
};
