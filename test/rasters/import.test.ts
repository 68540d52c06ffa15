import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, startServerProcess, type TestServer } from '../support/server.js';

/** Rasters that are imported by the management API, on a real server. */

const work = mkdtempSync(join(tmpdir(), 'graticule-rasters-'));
let server: TestServer;
let base: string;

const file = (name: string) => join(work, name);
const gdal = (tool: string, ...args: string[]) =>
  execFileSync(tool, args, { stdio: ['ignore', 'pipe', 'pipe'] });

/** A gray GeoTIFF of 60 x 40 pixels whose top left corner is at `west`, 10 degrees north. */
function makeTiff(name: string, west: number, value = 100, bands = 1): string {
  const path = file(name);
  gdal(
    'gdal_create',
    '-of',
    'GTiff',
    '-outsize',
    '60',
    '40',
    '-bands',
    `${bands}`,
    '-burn',
    `${value}`,
    '-a_srs',
    'EPSG:4326',
    '-a_ullr',
    `${west}`,
    '10',
    `${west + 6}`,
    '6',
    path,
  );
  return path;
}

beforeAll(async () => {
  const geometry = { type: 'Point', coordinates: [7, 47] };
  writeFileSync(
    file('countries.geojson'),
    JSON.stringify({ type: 'Feature', geometry, properties: { a: 1 } }),
  );
  server = await startServer({ sources: ['demo/data/olinda_dem_utm25s.tif', file('countries.geojson')] });
  base = `${server.url}/api/v1/admin`;
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(work, { recursive: true, force: true });
});

const headers = () => ({ 'x-api-key': server.adminKey });

