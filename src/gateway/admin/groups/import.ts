import { action, group, report } from '../kit.js';

/** Import of uploaded files. */
export const imports = group({ tag: 'Import', scope: 'import', envelope: 'raw' }, [
  report('GET /import/formats', 'Get Supported Import Formats'),
  action('POST /import/preview', 'Preview a Geospatial File'),
  report('GET /import/limits', 'Get Import Limits'),
  report('GET /import/jobs', 'List Active Import Jobs'),
  report('GET /import/jobs/{jobId}', 'Get Import Job Status'),
  action('POST /import/jobs/{jobId}/cancel', 'Cancel an Import Job'),
  action('POST /import/upload', 'Upload and Import a Geospatial File'),
  report('GET /import/uploads', 'List Active Import Uploads'),
  action('POST /import/uploads/{uploadId}/cancel', 'Cancel Import Upload'),
  report('GET /import/uploads/{uploadId}/progress', 'Get Import Upload Progress'),
]);
