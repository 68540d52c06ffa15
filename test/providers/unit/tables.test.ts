import { afterAll, beforeAll } from 'vitest';
import { closeWriters } from '../../../src/workers/providers/geopackage/edits/writer.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { type Stores, startStores } from '../../cql2/stores.js';
import { COLUMNS, rows } from '../data.js';
import { layerOf } from '../postgis/support.js';
import { storeSuite } from '../suite.js';

let stores: Stores;
beforeAll(async () => {
  stores = await startStores(COLUMNS, rows);
}, 120_000);
afterAll(async () => {
  closeAll();
  closeWriters();
  await stores?.stop();
});

storeSuite('GeoPackage', async () => inspectGeoPackage(stores.geopackage.path)[0]!);
storeSuite('PostGIS', () => layerOf(stores.postgis.database, 'rows'));
