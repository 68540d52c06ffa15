import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Feature } from 'geojson';
import { type ArcgisSdk, openArcgisSdk } from '../../support/arcgis-sdk.js';
import { startServer, type TestServer } from '../../support/server.js';
import { layerNumbers } from '../../support/shared-server.js';
import { smallWorld } from '../../support/small-world.js';
import { addShapes } from './shapes.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
export type Json = any;

export const DEM = 'demo/data/olinda_dem_utm25s.tif';
export const MERCATOR = 'http://www.opengis.net/def/crs/EPSG/0/3857';

/** A server and a page of Esri's library, for all tests of it. */
export interface Stage {
  readonly server: TestServer;
  readonly sdk: ArcgisSdk;
  readonly home: string;
  /** Numbers of layers by the ids of their collections. */
  readonly numbers: Record<string, number>;
  readonly services: string;
  readonly mapService: string;
  readonly imageService: string;
  featureLayer(collection: string): string;
  itemsOf(collection: string, query?: string): Promise<Feature[]>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const home = mkdtempSync(join(tmpdir(), 'graticule-arcgis-'));
  const world = smallWorld(home, ['countries', 'disputed_borders']);
  addStations(world);
  addShapes(world, home);
  const env = { SVC_GEOCODING__COLLECTIONS: '{"countries":{"name":"NAME"}}' };
  const [server, sdk] = await Promise.all([startServer({ sources: [world, DEM], env }), openArcgisSdk()]);
  const services = `${server.url}/rest/services`;
  const numbers = await layerNumbers(server);
  return {
    ...{ server, sdk, home, numbers, services },
    mapService: `${services}/default/MapServer`,
    imageService: `${services}/olinda_dem_utm25s/ImageServer`,
    featureLayer: (collection) => `${services}/default/FeatureServer/${numbers[collection]}`,
    async itemsOf(collection, query = '') {
      const items = `${server.url}/ogc/features/collections/${collection}/items?f=json&limit=1000${query}`;
      return ((await (await fetch(items)).json()) as { features: Feature[] }).features;
    },
    async close() {
      await sdk.close();
      await server.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A point within each country, with the first letter of its name and its size in squares of a tenth of a degree. */
function addStations(world: string): void {
  const columns =
    'ST_PointOnSurface(geom) AS geom, NAME AS name, substr(NAME, 1, 1) AS letter, round(100 * ST_Area(geom)) AS size';
  execFileSync('ogr2ogr', [
    ...['-f', 'GPKG', '-update', world, world, '-nln', 'stations', '-nlt', 'POINT'],
    ...['-dialect', 'SQLite', '-sql', `SELECT ${columns} FROM countries`],
  ]);
}