async function api(method: string, path: string, body?: unknown) {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { ...headers(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

async function send(
  path: string | Buffer,
  fields: Record<string, string>,
  files: Record<string, string> = {},
  as?: string,
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const [name, text] of Object.entries(files)) form.append(name, new Blob([text]), `${name}.txt`);
  const bytes = typeof path === 'string' ? readFileSync(path) : path;
  form.append('file', new Blob([new Uint8Array(bytes)]), as ?? (path as string));
  const response = await fetch(`${base}/import/raster`, { method: 'POST', headers: headers(), body: form });
  return { status: response.status, body: await response.json() };
}

const collection = async (id: string) => {
  const response = await fetch(`${server.url}/ogc/coverages/collections/${id}`);
  return { status: response.status, body: await response.json() };
};
/** Files below a folder of the data folder. */
const left = (folder: string): string[] => {
  const path = join(server.dataDir, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true })
    .map(String)
    .filter((name) => statSync(join(path, name)).isFile());
};

describe('import of rasters', () => {
  it('is read by processes under its own number, also among others of its layer', async () => {
    const ids: Record<string, number> = {};
    for (const [name, layerId, west, value] of [
      ['ten', '5300', 0, 10],
      ['twenty', '5300', 6, 20],
      ['thirty', '5301', 0, 30],
    ] as const) {
      const { body } = await send(makeTiff(`${name}.tif`, west, value), { layerId, name });
      ids[name] = body.rasterId;
    }
    const maxOf = async (inputs: object) => {
      const response = await fetch(`${server.url}/ogc/processes/processes/raster.statistics/execution`, {
        method: 'POST',
        headers: { ...headers(), 'content-type': 'application/json', prefer: 'wait=60' },
        body: JSON.stringify({ inputs }),
      });
      const result = await response.json();
      return response.ok ? (result.statistics.value ?? result.statistics)[0].max : response.status;
    };
    expect(await maxOf({ rasterId: ids['ten'] })).toBe(10);
    expect(await maxOf({ rasterId: String(ids['twenty']) })).toBe(20);
    expect(await maxOf({ rasterId: ids['thirty'] })).toBe(30);
    expect(await maxOf({ layerId: 5300 })).toBe(20);
    // A number that no raster has is that of nothing, whatever layer has it.
    expect(await maxOf({ rasterId: 5300 })).toBe(400);
    for (const id of Object.values(ids)) await api('DELETE', `/import/raster/${id}`);
  });

  it('names the kinds of files that it takes', async () => {
    const { body } = await api('GET', '/import/raster/formats');
    expect(body.supportedExtensions).toEqual(['.tif', '.tiff', '.png', '.jpg', '.jpeg']);
    expect(Object.keys(body.formatDescriptions)).toEqual(body.supportedExtensions);
  });

  it('makes a layer of a raster, as a cloud optimized GeoTIFF with statistics', async () => {
    const path = makeTiff('one.tif', 0);
    const { status, body } = await send(path, {
      layerId: '5001',
      name: 'Gray square',
      acquisitionDate: '2026-01-31',
      tileZoomLevels: '0,1',
    });
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        rasterId: expect.any(Number),
        layerId: 5001,
        name: 'Gray square',
        format: 0,
        width: 60,
        height: 40,
        bandCount: 1,
        srid: 4326,
        tilesGenerated: 2,
        statisticsBands: 1,
        duration: expect.stringMatching(/^\d\d:\d\d:\d\d/),
        errorMessage: null,
        warnings: [],
      },
    ]);
    const [stored] = left('rasters');
    const info = JSON.parse(gdal('gdalinfo', '-json', join(server.dataDir, 'rasters', stored!)).toString());
    expect(info.metadata.IMAGE_STRUCTURE).toMatchObject({ LAYOUT: 'COG', COMPRESSION: 'DEFLATE' });
    expect(info.bands[0].metadata[''].STATISTICS_MEAN).toBe('100');
    expect(left('uploads')).toEqual([]);
    expect((await collection('gray-square')).body).toMatchObject({ id: 'gray-square', title: 'Gray square' });
    const tile = await fetch(`${server.url}/ogc/tiles/collections/5001/tiles/WebMercatorQuad/0/0/0?f=png`);
    expect([tile.status, tile.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect((await api('DELETE', `/import/raster/${body.rasterId}`)).status).toBe(204);
    expect((await api('DELETE', `/import/raster/${body.rasterId}`)).status).toBe(404);
    expect([(await collection('gray-square')).status, left('rasters')]).toEqual([404, []]);
  });

  it('joins the layer that it names, as a mosaic with the newest on top', async () => {
    const fields = { layerId: '5002', name: 'Series' };
    const older = await send(makeTiff('older.tif', 0), { ...fields, acquisitionDate: '2026-01-01' });
    const newer = await send(makeTiff('newer.tif', 3, 200), {
      ...fields,
      acquisitionDate: '2026-02-01T10:00:00+02:00',
    });
    expect([older.status, newer.status]).toEqual([200, 200]);
    const { status, body } = await collection('series');
    expect(status).toBe(200);
    expect(body.extent.spatial.bbox[0]).toEqual([0, 6, 9, 10]);
    const shades = async (query = '') => {
      const url = `${server.url}/ogc/maps/collections/5002/map?bbox=0,6,9,10&width=90&height=40${query}`;
      const image = await fetch(url);
      expect(image.status).toBe(200);
      const pixels = sharp(Buffer.from(await image.arrayBuffer())).ensureAlpha();
      const rgba = await pixels.raw().toBuffer();
      return [15, 45, 75].map((x) => rgba[(20 * 90 + x) * 4]);
    };
    expect(await shades()).toEqual([100, 200, 200]);
    /** Where both lie, in a coverage and in a tile. */
    const overlap = async () => {
      const coverage = file('overlap.tif');
      const window = await fetch(`${server.url}/ogc/coverages/collections/series/coverage?bbox=4,7,5,8`);
      writeFileSync(coverage, Buffer.from(await window.arrayBuffer()));
      const value = gdal('gdallocationinfo', '-valonly', coverage, '2', '2').toString();
      const tile = await fetch(`${server.url}/ogc/tiles/collections/5002/tiles/WorldCRS84Quad/5/14/32?f=png`);
      const { data, info } = await sharp(Buffer.from(await tile.arrayBuffer()))
        .ensureAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      // The tile is of 5.625 degrees, from 0 east and 11.25 north on.
      return [
        Number(value),
        data[(Math.floor((256 * 4) / 5.625) * info.width + Math.floor((256 * 4.5) / 5.625)) * 4],
      ];
    };
    const metadata = '/services/default/layers/5002/metadata';
    const order = (mergeStrategy: string | null) => api('PUT', metadata, { rasterMosaic: { mergeStrategy } });
    const oldest = await order('oldest');
    expect([oldest.status, oldest.body.data.rasterMosaic]).toEqual([200, { mergeStrategy: 'oldest' }]);
    expect(await shades()).toEqual([100, 100, 200]);
    for (const [merge, expected] of Object.entries({ average: 150, max: 200, min: 100 })) {
      expect((await order(merge)).body.data.rasterMosaic).toEqual({ mergeStrategy: merge });
      expect(await shades()).toEqual([100, expected, 200]);
      expect(await overlap()).toEqual([expected, expected]);
    }
    expect((await order('oldest')).status).toBe(200);
    expect((await order('sideways')).status).toBe(400);
    expect((await api('PUT', metadata, { rasterMosaic: null })).body.data.rasterMosaic).toEqual({
      mergeStrategy: 'oldest',
    });
    expect((await order(null)).body.data.rasterMosaic).toBeNull();
    expect(await shades()).toEqual([100, 200, 200]);
    // Made the older one, it is below the other.
    const dated = await api('PATCH', `/import/raster/${newer.body.rasterId}`, {
      acquisitionDate: '2025-12-01',
    });
    expect(dated.status).toBe(200);
    expect(await shades()).toEqual([100, 100, 200]);
    expect(await shades('&expression=b1%2Bb1&rescale=0,510')).toEqual([100, 100, 200]);
    const two = makeTiff('two.tif', 3, 1, 2);
    const refused = await send(two, fields);
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      "The layer's rasters have 1 band, this one has 2.",
    ]);
    expect(left('rasters')).toHaveLength(2);
    for (const { body } of [older, newer])
      expect((await api('DELETE', `/import/raster/${body.rasterId}`)).status).toBe(204);
  });

  it('refuses a layer of features, and joins one that is published from a file', async () => {
    const tiff = makeTiff('joins.tif', -35);
    const vector = await layerIdOf(server, 'countries');
    const { status, body } = await send(tiff, { layerId: `${vector}`, name: 'x' });
    expect([status, body.detail]).toEqual([400, expect.stringContaining('is not a raster layer')]);
    expect(left('uploads')).toEqual([]);
    const before = (await collection('olinda_dem_utm25s')).body;
    const dem = await layerIdOf(server, 'olinda_dem_utm25s');
    const joined = await send(tiff, { layerId: `${dem}`, name: 'Sea' });
    expect(joined.status).toBe(200);
    const after = (await collection('olinda_dem_utm25s')).body;
    expect(after.title).toBe(before.title);
    expect(after.extent.spatial.bbox[0][3]).toBe(10);
    await api('DELETE', `/import/raster/${joined.body.rasterId}`);
    expect((await collection('olinda_dem_utm25s')).body).toEqual(before);
  });

  it('places a PNG by its world file and WKT', async () => {
    gdal('gdal_translate', '-of', 'PNG', '-ot', 'Byte', makeTiff('for-png.tif', 0), file('photo.png'));
    const fields = { layerId: '5003', name: 'Photo' };
    const world = '0.1\n0\n0\n-0.1\n20.05\n49.95\n';
    const unplaced = await send(file('photo.png'), { ...fields, srid: '4326' });
    expect([unplaced.status, unplaced.body.detail]).toEqual([400, expect.stringContaining('world file')]);
    const prj =
      'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]';
    const { status, body } = await send(file('photo.png'), fields, { worldFile: world, prjFile: prj });
    expect([status, body]).toEqual([200, expect.objectContaining({ format: 1, width: 60, warnings: [] })]);
    const box = (await collection('photo')).body.extent.spatial.bbox[0];
    expect(box.map((side: number) => Math.round(side * 1e6) / 1e6)).toEqual([20, 46, 26, 50]);
    await api('DELETE', `/import/raster/${body.rasterId}`);
  });

  it('says when a file knows its own place and CRS', async () => {
    const { body } = await send(makeTiff('known.tif', 0), { layerId: '5004', name: 'Known', srid: '3857' });
    expect(body).toMatchObject({ srid: 4326, warnings: [expect.stringContaining('was not used')] });
    await api('DELETE', `/import/raster/${body.rasterId}`);
  });

  let plain: Buffer | undefined;
  const tiff = () => (plain ??= readFileSync(makeTiff('plain.tif', 0)));
  it.each<[string, () => Buffer, Record<string, string>, string, string]>([
    ['no layer', tiff, { name: 'x' }, 'x.tif', 'layerId'],
    ['a layer of another kind of number', tiff, { layerId: '-3', name: 'x' }, 'x.tif', 'layerId'],
    ['a new layer of a huge id', tiff, { layerId: '2000000000', name: 'x' }, 'x.tif', 'layerId'],
    ['no name', tiff, { layerId: '5009' }, 'x.tif', 'name'],
    ['an unknown srid', tiff, { layerId: '5009', name: 'x', srid: '999999' }, 'x.tif', 'srid'],
    [
      'a wrong date',
      tiff,
      { layerId: '5009', name: 'x', acquisitionDate: 'May' },
      'x.tif',
      'acquisitionDate',
    ],
    ['a wrong zoom', tiff, { layerId: '5009', name: 'x', tileZoomLevels: '0,25' }, 'x.tif', 'tileZoomLevels'],
    ['a wrong world file', tiff, { layerId: '5009', name: 'x', worldFile: '1 2 3' }, 'x.tif', 'worldFile'],
    [
      'a hostile CRS',
      tiff,
      { layerId: '5009', name: 'x', prjFile: 'http://169.254.169.254/' },
      'x.tif',
      'prjFile',
    ],
    ['another ending', tiff, { layerId: '5009', name: 'x' }, 'x.exe', 'Files of this kind'],
    ['text', () => Buffer.from('hello'), { layerId: '5009', name: 'x' }, 'x.tif', 'is not TIFF'],
    ['a truncated file', () => tiff().subarray(0, 900), { layerId: '5009', name: 'x' }, 'x.tif', 'damaged'],
    [
      'a VRT that names another file',
      () => Buffer.from(VRT),
      { layerId: '5009', name: 'x' },
      'x.tif',
      'is not TIFF',
    ],
  ])('refuses %s, and keeps nothing', async (_what, bytes, fields, as, reason) => {
    const { status, body } = await send(bytes(), fields, {}, as);
    expect([status, body.detail]).toEqual([400, expect.stringContaining(reason)]);
    expect([left('rasters'), left('uploads')]).toEqual([[], []]);
  });

  it('changes name, description and date, and answers a wrong change with a bare text', async () => {
    const { body } = await send(makeTiff('change.tif', 0), { layerId: '5005', name: 'Before' });
    const path = `/import/raster/${body.rasterId}`;
    expect(await api('PATCH', path, { Name: 'After', acquisitionDate: '2026-03-01' })).toEqual({
      status: 200,
      body: {
        rasterId: body.rasterId,
        layerId: 5005,
        name: 'After',
        acquisitionDate: '2026-03-01T00:00:00Z',
        modifiedAt: expect.any(String),
      },
    });
    expect((await collection('before')).body.title).toBe('After');
    expect((await api('PATCH', path, { acquisitionDate: '' })).body.acquisitionDate).toBeNull();
    for (const wrong of [{ name: '' }, { color: 'red' }, { acquisitionDate: 'x' }, [], '{"name":'])
      expect(await api('PATCH', path, wrong)).toEqual({ status: 400, body: expect.any(String) });
    expect((await api('PATCH', '/import/raster/999', { name: 'x' })).status).toBe(404);
    await api('DELETE', path);
  });
});

