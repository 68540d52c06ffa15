import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gdalTool } from '../../support/gdal-tools.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Image services: pictures and values of rasters are those of GDAL. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const ID = 'olinda_dem_utm25s';
const FILE = `demo/data/${ID}.tif`;
const SERVICE = `/rest/services/${ID}/ImageServer`;
const WINDOW = { bbox: '-34.9,-8.02,-34.86,-7.98', bboxSR: '4326', size: '100,100' };
const folder = mkdtempSync(join(tmpdir(), 'graticule-images-'));
let server: SharedServer;

beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => rmSync(folder, { recursive: true }));

const addressOf = (path: string, members: Record<string, string>) =>
  `${server.url}${path}?${new URLSearchParams(members)}`;

async function json(path: string, members: Record<string, string> = {}): Promise<Json> {
  const response = await fetch(addressOf(path, { f: 'json', ...members }));
  expect(response.status).toBe(200);
  return response.json();
}

async function bytes(members: Record<string, string>): Promise<Buffer> {
  const response = await fetch(addressOf(`${SERVICE}/exportImage`, { f: 'image', ...WINDOW, ...members }));
  const type = response.headers.get('content-type');
  if (type?.includes('json')) throw new Error(await response.text());
  return Buffer.from(await response.arrayBuffer());
}

const failure = async (path: string, members: Record<string, string>) =>
  (await json(`${SERVICE}${path}`, members)).error;

/** Mean of red, green, blue and alpha. */
async function means(members: Record<string, string>): Promise<number[]> {
  const { channels } = await sharp(await bytes(members))
    .ensureAlpha()
    .toColourspace('srgb')
    .stats();
  return channels.map(({ mean }) => mean);
}

const valuesOf = (path: string, band: string) =>
  gdalTool('gdal_translate', '-of', 'XYZ', '-b', band, path, '/vsistdout/');

const rule = (rasterFunction: string, args: object = {}) =>
  JSON.stringify({ rasterFunction, rasterFunctionArguments: args });

describe('finding and projecting', () => {
  it('finds the images that show a position, the nearest first', async () => {
    const found = await json(`${SERVICE}/find`, { toGeometry: '-34.88,-8', sr: '4326' });
    expect(found.images).toEqual([
      {
        ...{ id: 1, name: ID, acquisitionDate: null },
        center: {
          x: expect.any(Number),
          y: expect.any(Number),
          spatialReference: { wkid: 4326, latestWkid: 4326 },
        },
      },
    ]);
    const { x, y } = found.images[0].center;
    const point = JSON.stringify({ x, y, spatialReference: { wkid: 4326 } });
    expect((await json(`${SERVICE}/find`, { toGeometry: point })).images).toHaveLength(1);
    const elsewhere = { toGeometry: '10,50', sr: '4326' };
    expect((await json(`${SERVICE}/find`, elsewhere)).images).toEqual([]);
    expect((await json(`${SERVICE}/find`, { toGeometry: point, objectIds: '2' })).images).toEqual([]);
    expect(await failure('/find', {})).toMatchObject({
      code: 400,
      message: expect.stringContaining('toGeometry'),
    });
    for (const [name, value] of [
      ['where', 'a=1'],
      ['maxCount', '0'],
      ['toGeometry', 'here'],
    ] as const)
      expect(await failure('/find', { ...elsewhere, [name]: value })).toMatchObject({ code: 400 });
  });

  it('projects geometries as the geometry service does', async () => {
    const members = { geometries: '-34.88,-8', inSR: '4326', outSR: '32725' };
    const of = async (path: string) => (await json(path, members)).geometries;
    const [point] = await of(`${SERVICE}/project`);
    expect(point).toMatchObject({ x: expect.closeTo(292_800, -3), y: expect.closeTo(9_115_000, -4) });
    expect(await of('/rest/services/Utilities/Geometry/GeometryServer/project')).toEqual([point]);
  });

  it('is at the root of image services for the first of them', async () => {
    const root = await json('/rest/services/ImageServer');
    const { services } = await json('/rest/services');
    const first = services.find(({ type }: Json) => type === 'ImageServer').name as string;
    const named = await json(`/rest/services/${first}/ImageServer`);
    expect(root).toMatchObject({ name: expect.any(String), bandCount: expect.any(Number) });
    expect(Object.keys(root).sort()).toEqual(Object.keys(named).sort());
    expect(await json('/rest/services/ImageServer/keyProperties')).toHaveProperty('BandProperties');
  });
});

