import type { Feature, Position } from 'geojson';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Queries of a feature service say what OGC API Features says. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let server: SharedServer;
let layers: Record<string, number>;

beforeAll(async () => {
  server = await sharedServer();
  const home = await json('/?f=json');
  layers = Object.fromEntries(home.collections.map(({ id, layerId }: Json) => [id, layerId]));
});

async function json(path: string): Promise<Json> {
  const response = await fetch(server.url + path);
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
}

const service = '/rest/services/default/FeatureServer';

function query(collection: string, members: Record<string, string>): Promise<Json> {
  return json(`${service}/${layers[collection]}/query?${new URLSearchParams(members)}`);
}

async function post(collection: string, members: Record<string, string>): Promise<Json> {
  const response = await fetch(`${server.url}${service}/${layers[collection]}/query`, {
    method: 'POST',
    body: new URLSearchParams(members),
  });
  return response.json();
}

async function features(collection: string, search = 'limit=1000'): Promise<Feature[]> {
  return (await json(`/ogc/features/collections/${collection}/items?f=json&${search}`)).features;
}

/** Twice the signed area; positive: counterclockwise. */
function area(ring: readonly Position[]): number {
  return ring.slice(1).reduce((sum, [x, y], i) => sum + ring[i]![0]! * y! - x! * ring[i]![1]!, 0);
}

/** Rings of a geometry as sets of positions, which no orientation and no first corner changes. */
function ringsOf(geometry: Json): string[] {
  const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
  return polygons.flat().map(ringName).sort();
}
const ringName = (ring: Position[]) => [...new Set(ring.map(String))].sort().join(' ');

