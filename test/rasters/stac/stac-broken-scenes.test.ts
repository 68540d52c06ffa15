import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type {
  BandStack,
  MosaicMember,
  RasterMosaic,
  RemoteRaster,
} from '../../../src/core/rasters/rasters.js';
import type { Scene } from '../../../src/core/stac/stac-scenes.js';
import { sceneRaster } from '../../../src/services/rasters/stac-imagery/mosaic.js';
import { suiteEngine } from '../../engine/support.js';
import { type StacApi, sendRange, startStacApi } from '../../support/stac-api.js';

/** An object store that the engine has credentials of. */
const store = await startStacApi();
const suite = suiteEngine({
  GRATICULE_REMOTE_ALLOW: '["127.0.0.1"]',
  ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret', AWS_ENDPOINT_URL: store.origin },
});

/** Scenes side by side, each of one value. */
const WEST = { value: 50, corner: [500_000, 5_600_000] };
const EAST = { value: 100, corner: [510_000, 5_600_000] };

let host: StacApi;
const files = new Map<string, Buffer>();
/** Statuses that are answered in place of files. */
const statuses = new Map<string, number>();

function makeScene(name: string, { value, corner: [x, y] }: typeof WEST, options: string[] = []): Buffer {
  const path = join(suite.scratch.path, `${name}.tif`);
  const place = ['-a_ullr', x, y, x! + 10_000, y! - 10_000].map(String);
  const form = ['-of', 'GTiff', '-co', 'TILED=YES', '-co', 'BLOCKXSIZE=256', '-co', 'BLOCKYSIZE=256'];
  const size = ['-outsize', '1000', '1000', '-burn', String(value), '-a_nodata', '0', '-a_srs', 'EPSG:32632'];
  execFileSync('gdal_create', [
    '-q',
    ...form,
    ...size,
    ...place,
    '-bands',
    '1',
    '-ot',
    'Byte',
    ...options,
    path,
  ]);
  return readFileSync(path);
}

beforeAll(async () => {
  host = await startStacApi();
  host.answer = (request, response) => {
    const name = request.url!.replace(/^\/\d+\/|\.tif$/g, '');
    const status = statuses.get(name);
    if (status !== undefined) return response.writeHead(status).end();
    return sendRange(request, response, files.get(name)!);
  };
  files.set('west', makeScene('west', WEST, ['-co', 'COMPRESS=NONE']));
  files.set('east', makeScene('east', EAST, ['-co', 'COMPRESS=NONE']));
  files.set('float', makeScene('float', EAST, ['-ot', 'Float32']));
  files.set('two', makeScene('two', EAST, ['-bands', '2']));
  files.set('html', Buffer.from('<html>Not found</html>'));
  const deflated = makeScene('damaged', EAST, ['-co', 'COMPRESS=DEFLATE', '-co', 'COPY_SRC_OVERVIEWS=NO']);
  // Its directory is sound, its blocks are not.
  files.set('damaged', corrupted(deflated));
});
afterAll(() => {
  host.close();
  store.close();
});

/** With every block of pixels overwritten. */
function corrupted(file: Buffer): Buffer {
  const bytes = Buffer.from(file);
  for (let at = 0; (at = bytes.indexOf(Buffer.from([0x78, 0x5e]), at)) >= 0; at += 2)
    bytes.fill(0xff, at, at + 12);
  for (let at = 0; (at = bytes.indexOf(Buffer.from([0x78, 0x9c]), at)) >= 0; at += 2)
    bytes.fill(0xff, at, at + 12);
  for (let at = 0; (at = bytes.indexOf(Buffer.from([0x78, 0x01]), at)) >= 0; at += 2)
    bytes.fill(0xff, at, at + 12);
  return bytes;
}

/** Each test has addresses of its own: what could not be read is left out for a while. */
let count = 0;
beforeEach(() => {
  count += 1;
  statuses.clear();
});
const remote = (name: string): RemoteRaster => ({
  kind: 'remote',
  url: `${host.origin}/${count}/${name}.tif`,
});

function mosaic(members: Record<string, RemoteRaster | BandStack>, bandTypes = ['Byte']): RasterMosaic {
  const list = Object.entries(members).map(
    ([id, source]): MosaicMember => ({ id, source, extent84: [9, 50, 10, 51] }),
  );
  const geoTransform: [number, number, number, number, number, number] = [500_000, 10, 0, 5_600_000, 0, -10];
  const grid = { crs: 'EPSG:32632', geoTransform, width: 2000, height: 1000 };
  return { kind: 'mosaic', members: list, grid, bandTypes };
}