describe('documents', () => {
  it('tell of bands, types and statistics', async () => {
    const info = JSON.parse(gdalTool('gdalinfo', '-json', '-stats', FILE)) as Json;
    const service = await json(SERVICE);
    expect(service).toMatchObject({
      ...{ bandCount: info.bands.length, capabilities: 'Image,Metadata,Catalog,Mensuration' },
      pixelType: { Byte: 'U8', Int16: 'S16', Float32: 'F32', UInt16: 'U16' }[info.bands[0].type as string],
    });
    const { statistics } = await json(`${SERVICE}/statistics`);
    expect(Math.abs(statistics[0].max - info.bands[0].maximum)).toBeLessThan(info.bands[0].maximum / 10);
    expect((await json(`${SERVICE}/keyProperties`)).BandProperties).toHaveLength(info.bands.length);
    const { layers } = await json(`${SERVICE}/legend`);
    expect(layers[0].legend.length).toBeGreaterThan(1);
    const { services } = await json('/rest/services');
    expect(services).toContainEqual({ name: ID, type: 'ImageServer' });
    expect(await failure('', { f: 'xml' })).toMatchObject({ code: 400 });
    expect((await json('/rest/services/countries/ImageServer')).error).toMatchObject({ code: 404 });
  });

  it('list the rasters that it is made of', async () => {
    const { features, spatialReference } = await json(`${SERVICE}/query`, { outSR: '4326' });
    expect(spatialReference.wkid).toBe(4326);
    expect(features).toMatchObject([{ attributes: { OBJECTID: 1, Name: ID } }]);
    const xs = features[0].geometry.rings[0].map(([x]: number[]) => x);
    expect(Math.min(...xs)).toBeCloseTo(-34.917, 2);
    expect(await json(`${SERVICE}/query`, { returnIdsOnly: 'true' })).toMatchObject({ objectIds: [1] });
    expect(await json(`${SERVICE}/query`, { returnCountOnly: 'true', objectIds: '2' })).toEqual({ count: 0 });
    for (const members of [{ where: 'OBJECTID=3' }, { geometry: '0,0,1,1' }, { orderByFields: 'Name' }])
      expect(await failure('/query', members as unknown as Record<string, string>)).toMatchObject({
        message: expect.stringContaining(Object.keys(members)[0]!),
      });
  });
});

