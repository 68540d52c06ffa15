import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Maps of a map service, and what lies in them. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;
type Rgba = [number, number, number, number];

let server: SharedServer;
let layers: Record<string, number>;

const SERVICE = '/rest/services/default/MapServer';
const GERMANY = { bbox: '5,45,16,56', bboxSR: '4326', size: '220,220' };

beforeAll(async () => {
  server = await sharedServer();
  const home = (await (await fetch(`${server.url}/?f=json`)).json()) as Json;
  layers = Object.fromEntries(home.collections.map(({ id, layerId }: Json) => [id, layerId]));
});

async function json(path: string, members: Record<string, string> = {}): Promise<Json> {
  const response = await fetch(`${server.url}${path}?${new URLSearchParams({ f: 'json', ...members })}`);
  expect(response.status).toBe(200);
  return response.json();
}

interface Picture {
  width: number;
  height: number;
  channels: number;
  at(x: number, y: number): Rgba;
}

async function picture(path: string, members: Record<string, string>): Promise<Picture> {
  const response = await fetch(`${server.url}${path}?${new URLSearchParams({ f: 'image', ...members })}`);
  expect(response.headers.get('content-type')).toMatch(/^image\//);
  const image = sharp(await response.arrayBuffer());
  const { channels } = await image.metadata();
  const { data, info } = await image.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => {
    const start = (y * info.width + x) * 4;
    return [...data.subarray(start, start + 4)] as Rgba;
  };
  return { width: info.width, height: info.height, channels, at };
}

const failure = async (path: string, members: Record<string, string>) =>
  (await json(`${SERVICE}${path}`, members)).error;

describe('documents', () => {
  it('list what is drawn, pictures below areas and these below lines', async () => {
    const service = await json(SERVICE);
    const types = service.layers.map(({ type, geometryType }: Json) => geometryType ?? type);
    const order = ['esriGeometryPoint', 'esriGeometryPolyline', 'esriGeometryPolygon', 'Raster Layer'];
    const ranks = types.map((type: string) => order.indexOf(type));
    expect(ranks).toEqual([...ranks].sort());
    expect(new Set(types)).toContain('Raster Layer');
    expect(service).toMatchObject({
      ...{ spatialReference: { latestWkid: 3857 }, capabilities: 'Map,Query,Data' },
      tileInfo: {
        rows: 256,
        origin: { x: expect.closeTo(-20037508.3428, 3), y: expect.closeTo(20037508.3428, 3) },
      },
    });
    expect(service.tileInfo.lods[0].scale).toBeCloseTo(591_657_527.59, 0);
  });

  it('tell of layers of features and of pictures', async () => {
    const countries = await json(`${SERVICE}/${layers['countries']}`);
    expect(countries).toMatchObject({ type: 'Feature Layer', capabilities: 'Map,Query,Data' });
    expect(countries.fields.map(({ name }: Json) => name)).toContain('NAME');
    const heights = await json(`${SERVICE}/${layers['olinda_dem_utm25s']}`);
    expect(heights).toMatchObject({
      type: 'Raster Layer',
      extent: { spatialReference: { latestWkid: 3857 } },
    });
    const { layers: all } = await json(`${SERVICE}/layers`);
    expect(all).toContainEqual(countries);
  });

  it('have legends with a picture of each symbol', async () => {
    const { layers: legends } = await json(`${SERVICE}/legend`);
    const { legend } = legends.find(({ layerId }: Json) => layerId === layers['countries']);
    const data = Buffer.from(legend[0].imageData, 'base64');
    expect(await sharp(data).metadata()).toMatchObject({ width: 20, height: 20, format: 'png' });
    const { isOpaque, dominant } = await sharp(data).stats();
    expect(isOpaque).toBe(false);
    expect(dominant).not.toEqual({ r: 8, g: 8, b: 8 });
  });

  it('are listed among the services', async () => {
    const { services } = await json('/rest/services');
    expect(services).toContainEqual({ name: 'default', type: 'MapServer' });
  });
});

describe('exported maps', () => {
  it('are told of with their window, widened to the shape of the picture', async () => {
    const document = await json(`${SERVICE}/export`, { bbox: '0,0,10,10', bboxSR: '4326', size: '400,200' });
    expect(document).toMatchObject({
      ...{ width: 400, height: 200 },
      extent: { xmin: -5, xmax: 15, ymin: 0, ymax: 10, spatialReference: { wkid: 4326 } },
    });
    const response = await fetch(document.href);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
  });

  it('show the layers that are asked for, in the spatial reference of the picture', async () => {
    const countries = { ...GERMANY, layers: `show:${layers['countries']}`, transparent: 'true' };
    const image = await picture(`${SERVICE}/export`, countries);
    expect([image.width, image.height]).toEqual([220, 220]);
    // Germany, and the North Sea.
    expect(image.at(100, 100)[3]).toBeGreaterThan(50);
    expect(image.at(20, 20)[3]).toBe(0);
    expect((await picture(`${SERVICE}/export`, { ...countries, transparent: 'false' })).at(20, 20)).toEqual([
      255, 255, 255, 255,
    ]);
    const mercator = await picture(`${SERVICE}/export`, { ...countries, imageSR: '102100' });
    expect(mercator.at(100, 110)[3]).toBeGreaterThan(50);
    const none = await picture(`${SERVICE}/export`, { ...countries, layers: 'show:' });
    expect(none.at(100, 100)[3]).toBe(0);
    const hidden = await picture(`${SERVICE}/export`, {
      ...countries,
      layers: `hide:${Object.values(layers).join()}`,
    });
    expect(hidden.at(100, 100)[3]).toBe(0);
  });

  it('have corners in any order', async () => {
    const members = { bbox: '10,10,0,0', bboxSR: '4326', size: '100,100' };
    const { extent } = await json(`${SERVICE}/export`, members);
    expect(extent).toMatchObject({ xmin: 0, ymin: 0, xmax: 10, ymax: 10 });
  });

  it('leave out features that conditions do not name', async () => {
    const id = layers['countries']!;
    const other = { [id]: "NAME = 'France'" };
    for (const layerDefs of [JSON.stringify(other), `${id}:NAME = 'France'`]) {
      const image = await picture(`${SERVICE}/export`, {
        ...{ ...GERMANY, layers: `show:${id}`, transparent: 'true', layerDefs },
      });
      expect(image.at(100, 100)[3]).toBe(0);
      expect(image.at(12, 145)[3]).toBeGreaterThan(50);
    }
  });

  it('draw layers as clients put them together', async () => {
    const layer = (where: string, color: readonly number[]) => ({
      source: { type: 'mapLayer', mapLayerId: layers['countries'] },
      definitionExpression: where,
      drawingInfo: {
        renderer: { type: 'simple', symbol: { type: 'esriSFS', style: 'esriSFSSolid', color } },
      },
    });
    const dynamicLayers = JSON.stringify([layer("iso_a2 = 'DE'", [255, 0, 0, 255])]);
    const image = await picture(`${SERVICE}/export`, { ...GERMANY, dynamicLayers, transparent: 'true' });
    expect(image.at(100, 100)).toEqual([255, 0, 0, 255]);
    expect(image.at(12, 145)[3]).toBe(0);
    const form = new URLSearchParams({ ...GERMANY, dynamicLayers, f: 'image' });
    const posted = await fetch(`${server.url}${SERVICE}/export`, { method: 'POST', body: form });
    expect(posted.headers.get('content-type')).toBe('image/png');
  });

  it('have no address that is longer than addresses may be', async () => {
    const layerDefs = JSON.stringify({ [layers['countries']!]: `NAME <> '${'x'.repeat(8100)}'` });
    const form = new URLSearchParams({ ...GERMANY, layerDefs, f: 'json' });
    const ask = (body: URLSearchParams) => fetch(`${server.url}${SERVICE}/export`, { method: 'POST', body });
    expect(await (await ask(form)).json()).toMatchObject({ error: { code: 400 } });
    form.set('f', 'image');
    expect((await ask(form)).headers.get('content-type')).toBe('image/png');
  });

  it('go on beyond the antimeridian and the poles', async () => {
    const layer = `show:${layers['countries']}`;
    const window = { bbox: '170,-120,200,-90', bboxSR: '4326', size: '30,30', layers: layer };
    expect((await picture(`${SERVICE}/export`, { ...window, transparent: 'true' })).at(15, 15)[3]).toBe(0);
    // Alaska, beyond 180 degrees.
    const alaska = { ...window, bbox: '200,60,215,70', transparent: 'true' };
    expect((await picture(`${SERVICE}/export`, alaska)).at(15, 15)[3]).toBeGreaterThan(50);
  });

  it.each([
    ['bbox', { bbox: '1,2,3' }],
    ['bbox', { bbox: '1,2,1,2' }],
    ['bbox', { bbox: 'NaN,0,1,1' }],
    ['bboxSR', { bboxSR: '99999' }],
    ['bbox', { bbox: '-1e15,-1e15,1e15,1e15' }],
    ['bbox', { bbox: '-1e308,-1e308,1e308,1e308' }],
    ['bbox', { bbox: '{"xmin":{"toString":1},"ymin":0,"xmax":1,"ymax":1}' }],
    ['bboxSR', { bboxSR: '{"wkid":{"toString":1}}' }],
    ['dynamicLayers', { dynamicLayers: '[{"source":{"type":"mapLayer","mapLayerId":{}}}]' }],
    ['time', { time: 'junk', dynamicLayers: '[]' }],
    ['size', { size: '0,1' }],
    ['size', { size: '5000,10' }],
    ['format', { format: 'gif' }],
    ['dpi', { dpi: '10000' }],
    ['layers', { layers: 'show:4711' }],
    ['layers', { layers: 'the lot' }],
    ['layerDefs', { layerDefs: '{"3":"1=1) OR (1=1"}' }],
    ['layerDefs', { layerDefs: '{"3":' }],
    ['time', { time: 'yesterday' }],
    ['rotation', { rotation: '45' }],
    ['dynamicLayers', { dynamicLayers: '[{"source":{"type":"table"}}]' }],
  ])('name a wrong %s', async (name, members) => {
    expect(await failure('/export', members)).toMatchObject({
      code: 400,
      message: expect.stringContaining(name),
    });
  });
});

describe('tiles', () => {
  it('are those of all layers', async () => {
    const tile = await picture(`${SERVICE}/tile/2/1/2`, {});
    expect([tile.width, tile.height]).toEqual([256, 256]);
    expect(tile.at(60, 120)[3]).toBeGreaterThan(50);
    const beyond = await fetch(`${server.url}${SERVICE}/tile/2/9/2`);
    expect([beyond.status, ((await beyond.json()) as Json).error.code]).toEqual([400, 400]);
  });
});

describe('what lies at a place', () => {
  const place = { geometry: '10,50', sr: '4326', returnGeometry: 'false' };

  it('is found in all layers, or in that on top', async () => {
    const { results } = await json(`${SERVICE}/identify`, { ...place, layers: 'all' });
    const country = results.find(({ layerId }: Json) => layerId === layers['countries']);
    expect(country).toMatchObject({ value: 'Germany', attributes: { NAME: 'Germany', iso_a2: 'DE' } });
    expect((await json(`${SERVICE}/identify`, { ...place, layers: 'top' })).results).toHaveLength(1);
    const only = await json(`${SERVICE}/identify`, { ...place, layers: `all:${layers['countries']}` });
    expect(only.results).toHaveLength(1);
  });

  it('has its geometry in the spatial reference that was asked for', async () => {
    const { results } = await json(`${SERVICE}/identify`, {
      ...{ geometry: '1113194,6446275', layers: `all:${layers['countries']}` },
    });
    const [{ geometry, geometryType }] = results;
    expect(geometryType).toBe('esriGeometryPolygon');
    expect(geometry.spatialReference.latestWkid).toBe(3857);
    expect(geometry.rings[0][0][1]).toBeGreaterThan(5_900_000);
  });

  it('counts pixels around a point', async () => {
    const sea = { geometry: '6,55', sr: '4326', layers: `all:${layers['countries']}` };
    expect((await json(`${SERVICE}/identify`, sea)).results).toEqual([]);
    const near = { ...sea, tolerance: '30', mapExtent: '0,45,20,60', imageDisplay: '200,150,96' };
    const names = (await json(`${SERVICE}/identify`, near)).results.map(({ value }: Json) => value);
    expect(names).toEqual(expect.arrayContaining(['Denmark', 'Germany']));
    const typed = { ...near, geometry: '{x: 6.0, y: 55.0}', geometryType: 'esriGeometryPoint' };
    expect((await json(`${SERVICE}/identify`, typed)).results).toHaveLength(names.length);
    expect(await failure('/identify', { ...sea, tolerance: '3' })).toMatchObject({
      message: expect.stringContaining('mapExtent'),
    });
  });

  it('is the pixel of a raster', async () => {
    const { results } = await json(`${SERVICE}/identify`, {
      ...{ geometry: '-34.88,-8', sr: '4326', layers: `all:${layers['olinda_dem_utm25s']}` },
    });
    const position = await json('/ogc/coverages/collections/olinda_dem_utm25s/position', {
      coords: 'POINT(-34.88 -8)',
    });
    const [range] = Object.values<Json>(position.ranges);
    const value = range.values[0];
    expect(results).toMatchObject([{ attributes: { 'Pixel Value': String(value) } }]);
  });

  it('is in the middle of an envelope across the antimeridian', async () => {
    const geometry = JSON.stringify({
      ...{ xmin: 19_900_000, ymin: -2_000_000, xmax: 20_100_000, ymax: -1_900_000 },
      spatialReference: { wkid: 102_100 },
    });
    const { results } = await json(`${SERVICE}/identify`, { geometry, layers: `all:${layers['countries']}` });
    expect(results.map(({ value }: Json) => value)).toEqual(['Fiji']);
  });

  it('is said to be wrong where it is none', async () => {
    expect(await failure('/identify', {})).toMatchObject({ message: expect.stringContaining('geometry') });
    expect(await failure('/identify', { geometry: '{"x":"NaN","y":1}' })).toMatchObject({ code: 400 });
  });
});

describe('what is looked for', () => {
  const find = async (members: Record<string, string>) =>
    (await json(`${SERVICE}/find`, { layers: `${layers['countries']}`, returnGeometry: 'false', ...members }))
      .results;

  it('is found in any field, in any case', async () => {
    expect(await find({ searchText: 'gERMan' })).toMatchObject([
      { foundFieldName: 'NAME', value: 'Germany', attributes: { iso_a2: 'DE' } },
    ]);
    expect(await find({ searchText: 'german', contains: 'false' })).toEqual([]);
    expect(await find({ searchText: 'DEU', searchFields: 'ISO_A3', contains: 'false' })).toHaveLength(1);
    expect(await find({ searchText: 'DEU', searchFields: 'NAME' })).toEqual([]);
  });

  it('is text and no pattern', async () => {
    for (const searchText of ['%', '_', "'; DROP TABLE countries; --"])
      expect(await find({ searchText })).toEqual([]);
    expect(await failure('/find', { layers: '3' })).toMatchObject({
      message: expect.stringContaining('searchText'),
    });
  });
});

it('stands below /arcgis, too', async () => {
  expect(await json('/arcgis/rest/services')).toEqual(await json('/rest/services'));
  const { href } = await json(`/arcgis${SERVICE}/export`, GERMANY);
  expect(href).toContain(`${server.url}/arcgis${SERVICE}/export?`);
  expect((await fetch(href)).headers.get('content-type')).toBe('image/png');
  for (const path of ['/arcgis', '/arcgis/ogc/features', '/arcgis/api/v1/admin'])
    expect((await fetch(server.url + path)).status).toBe(404);
});

it('queries of a layer are those of the feature service', async () => {
  const members = { where: "NAME LIKE 'S%'", outFields: 'NAME', returnGeometry: 'false' };
  const id = layers['countries'];
  expect(await json(`${SERVICE}/${id}/query`, members)).toEqual(
    await json(`/rest/services/default/FeatureServer/${id}/query`, members),
  );
});
