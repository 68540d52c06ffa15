import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gdalTool } from '../support/gdal-tools.js';
import { startServer, type TestServer } from '../support/server.js';
import { range, writeNetcdf } from './support.js';

/** Rasters that GDAL does not translate by itself: beyond 180 degrees, signed, of few bits, complex, placed by points. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-odd-rasters-'));
const file = (name: string) => join(folder, name);
let server: TestServer;
let layers: Record<string, number>;

/** A raster of these values, north up, from a text grid. */
function write(name: string, rows: number[][], ...options: string[]): void {
  const columns = rows[0]!.length;
  const head = `ncols ${columns}\nnrows ${rows.length}\nxllcorner 0\nyllcorner 0\ncellsize 1\n`;
  writeFileSync(join(tmpdir(), `${name}.asc`), head + rows.map((row) => row.join(' ')).join('\n'));
  gdalTool('gdal_translate', ...options, join(tmpdir(), `${name}.asc`), file(`${name}.tif`));
  rmSync(join(tmpdir(), `${name}.asc`));
}

const grid = (columns: number, rows: number, value: (column: number, row: number) => number) =>
  Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => value(column, row)),
  );

const IN_DEGREES = ['-a_srs', 'EPSG:4326'];
const HERE = ['-a_ullr', '7', '48', '7.64', '47.36'];
/** GDAL from 3.7 has a type for signed bytes. */
const hasInt8 = !/GDAL 3\.[0-6]\./.test(gdalTool('gdalinfo', '--version'));

