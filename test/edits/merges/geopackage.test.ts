import { connect } from '../../../src/workers/providers/geopackage/connection.js';
import { isFullRun } from '../../support/soak.js';
import { geoPackageStore } from '../support.js';
import { mergeSuite } from './suite.js';

/** Counts for seconds. */
const SLOW = `CREATE TRIGGER slow AFTER INSERT ON parcels WHEN NEW.name = 'slow' BEGIN
  SELECT max(n) FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 12000000) SELECT n FROM c);
END`;

mergeSuite(
  'GeoPackage',
  async () => {
    const store = geoPackageStore();
    const execute = async (sql: string) => {
      const db = connect(store.file, false);
      try {
        db.exec(sql);
      } finally {
        db.close();
      }
    };
    await execute(SLOW);
    return { ...store, execute };
  },
  isFullRun(import.meta.url),
);