describe('features', () => {
  it('are those of the collection, with the same attributes and corners', async () => {
    const answer = await query('countries', { where: '1=1', outFields: '*', f: 'json' });
    const items = new Map((await features('countries')).map((one) => [one.id, one]));
    expect(answer).toMatchObject({ geometryType: 'esriGeometryPolygon', spatialReference: { wkid: 4326 } });
    expect(answer.exceededTransferLimit).toBeUndefined();
    expect(answer.features).toHaveLength(items.size);
    for (const { attributes, geometry } of answer.features) {
      const item = items.get(attributes.fid)!;
      expect(attributes).toEqual({ fid: item.id, ...item.properties });
      expect(geometry.rings.map(ringName).sort()).toEqual(ringsOf(item.geometry));
    }
  });

  it('have exterior rings that run clockwise, and holes that do not', async () => {
    const answer = await query('countries', { where: "iso_a2 IN ('ZA', 'IT')", outFields: 'iso_a2' });
    for (const { attributes, geometry } of answer.features) {
      const [item] = await features('countries', `filter=iso_a2='${attributes.iso_a2}'`);
      const { coordinates } = item!.geometry as { coordinates: Position[][][] };
      const clockwise = geometry.rings.filter((ring: Position[]) => area(ring) < 0);
      expect(clockwise).toHaveLength(coordinates.length);
      expect(geometry.rings).toHaveLength(coordinates.flat().length);
    }
  });

  it('come in other spatial references, with x first', async () => {
    const answer = await query('countries', {
      where: "iso_a2='FR'",
      outSR: '102100',
      geometryPrecision: '1',
    });
    const crs = encodeURIComponent('http://www.opengis.net/def/crs/EPSG/0/3857');
    const [item] = await features('countries', `filter=iso_a2='FR'&crs=${crs}`);
    expect(answer.spatialReference).toEqual({ wkid: 102_100, latestWkid: 3857 });
    const { coordinates } = item!.geometry as { coordinates: Position[][][] };
    const xs = (list: Position[]) => [Math.min(...list.map(([x]) => x!)), Math.max(...list.map(([x]) => x!))];
    const [least, most] = xs(answer.features[0].geometry.rings.flat());
    const [leastX, mostX] = xs(coordinates.flat(2));
    expect(least).toBeCloseTo(leastX!, 0);
    expect(most).toBeCloseTo(mostX!, 0);
  });

  it('are paged in an order', async () => {
    const names: string[] = [];
    for (let offset = 0; ; ) {
      const page = await query('countries', {
        ...{ where: '1=1', outFields: 'NAME', orderByFields: 'NAME DESC', returnGeometry: 'false' },
        ...{ resultOffset: String(offset), resultRecordCount: '100' },
      });
      expect(page.features[0].geometry).toBeUndefined();
      names.push(...page.features.map(({ attributes }: Json) => attributes.NAME));
      offset += page.features.length;
      if (!page.exceededTransferLimit) break;
    }
    const all = (await features('countries', 'limit=1000&sortby=-NAME')).map(
      (one) => one.properties!['NAME'],
    );
    expect(names).toEqual(all);
  });

  it('pass a condition, an area and a list of ids', async () => {
    const where = { where: "NAME LIKE 'S%'", returnCountOnly: 'true' };
    const items = await features('countries', "filter=NAME LIKE 'S%25'&limit=1000");
    expect(await query('countries', where)).toEqual({ count: items.length });
    const box = { geometry: '5,46,11,48', geometryType: 'esriGeometryEnvelope', outFields: 'NAME' };
    const inside = await query('countries', { ...box, returnGeometry: 'false' });
    expect(inside.features.map(({ attributes }: Json) => attributes.NAME).sort()).toEqual(
      (await features('countries', 'bbox=5,46,11,48')).map((one) => one.properties!['NAME']).sort(),
    );
    const objectIds = Array.from({ length: 2000 }, (_, i) => i + 1).join(',');
    const some = await post('countries', { objectIds, returnIdsOnly: 'true' });
    const ids = (await features('countries')).map(({ id }) => id as number);
    expect(some.objectIds).toEqual(ids.filter((id) => id <= 2000));
  });

  it('lie in windows across the antimeridian', async () => {
    const ids = async (geometry: string, inSR: string) =>
      (await query('countries', { geometry, inSR, returnIdsOnly: 'true' })).objectIds;
    const items = (await features('countries', 'bbox=170,-50,-170,70&limit=1000')).map(({ id }) => id);
    expect(items.length).toBeGreaterThan(2);
    for (const window of ['170,-50,190,70', '-190,-50,-170,70', '170,-50,-170,70'])
      expect([window, await ids(window, '4326')]).toEqual([window, items]);
    const [west, east, south, north] = [18924313.4349, 21150703.2508, -6446275.841, 11068715.6594];
    expect(await ids(`${west},${south},${east},${north}`, '102100')).toEqual(items);
  });

  it('lie within a distance over the ground', async () => {
    const near = async (distance: string, units: string) =>
      (
        await query('countries', {
          ...{ geometry: '8.54,47.37', geometryType: 'esriGeometryPoint', inSR: '4326', distance, units },
          ...{ outFields: 'NAME', returnGeometry: 'false', f: 'json' },
        })
      ).features.map(({ attributes }: Json) => attributes.NAME);
    expect(await near('0', 'esriSRUnit_Meter')).toEqual(['Switzerland']);
    const close = await near('40', 'esriSRUnit_Kilometer');
    expect(close.sort()).toEqual(['Germany', 'Switzerland']);
    expect(await near('40000', 'esriSRUnit_Meter')).toHaveLength(2);
    expect((await near('100', 'esriSRUnit_StatuteMile')).length).toBeGreaterThan(4);
  });

  it('are told as GeoJSON', async () => {
    const answer = await query('countries', { where: "iso_a2='FR'", outFields: 'NAME', f: 'geojson' });
    const [item] = await features('countries', "filter=iso_a2='FR'&properties=NAME");
    expect(answer.features).toEqual([
      expect.objectContaining({ id: item!.id, properties: item!.properties, geometry: item!.geometry }),
    ]);
  });

  it('have their id among the properties of GeoJSON where outFields asks for it', async () => {
    const properties = async (outFields: string) => {
      const answer = await query('countries', { where: "iso_a2='FR'", outFields, f: 'geojson' });
      return [answer.features[0].id, answer.features[0].properties];
    };
    const [id, all] = await properties('*');
    const [item] = await features('countries', "filter=iso_a2='FR'");
    expect(all).toEqual({ fid: id, ...item!.properties });
    expect(await properties('FID,NAME')).toEqual([id, { fid: id, NAME: 'France' }]);
    expect(await properties('fid')).toEqual([id, { fid: id }]);
    expect(await properties('NAME')).toEqual([id, { NAME: 'France' }]);
  });

  it.each(['FeatureServer', 'MapServer'])('are resources of their own on a %s', async (type) => {
    const path = `/rest/services/default/${type}/${layers['countries']}`;
    const search = new URLSearchParams({ where: "iso_a2='FR'", outFields: '*' });
    const [expected] = (await json(`${service}/${layers['countries']}/query?${search}`)).features;
    const id = expected.attributes.fid;
    const { feature } = await json(`${path}/${id}?f=json`);
    expect(feature).toEqual({
      ...expected,
      geometry: { ...expected.geometry, spatialReference: { wkid: 4326, latestWkid: 4326 } },
    });
    const { feature: other } = await json(`${path}/${id}?f=pjson&outSR=3857`);
    expect(other.geometry.spatialReference.latestWkid).toBe(3857);
    for (const other of ['99999999', 'x', '1.5'])
      expect(await json(`${path}/${other}?f=json`)).toMatchObject({ error: { code: 404 } });
  });

  it('may be asked for by a multipart form', async () => {
    const body = new FormData();
    for (const [name, value] of Object.entries({ where: "iso_a2='FR'", returnCountOnly: 'true', f: 'json' }))
      body.set(name, value);
    const response = await fetch(`${server.url}${service}/${layers['countries']}/query`, {
      method: 'POST',
      body,
    });
    expect(await response.json()).toEqual({ count: 1 });
  });

  it('have an extent', async () => {
    const { count, extent } = await query('countries', {
      ...{ where: "iso_a2='CH'", returnExtentOnly: 'true', returnCountOnly: 'true' },
    });
    const [item] = await features('countries', "filter=iso_a2='CH'");
    const { coordinates } = item!.geometry as { coordinates: Position[][][] };
    const corners = coordinates.flat(2);
    expect(count).toBe(1);
    expect(extent.xmin).toBeCloseTo(Math.min(...corners.map(([x]) => x!)), 5);
    expect(extent.ymax).toBeCloseTo(Math.max(...corners.map(([, y]) => y!)), 5);
    const none = await query('countries', { where: '1=0', returnExtentOnly: 'true' });
    expect(none.extent).toMatchObject({ xmin: 'NaN' });
  });
});

