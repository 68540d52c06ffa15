import { action, group, report } from '../kit.js';
import { importRaster } from './import-raster.js';

/** Import of remote files, rasters, tile packages and toolboxes. */
export const importFiles = group({ tag: 'Import', scope: 'import-files', envelope: 'raw' }, [
  report('POST /import/toolbox/translation/validate', 'Validate a Translated Toolbox Manifest'),
  action('POST /import/preview-url', 'Preview a Geospatial File from a URL'),
  action('POST /import/upload-url', 'Import a Geospatial File from a URL'),
  ...importRaster,
  action('POST /import/tile-package', 'Import Tile Cache Package'),
]);