const VRT = `<VRTDataset rasterXSize="10" rasterYSize="10"><VRTRasterBand dataType="Byte" band="1"><SimpleSource>
<SourceFilename>/etc/passwd</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>`;

async function layerIdOf({ url }: TestServer, name: string): Promise<number> {
  const { collections } = await (await fetch(`${url}/ogc/tiles/collections`)).json();
  return Number(collections.find((one: { name: string }) => one.name === name).id);
}

describe('a server that is killed while it imports', () => {
  it('removes what nobody will come back to, and keeps what has a row', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'graticule-orphans-'));
    let one = await startServer({ sources: [], dataDir });
    try {
      const form = new FormData();
      form.append('layerId', '5100');
      form.append('name', 'Kept');
      form.append('file', new Blob([readFileSync(makeTiff('kept.tif', 0))]), 'kept.tif');
      const key = { 'x-api-key': one.adminKey };
      const sent = await fetch(`${one.url}/api/v1/admin/import/raster`, {
        method: 'POST',
        headers: key,
        body: form,
      });
      expect(sent.status).toBe(200);
      const gone = join(dataDir, 'uploads', 'rasters', `${hostname()}:999999:x`);
      mkdirSync(gone, { recursive: true });
      writeFileSync(join(gone, 'half.tif'), 'half an upload');
      writeFileSync(join(dataDir, 'rasters', 'no-such-job.tif'), 'no row');
      await one.stop();
      one = await startServer({ sources: [], dataDir });
      const found = await fetch(`${one.url}/ogc/coverages/collections/kept`);
      expect(found.status).toBe(200);
      await vi.waitFor(() => {
        expect([existsSync(gone), existsSync(join(dataDir, 'rasters', 'no-such-job.tif'))]).toEqual([
          false,
          false,
        ]);
      }, 10_000);
      expect(readdirSync(join(dataDir, 'rasters'))).toHaveLength(1);
    } finally {
      await one.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }, 60_000);

  it('goes on with an import after the gateway was killed, and registers it once', async () => {
    const big = file('big.tif');
    const size = ['-outsize', '6000', '6000', '-bands', '1', '-ot', 'Float32', '-burn', '7'];
    const place = ['-a_srs', 'EPSG:4326', '-a_ullr', '0', '10', '10', '0', '-co', 'COMPRESS=DEFLATE'];
    gdal('gdal_create', '-of', 'GTiff', ...size, ...place, big);
    const two = await startServerProcess({ sources: [] });
    try {
      const folder = join(two.dataDir, 'rasters');
      const form = new FormData();
      form.append('layerId', '5200');
      form.append('name', 'Big');
      form.append('file', new Blob([readFileSync(big)]), 'big.tif');
      const key = { 'x-api-key': two.adminKey };
      const request = { method: 'POST', headers: key, body: form };
      const lost = fetch(`${two.url}/api/v1/admin/import/raster`, request).catch(() => 'lost');
      await vi.waitFor(() => expect(readdirSync(folder).join()).toContain('.part-'), 30_000);
      const children = execFileSync('pgrep', ['-P', `${two.process.pid}`, '-f', 'gateway'], {
        encoding: 'utf8',
      });
      process.kill(Number(children.trim().split('\n')[0]), 'SIGKILL');
      expect(await lost).toBe('lost');
      await vi.waitFor(
        async () => expect((await fetch(`${two.url}/ogc/coverages/collections/big`)).status).toBe(200),
        { timeout: 60_000, interval: 200 },
      );
      const uploads = () => readdirSync(join(two.dataDir, 'uploads'), { recursive: true }).join();
      await vi.waitFor(() => {
        expect(readdirSync(folder)).toHaveLength(1);
        expect(uploads()).not.toContain('.tif');
      }, 10_000);
    } finally {
      await two.stop();
    }
  }, 120_000);
});
