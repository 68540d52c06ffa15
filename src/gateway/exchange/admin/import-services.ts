import { group } from '../../admin/kit.js';
import { importCoverages, importWcs } from './import-coverages.js';
import { importOgcFeatures } from './import-ogc-features.js';
import { scanSource } from './import-scan.js';
import { importWfs } from './import-wfs.js';
import { exportWmts } from './import-wmts.js';
import { discoverGeoServer } from './migrations/import-geoserver.js';
import { geoServerMigrations } from './migrations/import-geoserver-jobs.js';
import { discoverGeoServices } from './migrations/import-geoservices.js';
import { geoServicesImports } from './migrations/import-geoservices-jobs.js';
import { migrationBatches } from './migrations/import-migrations.js';

/** Imports from other servers. */
export const importServices = group({ tag: 'Import', scope: 'import-services', envelope: 'raw' }, [
  scanSource,
  discoverGeoServer,
  ...geoServerMigrations,
  discoverGeoServices,
  ...geoServicesImports,
  ...migrationBatches,
  importOgcFeatures,
  exportWmts,
  importWcs,
  importWfs,
  importCoverages,
]);
