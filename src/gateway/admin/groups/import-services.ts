import { action, group, report } from '../kit.js';

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