/** Four pixels through the middle, two of each scene and none at an edge: red, null without data. */
async function row(source: RasterMosaic) {
  const { data, lost } = await suite.pool.run('raster.image', {
    ...{ source, crs: 'EPSG:32632', width: 8, height: 1, format: 'raw' as const },
    bbox: [500_000, 5_594_000, 520_000, 5_596_000],
    ranges: source.bandTypes!.map(() => [0, 255] as const),
  });
  const pixels = [0, 2, 5, 7].map((i) => (data[4 * i + 3] === 0 ? null : data[4 * i]));
  return { pixels, lost };
}

it('all scenes are there when all can be read', async () => {
  expect(await row(mosaic({ west: remote('west'), east: remote('east') }))).toEqual({
    pixels: [50, 50, 100, 100],
    lost: undefined,
  });
});

it.each(['float', 'two', 'html', 'damaged'])('a scene that is %s costs its own pixels only', async (name) => {
  const source = mosaic({ west: remote('west'), east: remote(name) });
  const west = { pixels: [50, 50, null, null], lost: ['east'] };
  expect(await row(source)).toEqual(west);
  expect(await row(source)).toEqual(west);
});

it.each([404, 403, 500, 200])('a scene that is answered %i costs its own pixels only', async (status) => {
  statuses.set('east', status);
  expect(await row(mosaic({ west: remote('west'), east: remote('east') }))).toMatchObject({ lost: ['east'] });
});

it.each(['html', 'gone'])('a position has the values of the times whose scenes are not %s', async (name) => {
  statuses.set('gone', 404);
  const slices = ['west', name, 'west'].map((of) => ({ source: mosaic({ [of]: remote(of) }) }));
  const place = [9.05, 50.5] as const;
  const { values, lost } = await suite.pool.run('raster.position', { place, slices });
  expect({ values, lost }).toEqual({ values: [[50], null, [50]], lost: [name] });
  const alone = { place, slices: slices.slice(1, 2) };
  await expect(suite.pool.run('raster.position', alone)).rejects.toMatchObject({ code: 'source-unreadable' });
});

it('scenes below one that is damaged are seen', async () => {
  const source = mosaic({ west: remote('west'), east: remote('east'), damaged: remote('damaged') });
  expect(await row(source)).toEqual({ pixels: [50, 50, 100, 100], lost: ['damaged'] });
});

it('a host that is away fails what it alone has', async () => {
  const away = await startStacApi();
  away.answer = (_, response) => response.writeHead(503).end();
  const source = { kind: 'remote', url: `${away.origin}/east.tif` } as const;
  await expect(row(mosaic({ east: source }))).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(await row(mosaic({ west: remote('west'), east: source }))).toMatchObject({ lost: ['east'] });
  away.close();
});

it('nothing is left of damaged scenes alone', async () => {
  await expect(row(mosaic({ html: remote('html') }))).rejects.toMatchObject({ code: 'source-unreadable' });
});

it('scenes of which none is there are no fault of who asks', async () => {
  statuses.set('west', 404);
  await expect(row(mosaic({ west: remote('west') }))).rejects.toMatchObject({ code: 'source-unreadable' });
});

it('bands of several files are one scene', async () => {
  const stack = (first: string): BandStack => ({
    kind: 'stack',
    parts: [remote(first), remote('west')],
    bands: [2, 1, 2],
  });
  const source = mosaic({ west: stack('west'), damaged: stack('damaged') }, ['Byte', 'Byte', 'Byte']);
  expect(await row(source)).toEqual({ pixels: [50, 50, null, null], lost: ['damaged'] });
  const { bands } = await suite.pool.run('raster.inspect', { source: stack('west') });
  expect(bands.map(({ type, noData }) => [type, noData])).toEqual(Array(3).fill(['Byte', 0]));
});

it('credentials of the environment are sent unless somebody else chose the address', async () => {
  const requests = new Set<string>();
  store.answer = (request, response) => {
    requests.add(`${request.url} ${request.headers.authorization?.split(' ')[0]}`);
    sendRange(request, response, files.get('west')!);
  };
  const scene = { hrefs: [`${store.origin}/bucket/scene.tif`] } as unknown as Scene;
  const other = { hrefs: [`${store.origin}/bucket/trusted.tif`] } as unknown as Scene;
  await suite.pool.run('raster.inspect', { source: sceneRaster({ credentials: 'none' }, scene) });
  await suite.pool.run('raster.inspect', { source: sceneRaster({ credentials: 'environment' }, other) });
  // Of one address too.
  await suite.pool.run('raster.inspect', { source: sceneRaster({ credentials: 'none' }, other) });
  expect([...requests]).toEqual([
    '/bucket/scene.tif undefined',
    '/bucket/trusted.tif AWS4-HMAC-SHA256',
    '/bucket/trusted.tif undefined',
  ]);
});
