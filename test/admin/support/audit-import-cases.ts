import { ELSEWHERE, form, nothing, type OperationCase, POINTS } from './audit-case.js';

/** How operations that import are called. */
export const IMPORT_CASES: Readonly<Record<string, OperationCase>> = {
  'POST /import/preview': { bytes: form({}, ['points.csv', POINTS]) },
  'GET /import/jobs/{jobId}': nothing('jobId'),
  'POST /import/jobs/{jobId}/cancel': nothing('jobId'),
  'POST /import/upload': {
    bytes: form({ TABLENAME: 'audit', overwriteexisting: 'true', sourceSRID: '4326' }, [
      'points.csv',
      POINTS,
    ]),
  },
  'POST /import/uploads/{uploadId}/cancel': nothing('uploadId'),
  'GET /import/uploads/{uploadId}/progress': nothing('uploadId'),
  'POST /import/preview-url': { body: () => ({ sourceUrl: `${ELSEWHERE}/a.geojson` }), status: 400 },
  'POST /import/upload-url': {
    body: () => ({ sourceUrl: `${ELSEWHERE}/a.geojson`, tableName: 'a' }),
    status: 400,
  },
  'POST /import/raster': { bytes: form({ layerId: '1' }, ['a.txt', 'no raster']), status: 400 },
  'PATCH /import/raster/{rasterId}': {
    path: () => ({ rasterId: '4711' }),
    body: () => ({ name: 'x' }),
    status: 404,
  },
  'DELETE /import/raster/{rasterId}': { path: () => ({ rasterId: '4711' }), status: 404 },
  'POST /import/tile-package': {
    query: { tilesetId: 'audit', fileName: 'audit.tpkx' },
    bytes: () => ({ type: 'application/octet-stream', content: 'no package' }),
    status: 400,
  },
  'POST /import/scan': { body: () => ({ sourceKind: 'geoserver', sourceUrl: ELSEWHERE }), status: 400 },
  'POST /import/platform-b/discover': { body: () => ({ geoServerRestUrl: ELSEWHERE }), status: 400 },
  'POST /import/platform-b/start': {
    body: () => ({
      geoServerRestUrl: ELSEWHERE,
      dryRun: true,
      importOptions: { workspaceNameMappings: { A: 'b' } },
    }),
    status: 202,
  },
  'GET /import/platform-b/jobs/{jobId}': nothing('jobId'),
  'POST /import/platform-b/jobs/{jobId}/cancel': nothing('jobId'),
  'POST /import/geoservices/discover': {
    body: () => ({ serviceUrl: ELSEWHERE, credentials: { mode: 'none' } }),
    status: 400,
  },
  'POST /import/geoservices/start': {
    body: () => ({ serviceUrl: ELSEWHERE, tableName: 'a', layerId: 0, credentials: { mode: 'none' } }),
    status: 400,
  },
  'GET /import/geoservices/jobs/{jobId}': nothing('jobId'),
  'POST /import/geoservices/jobs/{jobId}/cancel': nothing('jobId'),
  'POST /import/migrations': {
    body: () => ({
      sourceKind: 'arcgis-geoservices-rest',
      layers: [{ sourceResourceId: 'a', serviceUrl: ELSEWHERE, layerId: 0, tableName: 'a' }],
    }),
    status: 400,
  },
  'GET /import/migrations/{batchId}': nothing('batchId'),
  'POST /import/ogc-api-features/collection': {
    body: () => ({ serviceUrl: ELSEWHERE, collectionId: 'c', targetSchema: 'main' }),
    status: 400,
  },
  'POST /import/ogc-tiles/export': { body: () => ({ serviceUrl: ELSEWHERE, dryRun: true }), status: 400 },
  'POST /import/ogc-wcs/import': { body: () => ({ serviceUrl: ELSEWHERE, inventory: {} }), status: 400 },
  'POST /import/ogc-wfs/start': { body: () => ({ serviceUrl: ELSEWHERE, dryRun: true }), status: 400 },
  'POST /import/ogc/coverages/import': {
    body: () => ({ serviceUrl: ELSEWHERE, inventory: {}, serviceType: 'WCS' }),
    status: 400,
  },
  'GET /import/platform-a/migrations/{runId}/manifest': nothing('runId'),
  'POST /import/platform-a/migrations/{runId}/manifest': {
    path: (w) => ({ runId: w.name('a-') }),
    body: () => ({
      sourceUrl: ELSEWHERE,
      manifest: {
        ...{ artifactKind: 'svc.migration.manifest', artifactVersion: '1.0', sourceKind: 'arcgis' },
        source: { baseUrl: ELSEWHERE },
        summary: {
          ...{ sourceResourceCount: 0, targetResourceCount: 0, styleActionCount: 0 },
          ...{ manualReviewCount: 0, unsupportedCount: 0 },
        },
        targetResources: [],
      },
    }),
  },
  'GET /import/platform-a/migrations/{runId}/parity': nothing('runId'),
  'POST /import/platform-a/migrations/{runId}/parity': {
    path: (w) => ({ runId: w.name('a-') }),
    body: () => ({
      parity: {
        ...{ artifactKind: 'svc.migration.arcgis-parity', artifactVersion: '1.0', sourceKind: 'arcgis' },
        ...{ source: { baseUrl: ELSEWHERE }, classification: 'pass', reasons: [], resourceProbes: [] },
      },
    }),
    status: 409,
  },
  'POST /import/toolbox/translation/validate': {
    body: () => ({
      ...{ toolboxName: 't', sourceFormat: 'pyt' },
      tools: [{ toolName: 'Buffer', parameterMappings: [], unsupportedConstructs: [] }],
    }),
  },
  'GET /import/jobs/{jobId}/rejected-rows': nothing('jobId'),
  'POST /import/resumable': {
    headers: {
      ...{ 'tus-resumable': '1.0.0', 'upload-length': '10' },
      'upload-metadata': `filename ${btoa('a.csv')},TableName ${btoa('resumable')}`,
    },
    status: 201,
  },
  'GET /import/resumable/{uploadId}': nothing('uploadId'),
  'PATCH /import/resumable/{uploadId}': {
    ...nothing('uploadId'),
    headers: { 'tus-resumable': '1.0.0', 'upload-offset': '0' },
    bytes: () => ({ type: 'application/offset+octet-stream', content: 'x' }),
  },
  'DELETE /import/resumable/{uploadId}': { ...nothing('uploadId'), headers: { 'tus-resumable': '1.0.0' } },
};