describe('documents', () => {
  it('list services and layers, and say what a layer can do', async () => {
    const { services } = await json('/rest/services?f=json');
    expect(services).toContainEqual({ name: 'default', type: 'FeatureServer' });
    const document = await json(`${service}?f=pjson`);
    const ids = document.layers.map(({ id }: Json) => id);
    expect(ids).toContain(layers['countries']);
    expect(ids).not.toContain(layers['olinda_dem_utm25s']);
    const layer = await json(`${service}/${layers['countries']}?f=json`);
    expect(layer).toMatchObject({
      ...{ type: 'Feature Layer', geometryType: 'esriGeometryPolygon', objectIdField: 'fid' },
      ...{ capabilities: 'Query', drawingInfo: { renderer: { type: expect.any(String) } } },
      ...{ supportedQueryFormats: 'JSON, geoJSON, PBF', supportsCoordinatesQuantization: true },
      ...{ tileMaxRecordCount: 10_000, maxRecordCountFactor: 10 },
    });
    const all = await json(`${service}/layers?f=json`);
    expect(all.layers.find(({ id }: Json) => id === layer.id)).toEqual(layer);
  });
});

describe('what is wrong', () => {
  it.each([
    ['where', { where: "NAME='x'; DROP TABLE countries" }],
    ['where', { where: "NAME = 'unended" }],
    ['where', { where: 'nowhere = 1' }],
    ['where', { where: '1=1 UNION SELECT name FROM sqlite_master' }],
    ['orderByFields', { orderByFields: 'NAME; DROP TABLE countries' }],
    ['orderByFields', { orderByFields: 'nowhere' }],
    ['outFields', { outFields: 'NAME,nowhere' }],
    ['outSR', { outSR: '999999' }],
    ['geometry', { geometry: '{"rings":[[[0,0],[1,1' }],
    ['geometry', { geometry: 'NaN,0,1,1' }],
    ['geometry', { geometry: '{"x":"NaN"}' }],
    ['spatialRel', { geometry: '0,0,1,1', spatialRel: 'esriSpatialRelNear' }],
    ['objectIds', { objectIds: '1,x' }],
    ['distance', { geometry: '8,47', geometryType: 'esriGeometryPoint', distance: 'far' }],
    ['units', { geometry: '8,47', geometryType: 'esriGeometryPoint', distance: '5' }],
    ['units', { geometry: '8,47', geometryType: 'esriGeometryPoint', distance: '5', units: 'feet' }],
    ['resultOffset', { resultOffset: '-1' }],
    ['resultRecordCount', { resultRecordCount: '1e99' }],
    ['outStatistics', { outStatistics: '[{"statisticType":"sum","onStatisticField":"fid;DROP TABLE x"}]' }],
    ['f', { f: 'exe' }],
  ])('%s is named: %j', async (name, members) => {
    const { error } = await query('countries', { where: '1=1', ...members } as Record<string, string>);
    expect([error.code, error.details.join()]).toEqual([400, expect.stringContaining(name)]);
  });

  it('layers and services that there are not are told in band', async () => {
    for (const path of ['/rest/services/none/FeatureServer', `${service}/99999`, `${service}/99999/query`])
      expect((await json(`${path}?f=json`)).error.code).toBe(404);
  });
});