describe('exported images', () => {
  it('have the values that gdalwarp finds', async () => {
    const file = join(folder, 'values.tif');
    writeFileSync(file, await bytes({ format: 'tiff', interpolation: 'RSP_NearestNeighbor' }));
    const expected = join(folder, 'expected.tif');
    const window = ['-te', '-34.9', '-8.02', '-34.86', '-7.98', '-ts', '100', '100'];
    gdalTool('gdalwarp', '-t_srs', 'EPSG:4326', ...window, '-r', 'near', FILE, expected);
    const text = (path: string) => gdalTool('gdal_translate', '-of', 'XYZ', path, '/vsistdout/');
    expect(text(file)).toBe(text(expected));
  });

  it.each([
    ['31985', '284000,9105000,292000,9113000'],
    ['31985', '280000,9100000,308000,9130000'],
    ['4326', '-34.95,-8.1,-34.88,-8'],
    ['4326', '-35,-8.1,-34.7,-7.8'],
  ])('have the whole window in EPSG:%s, also beside the raster: %s', async (bboxSR, bbox) => {
    for (const name of [ID, 'L7_ETMs']) {
      const id = name.toLowerCase();
      const file = join(folder, 'whole.tif');
      const members = { f: 'image', bbox, bboxSR, size: '50,60', format: 'tiff' };
      const nearest = { ...members, interpolation: 'RSP_NearestNeighbor' };
      const answer = await fetch(addressOf(`/rest/services/${id}/ImageServer/exportImage`, nearest));
      writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
      const expected = join(folder, 'whole-expected.tif');
      const { extent } = await json(`/rest/services/${id}/ImageServer/exportImage`, {
        ...members,
        f: 'json',
      });
      const window = [extent.xmin, extent.ymin, extent.xmax, extent.ymax].map(String);
      gdalTool(
        'gdalwarp',
        ...['-overwrite', '-t_srs', `EPSG:${bboxSR}`, '-te', ...window, '-ts', '50', '60'],
        ...['-r', 'near', '-dstalpha', `demo/data/${name}.tif`, expected],
      );
      const alpha = JSON.parse(gdalTool('gdalinfo', '-json', expected)).bands.length as number;
      expect(valuesOf(file, '1')).toBe(valuesOf(expected, '1'));
      // What lies beside the raster is no value.
      expect(valuesOf(file, 'mask')).toBe(valuesOf(expected, `${alpha}`));
    }
  });

  it('are pictures, of which a client learns the window', async () => {
    const { href, ...rest } = await json(`${SERVICE}/exportImage`, WINDOW);
    expect(rest).toMatchObject({ width: 100, height: 100, extent: { xmin: -34.9, ymax: -7.98 } });
    expect((await fetch(href)).headers.get('content-type')).toBe('image/png');
    for (const [format, type] of [
      ['jpg', 'jpeg'],
      ['png', 'png'],
      ['webp', 'webp'],
    ] as const)
      expect((await sharp(await bytes({ format })).metadata()).format).toBe(type);
  });

  it('are in the style of the raster, also of its one band and without a value', async () => {
    const pixels = async (members: Record<string, string>) =>
      (
        await sharp(await bytes({ format: 'png32', ...members }))
          .ensureAlpha()
          .raw()
          .toBuffer()
      ).toString('hex');
    const plain = await pixels({});
    // Viridis, and not gray.
    expect(new Set(plain.slice(0, 6).match(/../g)).size).toBeGreaterThan(1);
    expect(await pixels({ bandIds: '0' })).toBe(plain);
    expect(await pixels({ noData: '-1' })).toBe(plain);
    const rest = (await pixels({ bandIds: '0', noData: '4' })).match(/.{8}/g)!;
    const holes = rest.filter((pixel) => pixel === '00000000').length;
    expect(holes).toBeGreaterThan(50);
    expect(holes).toBeLessThan(5000);
    const all = plain.match(/.{8}/g)!;
    const changes = rest.filter((pixel, i) => pixel !== all[i] && pixel !== '00000000');
    expect(changes.length).toBeLessThan(holes * 8);
  });

  it('are drawn by rules', async () => {
    const plain = await means({});
    const bright = await means({
      renderingRule: rule('Stretch', { StretchType: 5, Statistics: [[-100, 1, 0, 1]] }),
    });
    expect(bright[0]).toBeGreaterThan(plain[0]! + 20);
    const values = { Colormap: [...Array(256).keys()].map((value) => [value, 255, 0, 0]) };
    const red = await means({ renderingRule: rule('Colormap', values) });
    expect(red[1]).toBe(0);
    expect(red[0]).toBeGreaterThan(100);
    const relief = await means({ renderingRule: rule('Hillshade', { Azimuth: 90 }) });
    expect(relief).not.toEqual(plain);
    const math = { Method: 0, BandIndexes: 'B1*0', Raster: '$$' };
    const stretched = rule('Stretch', {
      ...{ StretchType: 5, Statistics: [[-1, 1, 0, 1]] },
      Raster: { rasterFunction: 'BandArithmetic', rasterFunctionArguments: math },
    });
    const [gray] = await means({ renderingRule: stretched, format: 'png' });
    expect(gray).toBeCloseTo(127.5, -1);
  });

  it.each([
    ['bandIds', { bandIds: '9' }],
    ['renderingRule', { renderingRule: rule('Aspect3') }],
    ['renderingRule', { renderingRule: rule('Stretch', { StretchType: 99 }) }],
    ['renderingRule', { renderingRule: rule('BandArithmetic', { BandIndexes: 'process.exit()' }) }],
    ['renderingRule', { renderingRule: rule('ExtractBand', { BandIDs: [4] }) }],
    ['renderingRule', { renderingRule: '{"rasterFunction":' }],
    ['renderingRule', { renderingRule: rule('__proto__') }],
    ['renderingRule', { renderingRule: '{"rasterFunction":{"toString":1}}' }],
    ['renderingRule', { renderingRule: rule('BandArithmetic', { BandIndexes: 'b1;b1' }) }],
    ['renderingRule', { renderingRule: rule('Hillshade'), noData: '0' }],
    ['bbox', { bbox: '-1e15,-1e15,1e15,1e15', format: 'tiff' }],
    ['mosaicRule', { mosaicRule: '{"mosaicMethod":"esriMosaicSeamline"}' }],
    ['format', { format: 'bip' }],
    ['lercVersion', { format: 'lerc', lercVersion: '3' }],
    ['compressionTolerance', { format: 'lerc', compressionTolerance: '-1' }],
    ['bbox', { bbox: '100,60,110,70', format: 'lerc' }],
    ['renderingRule', { format: 'lerc', renderingRule: rule('Hillshade') }],
    ['noData', { noData: 'x' }],
    ['compressionQuality', { compressionQuality: '0' }],
    ['bbox', { bbox: '100,60,110,70', format: 'tiff' }],
  ])('name a wrong %s', async (name, members) => {
    expect(await failure('/exportImage', { ...WINDOW, ...members, f: 'image' })).toMatchObject({
      ...{ code: 400, message: expect.stringContaining(name) },
    });
  });

  it('are tiles, too', async () => {
    const column = Math.floor((1 << 12) * ((-34.88 + 180) / 360));
    const response = await fetch(`${server.url}${SERVICE}/tile/12/2139/${column}`);
    expect((await sharp(await response.arrayBuffer()).metadata()).width).toBe(256);
  });
});

