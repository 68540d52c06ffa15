import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { range, writeNetcdf, writeZarr } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
let server: TestServer;

const GRID = {
  lons: range(36, 5, 10),
  lats: range(18, -85, 10),
  times: [0, 31],
  value: (time: number, _level: number, row: number) => time * 1000 + row,
};

/** Warmer the lower, and nothing else: a tile of one level has one colour of a fixed range. */
const AIR = {
  lons: range(36, 5, 10),
  lats: range(18, -85, 10),
  times: [0, 31],
  levels: [1000, 850, 500],
  value: (time: number, level: number) => time * 10 + level * 100,
};

beforeAll(async () => {
  mkdirSync(join(folder, 'data'));
  writeNetcdf(join(folder, 'grid.nc'), GRID);
  execFileSync('mv', [join(folder, 'grid.nc'), join(folder, 'data/grid.nc')]);
  writeNetcdf(join(folder, 'air.nc'), AIR);
  execFileSync('mv', [join(folder, 'air.nc'), join(folder, 'data/air.nc')]);
  writeZarr(join(folder, 'data/store.zarr'), GRID);
  writeFileSync(
    join(folder, 'data/damaged.nc'),
    Buffer.concat([Buffer.from('CDF\x01'), Buffer.alloc(400, 0xff)]),
  );
  const tiles = ['-q', '-of', 'GPKG', '-co', 'APPEND_SUBDATASET=YES'];
  const mixed = join(folder, 'data/mixed.gpkg');
  execFileSync('ogr2ogr', ['-f', 'GPKG', mixed, 'demo/data/world_map.gpkg', 'disputed_borders']);
  for (const [table, source] of [
    ['scene', 'L7_ETMs.tif'],
    ['relief', 'olinda_dem_utm25s.tif'],
  ])
    execFileSync('gdal_translate', [
      ...tiles,
      '-co',
      `RASTER_TABLE=${table}`,
      '-b',
      '1',
      '-ot',
      'Byte',
      `demo/data/${source}`,
      mixed,
    ]);
  server = await startServer({ sources: [join(folder, 'data')] });
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const json = async (path: string) => (await fetch(server.url + path)).json();

it('publishes grids, stores and each table of tiles beside the features', async () => {
  const { collections } = await json('/ogc/coverages/collections');
  expect(collections.map(({ id }: { id: string }) => id).sort()).toEqual([
    'air',
    'grid',
    'relief',
    'scene',
    'store',
  ]);
  const features = await json('/ogc/features/collections');
  expect(features.collections.map(({ id }: { id: string }) => id)).toEqual(['disputed_borders']);
});

it('quarantines what is damaged, and says why', () => {
  expect(server.log()).toMatch(/damaged\.nc.*\w+ \w+/);
});

it.each(['grid', 'store', 'relief', 'scene'])('serves a coverage and a map of %s', async (id) => {
  const coverage = await fetch(`${server.url}/ogc/coverages/collections/${id}/coverage?f=geotiff`);
  expect(coverage.status).toBe(200);
  expect(
    Buffer.from(await coverage.arrayBuffer())
      .subarray(0, 2)
      .toString(),
  ).toBe('II');
  const { collections } = await json('/ogc/tiles/collections');
  const { id: layer } = collections.find(
    (one: { name?: string; title: string }) => one.title.toLowerCase() === id,
  );
  const map = await fetch(`${server.url}/ogc/maps/collections/${layer}/map?width=200&height=100&f=png`);
  expect(map.status).toBe(200);
  const { channels } = await sharp(Buffer.from(await map.arrayBuffer())).stats();
  expect(channels.some(({ min, max }) => max > min)).toBe(true);
});

it('reads a file again that was replaced', async () => {
  const top = async () => {
    const coverage = await fetch(`${server.url}/ogc/coverages/collections/grid/coverage?f=geotiff`);
    writeFileSync(join(folder, 'top.tif'), Buffer.from(await coverage.arrayBuffer()));
    return execFileSync('gdallocationinfo', ['-valonly', join(folder, 'top.tif'), '0', '0'], {
      encoding: 'utf8',
    }).trim();
  };
  expect(await top()).toBe('1017');
  writeNetcdf(join(folder, 'grid.nc'), { ...GRID, value: () => 5 });
  execFileSync('mv', [join(folder, 'grid.nc'), join(folder, 'data/grid.nc')]);
  await expect.poll(top, { timeout: 20_000 }).toBe('5');
});

it('shows the level that subset selects on tiles, the first one of a range', async () => {
  const { collections } = await json('/ogc/tiles/collections?f=json');
  const id = collections.find(({ name }: { name: string }) => name === 'air').id;
  const tile = `/ogc/tiles/collections/${id}/tiles/WorldCRS84Quad/0/0/0?f=png&bands=1&rescale=RANGE`;
  const shade = async (subset: string) => {
    const response = await fetch(`${server.url}${tile.replace('RANGE', '0,510')}${subset}`);
    expect(response.status).toBe(200);
    const { data } = await sharp(Buffer.from(await response.arrayBuffer()))
      .raw()
      .toBuffer({ resolveWithObject: true });
    return data[4 * (128 * 256 + 128)];
  };
  const [low, middle, high] = [
    await shade(''),
    await shade('&subset=Z(850)'),
    await shade('&subset=height(500)'),
  ];
  expect(low).toBeLessThan(middle!);
  expect(middle).toBeLessThan(high!);
  expect(await shade('&subset=Z(1000)')).toBe(low);
  expect(await shade('&subset=elevation(400:900)')).toBe(middle);
  const none = await fetch(`${server.url}${tile}&subset=Z(1:2)`.replace('RANGE', '0,510'));
  expect(none.status).toBe(400);
  expect(((await none.json()) as { detail: string }).detail).toMatch(/subset.*level/);
});
