import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Feature, Geometry, Position } from 'geojson';
import { describe, expect, it } from 'vitest';
import { browserClients } from '../../support/saved-page.js';
import type { Json, Stage } from './stage.js';

interface Terraformer {
  arcgisToGeoJSON(arcgis: Json, idAttribute: string): Json;
  geojsonToArcGIS(geojson: Json, idAttribute: string): Json;
}
const PACKAGE = join(browserClients(), '@terraformer/arcgis@2.2.2/dist/t-arcgis.umd.js');
const terraformer = createRequire(import.meta.url)(PACKAGE) as Terraformer;

const square = (x: number, y: number, side: number): Position[] => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
  [x, y],
];
const hole = (x: number, y: number, side: number) => square(x, y, side).reverse();

/** Geometries of each type, south of where pictures are compared. */
const SHAPES: Record<string, { type: string; geometries: Geometry[] }> = {
  peaks: {
    type: 'POINTZ',
    geometries: [
      { type: 'Point', coordinates: [10, -30, 1234.5] },
      { type: 'Point', coordinates: [-179.5, -31, 0] },
    ],
  },
  spots: {
    type: 'MULTIPOINT',
    geometries: [
      { type: 'MultiPoint', coordinates: [[11, -30]] },
      {
        type: 'MultiPoint',
        coordinates: [
          [12, -30],
          [13, -31],
          [12.5, -30.25],
        ],
      },
    ],
  },
  tracks: {
    type: 'MULTILINESTRINGZ',
    geometries: [
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [14, -30, 1],
            [15, -31, 2],
          ],
        ],
      },
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [16, -30, 1],
            [17, -31, 2],
            [18, -30, 3],
          ],
          [
            [19, -30, 4],
            [20, -31, 5],
          ],
        ],
      },
    ],
  },
  parcels: {
    type: 'MULTIPOLYGON',
    geometries: [
      { type: 'MultiPolygon', coordinates: [[square(21, -31, 1)]] },
      // A lake with an island, and another island beside.
      {
        type: 'MultiPolygon',
        coordinates: [
          [square(23, -35, 4), hole(24, -34, 2)],
          [square(24.5, -33.5, 0.5)],
          [square(28, -35, 1)],
        ],
      },
      { type: 'MultiPolygon', coordinates: [[square(30, -35, 4), hole(31, -34, 0.5), hole(32, -34, 0.5)]] },
    ],
  },
};

/** Layers of all types of geometry, added to a GeoPackage. */
export function addShapes(file: string, folder: string): void {
  for (const [name, { type, geometries }] of Object.entries(SHAPES)) {
    const features = geometries.map((geometry, i) => ({ type: 'Feature', properties: { i }, geometry }));
    const source = join(folder, `${name}.geojson`);
    writeFileSync(source, JSON.stringify({ type: 'FeatureCollection', features }));
    execFileSync('ogr2ogr', ['-f', 'GPKG', '-update', file, source, '-nln', name, '-nlt', type]);
  }
}

/** Geometries are those that Esri's converter makes of each other's formats. */
export function shapes(stage: Stage): void {
  const query = (collection: string, members: Record<string, string>): Promise<Json> =>
    ask(collection, 'query', { where: '1=1', outFields: '*', outSR: '4326', returnZ: 'true', ...members });

  async function ask(collection: string, operation: string, members: Record<string, string>): Promise<Json> {
    const response = await fetch(`${stage.featureLayer(collection)}/${operation}`, {
      ...{ method: 'POST', headers: { 'x-api-key': stage.server.adminKey } },
      body: new URLSearchParams({ f: 'json', ...members }),
    });
    return response.json();
  }

  describe.each([...Object.keys(SHAPES), 'disputed_borders'])('Terraformer makes of %s', (collection) => {
    it('GeoJSON as it is answered, and back', async () => {
      const [json, geojson] = [await query(collection, {}), await query(collection, { f: 'geojson' })];
      expect(json.features.length).toBeGreaterThan(1);
      const features: Feature[] = terraformer.arcgisToGeoJSON(json, 'fid').features;
      expect(features.map(({ id }) => id)).toEqual(geojson.features.map(({ id }: Feature) => id));
      expect(features.map(canonical)).toEqual(geojson.features.map(canonical));
      const back: Json[] = terraformer.geojsonToArcGIS(geojson, 'fid');
      expect(back.map(ringsOf)).toEqual(json.features.map(ringsOf));
    });
  });

  it.each(Object.keys(SHAPES))('%s that it converts are added as they are', async (collection) => {
    const { features } = await query(collection, { f: 'geojson' });
    const adds = JSON.stringify(terraformer.geojsonToArcGIS({ type: 'FeatureCollection', features }, 'fid'));
    const { addResults } = await ask(collection, 'addFeatures', { features: adds });
    expect(addResults).toEqual(features.map(() => ({ objectId: expect.any(Number), success: true })));
    const objectIds = addResults.map(({ objectId }: Json) => objectId).join();
    const copies = await query(collection, { f: 'geojson', objectIds });
    expect(copies.features.map(canonical)).toEqual(features.map(canonical));
    const { deleteResults } = await ask(collection, 'deleteFeatures', { objectIds });
    expect(deleteResults).toHaveLength(features.length);
  });
}

/** Rings from their least position on, and parts in one order; what has one part is as what may have several. */
function canonical({ geometry }: Feature): Json {
  const { type, coordinates } = geometry as Json;
  if (type === 'Point') return { type: 'MultiPoint', coordinates: [coordinates] };
  if (type === 'LineString') return { type: 'MultiLineString', coordinates: [coordinates] };
  if (!type.endsWith('Polygon')) return { type, coordinates };
  const polygons: Position[][][] = type === 'Polygon' ? [coordinates] : coordinates;
  const parts = polygons.map(([outer, ...holes]) =>
    [turned(outer!), ...holes.map(turned).sort()].join(' / '),
  );
  return { type: 'MultiPolygon', coordinates: parts.sort() };
}

/** Esri's geometry, with its rings from their least position on and in one order. */
function ringsOf({ geometry }: Json): Json {
  const { spatialReference: _, ...members } = geometry;
  return members.rings ? { ...members, rings: members.rings.map(turned).sort() } : members;
}

function turned(ring: Position[]): string {
  const positions = ring.slice(1).map((position) => position.join());
  const least = positions.indexOf([...positions].sort()[0]!);
  return [...positions.slice(least), ...positions.slice(0, least)].join(' ');
}