describe('pixels', () => {
  const valueAt = (x: number, y: number) =>
    Number(execFileSync('gdallocationinfo', ['-valonly', '-wgs84', FILE, `${x}`, `${y}`]).toString());

  it('are those that gdallocationinfo finds', async () => {
    const { value, location } = await json(`${SERVICE}/identify`, {
      geometry: '{"x":-34.88,"y":-8,"spatialReference":{"wkid":4326}}',
      geometryType: 'esriGeometryPoint',
    });
    expect(Number(value)).toBe(valueAt(-34.88, -8));
    expect(location.spatialReference.wkid).toBe(4326);
    const points = [
      [-34.88, -8],
      [-34.87, -8.01],
      [20, 20],
    ] as const;
    const geometry = JSON.stringify({ points, spatialReference: { wkid: 4326 } });
    const { samples } = await json(`${SERVICE}/getSamples`, { geometry });
    expect(samples.map((one: Json) => [one.locationId, Number(one.value)])).toEqual([
      [0, valueAt(-34.88, -8)],
      [1, valueAt(-34.87, -8.01)],
    ]);
    const many = JSON.stringify({ points: Array(101).fill([-34.88, -8]), spatialReference: { wkid: 4326 } });
    expect(await failure('/getSamples', { geometry: many })).toMatchObject({ code: 400 });
    expect(await failure('/identify', {})).toMatchObject({ message: expect.stringContaining('geometry') });
  });
});