beforeAll(async () => {
  // Each column has its own value, from the west.
  const columns = grid(72, 36, (column) => column + 10);
  write('world360', columns, '-ot', 'Byte', ...IN_DEGREES, '-a_ullr', '0', '90', '360', '-90');
  write(
    'dateline',
    grid(32, 20, () => 50),
    '-ot',
    'Byte',
    ...IN_DEGREES,
    '-a_ullr',
    '170',
    '0',
    '202',
    '-20',
  );
  const utm = ['-a_srs', 'EPSG:32760', '-a_ullr', '700000', '8200000', '900000', '8000000'];
  write(
    'utm60',
    grid(20, 20, () => 50),
    '-ot',
    'Byte',
    ...utm,
  );
  const signed = grid(64, 64, (column) => column * 4 - 128);
  if (hasInt8) write('signed', signed, '-ot', 'Int8', ...IN_DEGREES, ...HERE);
  else {
    const bytes = signed.map((row) => row.map((value) => (value + 256) % 256));
    write('signed', bytes, '-ot', 'Byte', '-co', 'PIXELTYPE=SIGNEDBYTE', ...IN_DEGREES, ...HERE);
  }
  for (const bits of [1, 4])
    write(
      `bits${bits}`,
      grid(64, 64, (column) => (column < 32 ? 0 : 2 ** bits - 1)),
      ...['-ot', 'Byte'],
      ...['-co', `NBITS=${bits}`],
      ...IN_DEGREES,
      ...HERE,
    );
  write(
    'real',
    grid(16, 16, (column) => column),
    '-ot',
    'Int16',
    ...IN_DEGREES,
    ...HERE,
  );
  write(
    'imaginary',
    grid(16, 16, (_, row) => -row),
    '-ot',
    'Int16',
    ...IN_DEGREES,
    ...HERE,
  );
  const source = (name: string) =>
    `<SimpleSource><SourceFilename>${file(name)}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>`;
  writeFileSync(
    join(tmpdir(), 'complex.vrt'),
    `<VRTDataset rasterXSize="16" rasterYSize="16"><SRS>EPSG:4326</SRS><GeoTransform>7,0.04,0,48,0,-0.04</GeoTransform>
     <VRTRasterBand dataType="CInt16" band="1" subClass="VRTDerivedRasterBand"><PixelFunctionType>complex</PixelFunctionType>
     ${source('real.tif')}${source('imaginary.tif')}</VRTRasterBand></VRTDataset>`,
  );
  gdalTool('gdal_translate', join(tmpdir(), 'complex.vrt'), file('complex.tif'));
  rmSync(join(tmpdir(), 'complex.vrt'));
  const corners = [
    [0, 0, 7, 48],
    [16, 0, 7.64, 48],
    [0, 16, 7, 47.36],
    [16, 16, 7.64, 47.36],
  ];
  const points = corners.flatMap((corner) => ['-gcp', ...corner.map(String)]);
  write(
    'points',
    grid(16, 16, (column) => column),
    ...['-ot', 'Byte', ...IN_DEGREES],
    ...points,
  );
  // Points from 0 to 355 degrees: the column of 180 degrees reaches from 177.5 to 182.5.
  const points5 = { lons: range(72, 0, 5), lats: range(35, 85, -5) };
  writeNetcdf(file('grid5.nc'), { ...points5, value: (_time, _level, _row, column) => column + 10 });
  rmSync(file('grid5.nc.cdl'));
  server = await startServer({ sources: [folder] });
  const { collections } = await json('/?f=json');
  layers = Object.fromEntries(
    collections.map(({ id, layerId }: { id: string; layerId: number }) => [id, layerId]),
  );
}, 120_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
async function json(path: string): Promise<any> {
  const response = await fetch(server.url + path);
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
}

async function pixels(path: string) {
  const response = await fetch(server.url + path);
  expect([path, response.status]).toEqual([path, 200]);
  const image = sharp(Buffer.from(await response.arrayBuffer())).ensureAlpha();
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  return (column: number, row: number) => [
    ...data.subarray((row * info.width + column) * 4, (row * info.width + column) * 4 + 4),
  ];
}
const map = (id: string, bbox: string, width = 64, height = 64) =>
  pixels(`/ogc/maps/collections/${layers[id]}/map?bbox=${bbox}&width=${width}&height=${height}&f=png`);
const tile = (id: string, place: string) =>
  pixels(`/ogc/tiles/collections/${layers[id]}/tiles/WebMercatorQuad/${place}?f=png`);

async function identify(id: string, x: number, y: number): Promise<string> {
  const geometry = encodeURIComponent(JSON.stringify({ x, y, spatialReference: { wkid: 4326 } }));
  const query = `geometry=${geometry}&geometryType=esriGeometryPoint&f=json`;
  return (await json(`/rest/services/${id}/ImageServer/identify?${query}`)).value;
}
const extentOf = async (id: string) =>
  (await json(`/ogc/coverages/collections/${id}?f=json`)).extent.spatial.bbox[0];
const found = async (id: string, bbox: string) =>
  (await json(`/stac/search?bbox=${bbox}&collections=${id}`)).features.length;

const OPAQUE = 255;

describe('a raster', () => {
  it('from 0 to 360 degrees is on both sides of the globe', async () => {
    expect(await extentOf('world360')).toEqual([-180, -90, 180, 90]);
    // A column has 5 degrees: that at -175 is that at 185.
    expect(await identify('world360', -173, 1)).toBe(String(10 + 37));
    expect(await identify('world360', 173, 1)).toBe(String(10 + 34));
    const colour = (value: number) => [value, value, value, OPAQUE];
    const west = await map('world360', '-175,-10,-165,0');
    expect([west(5, 30), west(60, 30)]).toEqual([colour(47), colour(48)]);
    const across = await map('world360', '175,-10,-175,0');
    expect([across(5, 30), across(60, 30)]).toEqual([colour(45), colour(46)]);
    const middle = await map('world360', '-5,-10,5,0');
    expect([middle(5, 30), middle(60, 30)]).toEqual([colour(81), colour(10)]);
    for (const place of ['1/0/0', '1/0/1', '3/4/0', '3/4/3', '3/4/4', '3/4/7'])
      expect([place, (await tile('world360', place))(128, 128)[3]]).toEqual([place, OPAQUE]);
    expect(await found('world360', '-175,-18,-165,-12')).toBe(1);
  });

  it('across 180 degrees has both sides in image services and in WCS', async () => {
    const image = (id: string, path: string) => `/rest/services/${id}/ImageServer/${path}`;
    const rows = async (path: string) => {
      const answer = await fetch(server.url + path);
      const bytes = new Uint8Array(await answer.arrayBuffer());
      expect([path, answer.status, answer.ok ? '' : Buffer.from(bytes).toString()]).toEqual([path, 200, '']);
      writeFileSync(join(tmpdir(), 'odd-answer.tif'), bytes);
      const options = ['-q', '-of', 'XYZ', join(tmpdir(), 'odd-answer.tif'), '/vsistdout/'];
      const lines = gdalTool('gdal_translate', ...options)
        .trim()
        .split('\n');
      return lines.map((line) => line.split(' ').map(Number));
    };
    const values = async (path: string) => (await rows(path)).map(([, , value]) => value);
    const nearest = 'format=tiff&f=image&interpolation=RSP_NearestNeighbor';
    expect(await values(image('world360', `exportImage?${nearest}&size=6,1&bbox=-15,0,15,5`))).toEqual([
      79, 80, 81, 10, 11, 12,
    ]);
    // The whole, as the document has its extent.
    for (const [id, west, east, size] of [
      ['world360', 0, 360, '32,16'],
      ['dateline', 170, 202, '32,20'],
    ] as const) {
      const { extent } = await json(image(id, '?f=json'));
      expect([id, extent.xmin, extent.xmax]).toEqual([id, west, east]);
      const whole = await json(image(id, `exportImage?f=json&size=${size}`));
      expect([id, whole.extent.xmin, whole.extent.xmax]).toEqual([id, west, east]);
    }
    expect(await values(image('dateline', `exportImage?${nearest}&size=8,5`))).toEqual(Array(40).fill(50));
    const { features } = await json(image('dateline', 'query?where=1=1&returnGeometry=true&f=json'));
    expect(features[0].geometry.rings[0].map(([x]: number[]) => x)).toEqual([170, 170, 202, 202, 170]);
    for (const [id, x, value] of [
      ['world360', 185.5, '47'],
      ['world360', -174.5, '47'],
      ['dateline', 185.5, '50'],
      ['dateline', -174.5, '50'],
    ] as const) {
      const at = `geometry=${x},-1&geometryType=esriGeometryPoint&sr=4326&f=json`;
      expect([id, x, (await json(image(id, `identify?${at}`))).value]).toEqual([id, x, value]);
    }
    const found = await json(image('dateline', 'find?toGeometry=-174,-5&f=json'));
    expect(found.images[0].center.x).toBeCloseTo(-174);

    const wcs = (id: string, long: string) =>
      image(
        id,
        `WCSServer?service=WCS&request=GetCoverage&version=2.0.1&coverageId=${id}&subset=Long(${long})&subset=Lat(-2,-1)`,
      );
    expect(await values(wcs('world360', '-15,15'))).toEqual([79, 80, 81, 10, 11, 12]);
    expect(await values(wcs('world360', '170,190'))).toEqual([44, 45, 46, 47]);
    expect(await values(wcs('world360', '-180,180'))).toHaveLength(72);
    expect((await rows(wcs('dateline', '-180,180'))).map(([x]) => x)).toEqual(
      Array.from({ length: 32 }, (_, i) => 170.5 + i),
    );
    expect(await rows(wcs('dateline', '-175,-170'))).toHaveLength(5);
  });

  it('whose last column lies on 180 degrees has no gap there', async () => {
    expect((await extentOf('grid5')).slice(0, 3)).toEqual([-180, -87.5, 180]);
    for (const longitude of [176, 178, 179.5, -179.5, -178, -176])
      expect([longitude, await identify('grid5', longitude, 1)]).toEqual([
        longitude,
        String(10 + Math.round(((longitude + 360) % 360) / 5)),
      ]);
    for (const box of ['177.6,-2,180,0.4', '-180,-2,-177.6,0.4', '170,-8,180,2'])
      expect([box, (await map('grid5', box))(63, 32)[3]]).toEqual([box, OPAQUE]);
  });

  it('across 180 degrees in degrees is on both sides, and nowhere else', async () => {
    expect(await extentOf('dateline')).toEqual([170, -20, -158, 0]);
    expect(await identify('dateline', -170, -12)).toBe('50');
    expect(await identify('dateline', 172, -12)).toBe('50');
    expect(await identify('dateline', -150, -12)).toBe('NoData');
    for (const box of ['-175,-15,-165,-5', '172,-15,179,-5', '175,-15,-175,-5'])
      expect([box, (await map('dateline', box))(32, 32)]).toEqual([box, [50, 50, 50, OPAQUE]]);
    expect((await map('dateline', '-150,-15,-140,-5'))(32, 32)[3]).toBe(0);
    // Zoom 3 of Web Mercator: the first tile of a row is from -180 to -135 degrees.
    expect((await tile('dateline', '3/4/0'))(60, 60)).toEqual([50, 50, 50, OPAQUE]);
    expect((await tile('dateline', '3/4/7'))(240, 60)).toEqual([50, 50, 50, OPAQUE]);
    expect([await found('dateline', '0,-18,10,-16'), await found('dateline', '-175,-18,-165,-12')]).toEqual([
      0, 1,
    ]);
  });

  it('across 180 degrees in metres has an extent across it', async () => {
    const [west, south, east, north] = await extentOf('utm60');
    expect([west > 178, east < -179, south < north]).toEqual([true, true, true]);
    for (const [longitude, latitude] of [
      [179.5, -17],
      [-179.6, -17],
    ] as const) {
      expect(await identify('utm60', longitude, latitude)).toBe('50');
      const box = `${longitude - 0.1},${latitude - 0.1},${longitude + 0.1},${latitude + 0.1}`;
      expect((await map('utm60', box))(32, 32)).toEqual([50, 50, 50, OPAQUE]);
    }
    expect([await found('utm60', '0,-18,10,-16'), await found('utm60', '-179.9,-17.5,-179.5,-17')]).toEqual([
      0, 1,
    ]);
  });

  it('of signed bytes has values below zero', async () => {
    expect(await identify('signed', 7.005, 47.7)).toBe('-128');
    expect(await identify('signed', 7.635, 47.7)).toBe('124');
    const { bandCount, minValues, maxValues } = await json('/rest/services/signed/ImageServer?f=json');
    expect([bandCount, minValues, maxValues]).toEqual([1, [-128], [124]]);
    const shown = await map('signed', '7,47.36,7.64,48');
    expect(shown(1, 32)).not.toEqual(shown(62, 32));
  });

  it.each([1, 4])('of %d bits is white at its greatest value', async (bits) => {
    const shown = await map(`bits${bits}`, '7,47.36,7.64,48');
    expect([shown(5, 32), shown(60, 32)]).toEqual([
      [0, 0, 0, OPAQUE],
      [255, 255, 255, OPAQUE],
    ]);
  });

  it('of complex numbers has their parts as bands', async () => {
    const value = await identify('complex', 7.14, 47.9);
    expect(value.split(/[ ,]+/)).toEqual(['3', '-2']);
    expect((await map('complex', '7,47.36,7.64,48'))(32, 32)[3]).toBe(OPAQUE);
    expect((await json('/rest/services/complex/ImageServer?f=json')).bandCount).toBe(2);
  });

  it('that ground control points place is where they say', async () => {
    const [west, south, east, north] = await extentOf('points');
    expect([west, south, east, north].map((one) => Math.round(one * 100) / 100)).toEqual([
      7, 47.36, 7.64, 48,
    ]);
    expect((await identify('points', 7.14, 47.7)).split(/[ ,]+/)[0]).toBe('3');
    expect((await map('points', '7.1,47.5,7.2,47.6'))(32, 32)[3]).toBe(OPAQUE);
  });
});
