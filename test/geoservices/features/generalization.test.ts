import decode from 'arcgis-pbf-parser';
import type { LineString, Position } from 'geojson';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, postgisStore } from '../../edits/support.js';
import { startTown, type Town } from '../../replicas/support.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

/** A coast that is rough at every size. */
const coast = (i: number): Position => [
  i / 1000,
  0.05 * Math.sin(i / 40) + 0.01 * Math.sin(i / 7) + 0.002 * Math.sin(i * 2.3),
];
const LINE: LineString = { type: 'LineString', coordinates: Array.from({ length: 900 }, (_, i) => coast(i)) };
const square = (x: number, y: number, side: number): Position[] => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
  [x, y],
];
const ISLAND: Position[] = Array.from({ length: 501 }, (_, i) => {
  const angle = ((i % 500) / 250) * Math.PI;
  const radius = 0.5 + 0.05 * Math.sin(angle * 9) + 0.004 * Math.sin(angle * 101);
  return [10 + radius * Math.cos(angle), 20 + radius * Math.sin(angle)];
});
const AREAS = [
  {
    type: 'MultiPolygon',
    coordinates: [[ISLAND, square(10, 20, 0.3).reverse(), square(10.4, 20, 0.0001).reverse()]],
  },
  { type: 'MultiPolygon', coordinates: [[square(12, 20, 0.0001)], [square(13, 20, 1)]] },
  { type: 'MultiPolygon', coordinates: [[square(12, 20, 0.0001)]] },
];

describe('lines and rings that are thinned', () => {
  const stores: EditableStore[] = [];
  const towns: Town[] = [];
  let database: EditableStore;
  beforeAll(async () => {
    database = await postgisStore();
    stores.push(geoPackageStore(), database);
    for (const store of stores) {
      const town = await startTown(store);
      towns.push(town);
      const add = async (collection: string, geometry: object, properties: object) => {
        const path = `${collection}/items`;
        const { status } = await town.send('POST', path, { type: 'Feature', geometry, properties });
        expect([collection, status]).toEqual([collection, 201]);
      };
      await add('anything', LINE, {});
      for (const [i, geometry] of AREAS.entries()) await add('parcels', geometry, { name: `area ${i}` });
    }
  });
  afterAll(async () => {
    for (const town of towns) await town.server.stop();
    for (const store of stores) await store.release();
  });

  /** The one answer of both stores. */
  const ask = async (collection: string, members: Json): Promise<Json> => {
    const [first, second] = await Promise.all(
      towns.map((town) => town.post(`${town.layers[collection]}/query`, { where: '1=1', ...members })),
    );
    expect(second).toEqual(first);
    return first;
  };
  const flat = (geometry: Json) => geometry.coordinates.map(([x, y]: Position) => [x, y]);
  const geometries = async (collection: string, members: Json): Promise<Json[]> => {
    const answer = await ask(collection, members);
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    return answer.features.map(({ geometry }: Json) => geometry);
  };

  it('are lines as PostGIS thins them', async () => {
    for (const maxAllowableOffset of [0, 0.0005, 0.003, 0.02, 5]) {
      const [row] = await database.query(
        `SELECT ST_AsGeoJSON(ST_Force2D(ST_Simplify(geom, ${maxAllowableOffset})), 7)::json AS line FROM anything`,
      );
      // PostGIS gives the heights that the table asks for, a file does not: they are left aside.
      for (const town of towns) {
        const members = { where: '1=1', f: 'geojson', maxAllowableOffset };
        const { features } = await town.post(`${town.layers['anything']}/query`, members);
        const lines = features.map(({ geometry }: Json) => flat(geometry));
        expect([maxAllowableOffset, lines]).toEqual([maxAllowableOffset, [flat(row!['line'])]]);
      }
    }
  });

  it('are rings no farther from what is left, in units of the answer', async () => {
    const whole = await geometries('parcels', { f: 'geojson' });
    for (const [outSR, maxAllowableOffset] of [
      [4326, 0.001],
      [4326, 0.02],
      [3857, 2000],
    ] as const) {
      const all = await geometries('parcels', { outSR, f: 'geojson', maxAllowableOffset });
      expect(all[0].coordinates[0][0].length).toBeLessThan(whole[0].coordinates[0][0].length - 100);
      const [row] =
        await database.query(`SELECT ST_HausdorffDistance(ST_ExteriorRing(ST_GeometryN(ST_Transform(geom, ${outSR}), 1)),
        ST_SetSRID(ST_GeomFromGeoJSON('${JSON.stringify({ type: 'LineString', coordinates: all[0].coordinates[0][0] })}'), ${outSR}), 0.01)
        AS distance FROM parcels WHERE fid = 1`);
      expect(row!['distance']).toBeLessThanOrEqual(maxAllowableOffset * 1.0001);
    }
  });

  it('are gone where fewer than three corners are left', async () => {
    const members = { outSR: 4326, maxAllowableOffset: 0.001 };
    const shape = ([island, pair, dot]: Json[], parts: (geometry: Json) => number) =>
      [island, pair, dot].map((geometry) => (geometry ? parts(geometry) : geometry));
    const json = await geometries('parcels', members);
    expect(shape(json, ({ rings }) => rings.length)).toEqual([2, 1, null]);
    const plain = await geometries('parcels', { ...members, f: 'geojson' });
    expect(shape(plain, ({ coordinates }) => coordinates.flat().length)).toEqual([2, 1, null]);
    expect(json[1].rings[0].length).toBe(5);
    const [whole] = await geometries('parcels', { outSR: 4326 });
    expect(whole.rings.length).toBe(3);
  });

  it('are the same as Protocol Buffers', async () => {
    const search = new URLSearchParams({
      where: 'fid < 3',
      outSR: '4326',
      maxAllowableOffset: '0.001',
      f: 'pbf',
    });
    const plain = await geometries('parcels', { ...Object.fromEntries(search), f: 'geojson' });
    for (const town of towns) {
      const path = `${town.server.url}/rest/services/default/FeatureServer/${town.layers['parcels']}/query?${search}`;
      const response = await fetch(path, { headers: { 'x-api-key': town.server.adminKey } });
      const { featureCollection } = decode(new Uint8Array(await response.arrayBuffer()));
      const counts = featureCollection.features.map(
        ({ geometry }: Json) => geometry.coordinates.flat(geometry.type === 'MultiPolygon' ? 2 : 1).length,
      );
      expect(counts).toEqual(plain.map(({ coordinates }) => coordinates.flat(2).length));
    }
  });

  it('keep their centroids', async () => {
    const members = { returnCentroid: true, outSR: 4326, where: 'fid = 1' };
    const { features } = await ask('parcels', { ...members, maxAllowableOffset: 0.05 });
    expect(features[0].centroid).toEqual((await ask('parcels', members)).features[0].centroid);
  });

  it.each(['-1', 'far', '1e999', 'NaN'])('refuse an offset of %s', async (maxAllowableOffset) => {
    const { error } = await ask('parcels', { maxAllowableOffset });
    expect(error).toMatchObject({ code: 400, message: expect.stringMatching(/^maxAllowableOffset: /) });
  });
});
