import { action, group, report } from '../kit.js';

/** Import of remote files, rasters, tile packages and toolboxes. */
export const importFiles = group({ tag: 'Import', scope: 'import-files', envelope: 'raw' }, [
  report('POST /import/toolbox/translation/validate', 'Validate a Translated Toolbox Manifest'),
  action('POST /import/preview-url', 'Preview a Geospatial File from a URL'),
  action('POST /import/upload-url', 'Import a Geospatial File from a URL'),
  action('POST /import/raster', 'Import Raster File'),
  report('GET /import/raster/formats', 'Get Raster Import Formats'),
  action('PATCH /import/raster/{rasterId}', 'Update Imported Raster'),
  action('DELETE /import/raster/{rasterId}', 'Delete Imported Raster'),
  action('POST /import/tile-package', 'Import Tile Cache Package'),
]);
