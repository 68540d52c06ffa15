import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { RasterPosition, RasterSource } from '../../src/core/rasters/rasters.js';
import { findFiles } from '../../src/services/catalog/publish/find.js';
import { ROOT, suiteEngine } from '../engine/support.js';
import { gdalTool, rasterValues } from '../support/gdal-tools.js';
import { range, type TestGrid, writeArray, writeNetcdf, writeZarr } from './support.js';

const SERIES = join(ROOT, 'demo/data/years/bcsd_obs_1999.nc');
const suite = suiteEngine();
const inScratch = (name: string) => join(suite.scratch.path, name);

async function onlyRaster(path: string) {
  const { layers, problems } = await suite.pool.run('raster.layers', { path });
  expect(problems).toEqual([]);
  expect(layers).toHaveLength(1);
  const { source } = layers[0]!;
  return { source, info: await suite.pool.run('raster.inspect', { source }) };
}

/** The values of a slice, row by row from the north. */
async function valuesOf(source: RasterSource, at?: RasterPosition): Promise<number[]> {
  const { data } = await suite.pool.run('raster.coverage', {
    source,
    at,
    crs: 'EPSG:4326',
    maxSize: 4096,
    maxBytes: 1 << 28,
    format: 'geotiff',
  });
  return pixels(data);
}

function pixels(tiff: Uint8Array): number[] {
  const path = inScratch('answer.tif');
  writeFileSync(path, tiff);
  const { size } = JSON.parse(gdalTool('gdalinfo', '-json', path)) as { size: [number, number] };
  return [...rasterValues(path).subarray(0, size[0] * size[1])];
}

/** A world of 36 x 18 cells from 0 to 360 degrees, from south to north. */
const WORLD: TestGrid = {
  lons: range(36, 5, 10),
  lats: range(18, -85, 10),
  times: [0, 31, 60],
  levels: [1000, 850],
  value: (time, level, row, column) => time * 2000 + level * 1000 + row * 36 + column,
};

/** What the slice of the world is, row by row from the north and column by column from 180 W. */
const upright = (time: number, level: number) =>
  range(18, 17, -1).flatMap((row) =>
    range(36, 0, 1).map((column) => WORLD.value(time, level, row, (column + 18) % 36)),
  );

describe('a netCDF file', () => {
  it('is a collection of its variables with a time axis', async () => {
    const { source, info } = await onlyRaster(SERIES);
    expect(source).toEqual({ kind: 'gridded', path: SERIES, variables: ['pr', 'tas'] });
    expect(info).toMatchObject({
      driver: 'netCDF',
      width: 81,
      height: 33,
      crs: 'EPSG:4326',
      extent: [-85, 33, -74.875, 37.125],
    });
    expect(info.bands.map(({ description, unit }) => [description, unit])).toEqual([
      ['pr', 'mm/m'],
      ['tas', 'C'],
    ]);
    expect(info.times).toHaveLength(12);
    expect(info.times![0]).toBe('1999-01-31T00:00:00Z');
    expect(info.times![11]).toBe('1999-12-31T00:00:00Z');
  });

  it('has a usual range over its times, also if the newest one has no values', async () => {
    const path = inScratch('seasons.nc');
    const missing = -9999;
    writeNetcdf(path, {
      ...{ lons: range(20, 5, 0.5), lats: range(20, 40, 0.5), times: [0, 31, 60, 91, 121] },
      attributes: `t:_FillValue = ${missing}s;`,
      value: (time, _, row, column) => (time === 4 ? missing : 100 * time + ((row + column) % 10)),
    });
    const [band] = (await onlyRaster(path)).info.bands;
    expect(band!.usualRange![0]).toBeLessThan(2);
    expect(band!.usualRange![1]).toBeGreaterThan(305);
    expect(band!.usualRange![1]).toBeLessThanOrEqual(309);
  });

  it('shows the values that gdal_translate reads, of the month that is asked for', async () => {
    const { source } = await onlyRaster(SERIES);
    const expected = (band: number) => {
      gdalTool('gdal_translate', '-b', band, `NETCDF:"${SERIES}":pr`, inScratch('month.tif'));
      return pixels(readFileSync(inScratch('month.tif')));
    };
    expect(await valuesOf(source, { time: 4 })).toEqual(expected(5));
    expect(await valuesOf(source)).toEqual(expected(12));
  });

  it('makes images', async () => {
    const { source } = await onlyRaster(SERIES);
    const window = {
      bbox: [-9500000, 3800000, -8300000, 4500000] as const,
      crs: 'EPSG:3857',
      width: 128,
      height: 96,
    };
    const image = (at: RasterPosition) =>
      suite.pool.run('raster.image', { source, at, ...window, format: 'png' as const });
    const [january, july] = [await image({ time: 0 }), await image({ time: 6 })];
    expect(january.empty).toBe(false);
    expect(await sharp(january.data).raw().toBuffer()).not.toEqual(await sharp(july.data).raw().toBuffer());
  });

  it.each([{ time: 12 }, { time: -1 }, { time: 0.5 }])('has no slice %j', async (at) => {
    const { source } = await onlyRaster(SERIES);
    await expect(valuesOf(source, at)).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it.each(['classic', 'netCDF-4'] as const)(
    'is unpacked, turned north up and begins at 180 W (%s)',
    async (kind) => {
      const path = inScratch(`world-${kind}.nc`);
      writeNetcdf(
        path,
        {
          ...WORLD,
          attributes: 't:scale_factor = 0.5; t:add_offset = 100.; t:_FillValue = -1s; t:units = "K";',
        },
        kind,
      );
      const { source, info } = await onlyRaster(path);
      expect(info).toMatchObject({
        extent: [-180, -90, 180, 90],
        levels: { name: 'lev', unit: 'hPa', values: [1000, 850] },
      });
      expect(info.bands[0]).toMatchObject({ type: 'Float32', unit: 'K' });
      expect(await valuesOf(source, { time: 1, level: 1 })).toEqual(
        upright(1, 1).map((value) => value * 0.5 + 100),
      );
    },
  );

  it('reads HDF5 by its content', async () => {
    writeNetcdf(inScratch('world.nc'), WORLD);
    copyFileSync(inScratch('world.nc'), inScratch('world.h5'));
    expect((await onlyRaster(inScratch('world.h5'))).info).toMatchObject({ driver: 'netCDF', width: 36 });
  });

  it('reaches around the globe when it lies across the antimeridian', async () => {
    const path = inScratch('pacific.nc');
    writeNetcdf(path, {
      lons: range(8, 145, 10),
      lats: range(4, -15, 10),
      value: (_t, _l, row, column) => row * 8 + column + 1,
    });
    const { source, info } = await onlyRaster(path);
    expect(info).toMatchObject({ width: 36, height: 4, extent: [-180, -20, 180, 20] });
    const [top] = [(await valuesOf(source)).slice(0, 36)];
    expect(top!.slice(0, 5)).toEqual([29, 30, 31, 32, info.bands[0]!.noData]);
    expect(top!.slice(31)).toEqual([info.bands[0]!.noData, 25, 26, 27, 28]);
  });

  it('orders the times of an axis that runs backwards', async () => {
    const path = inScratch('backwards.nc');
    writeNetcdf(path, { ...WORLD, levels: [], times: [60, 31, 0] });
    const { source, info } = await onlyRaster(path);
    expect(info.times).toEqual(['2000-01-01T00:00:00Z', '2000-02-01T00:00:00Z', '2000-03-01T00:00:00Z']);
    expect(await valuesOf(source)).toEqual(upright(0, 0));
  });

  it('says which variables cannot be read, and why', async () => {
    const path = inScratch('feb30.nc');
    writeNetcdf(path, { ...WORLD, times: range(3, 58, 1), calendar: '360_day' });
    const { layers, problems } = await suite.pool.run('raster.layers', { path });
    expect(layers).toEqual([]);
    expect(problems).toEqual([{ layer: 't', reason: expect.stringMatching(/360_day.*2000-2-30/) }]);
  });

  it('is read again when it was replaced', async () => {
    const path = inScratch('replaced.nc');
    writeNetcdf(path, WORLD);
    const { source } = await onlyRaster(path);
    expect(await valuesOf(source)).toEqual(upright(2, 0));
    writeNetcdf(path, { ...WORLD, value: () => 7 });
    utimesSync(path, new Date(), new Date(Date.now() + 5000));
    expect(new Set(await valuesOf(source))).toEqual(new Set([7]));
  });

  it('of several grids makes several rasters', async () => {
    const cdl = `netcdf two { dimensions: lat = 2; lon = 2; y2 = 3; x2 = 3;
      variables: double lat(lat); lat:units = "degrees_north"; double lon(lon); lon:units = "degrees_east";
        double y2(y2); y2:units = "degrees_north"; double x2(x2); x2:units = "degrees_east";
        float a(lat, lon); float b(lat, lon); float c(y2, x2); float lonely(lat);
      data: lat = 0, 1; lon = 0, 1; y2 = 0, 1, 2; x2 = 0, 1, 2; a = 1, 2, 3, 4; b = 1, 2, 3, 4; c = 1, 2, 3, 4, 5, 6, 7, 8, 9; }`;
    writeFileSync(inScratch('two.cdl'), cdl);
    execFileSync('ncgen', ['-o', inScratch('two.nc'), inScratch('two.cdl')]);
    const { layers } = await suite.pool.run('raster.layers', { path: inScratch('two.nc') });
    expect(layers.map(({ name, source }) => [name, source.kind === 'gridded' && source.variables])).toEqual([
      ['a', ['a', 'b']],
      ['c', ['c']],
    ]);
  });
});

describe('a Zarr store', () => {
  it('is unpacked, turned north up and begins at 180 W', async () => {
    const path = inScratch('world.zarr');
    writeZarr(path, WORLD, { scale_factor: 0.5, add_offset: 100, units: 'K' });
    const { source, info } = await onlyRaster(path);
    expect(info).toMatchObject({
      driver: 'Zarr',
      extent: [-180, -90, 180, 90],
      times: { length: 3 },
      levels: { values: [1000, 850] },
    });
    expect(info.bands[0]).toMatchObject({ description: 't', unit: 'K' });
    for (const at of [
      { time: 0, level: 0 },
      { time: 1, level: 1 },
    ])
      expect(await valuesOf(source, at)).toEqual(
        upright(at.time, at.level).map((value) => value * 0.5 + 100),
      );
  });

  it('with a link in it is refused before anything of it is read', async () => {
    const folder = inScratch('published/linked.zarr');
    writeZarr(folder, WORLD);
    writeFileSync(inScratch('secret'), Buffer.alloc(36 * 18 * 2, 'secret'));
    execFileSync('rm', [join(folder, 't/0.0.0.0')]);
    symlinkSync(inScratch('secret'), join(folder, 't/0.0.0.0'));
    expect(await findFiles([inScratch('published')])).toEqual([
      { path: expect.stringContaining('linked.zarr'), problem: expect.stringContaining('link') },
    ]);
  });

  it.each<[string, (folder: string) => void]>([
    ['metadata that is no JSON', (folder) => writeFileSync(join(folder, 't/.zarray'), '{"shape": [')],
    ['deeply nested metadata', (folder) => writeFileSync(join(folder, '.zmetadata'), '['.repeat(1 << 20))],
    [
      'enormous chunks',
      (folder) =>
        writeArray(
          join(folder, 't'),
          { shape: [3, 2, 18, 36], chunks: [1, 1, 1e5, 1e5], dtype: '<i2' },
          { _ARRAY_DIMENSIONS: ['time', 'lev', 'lat', 'lon'] },
        ),
    ],
    [
      'a billion chunks',
      (folder) =>
        writeArray(
          join(folder, 't'),
          { shape: [3, 2, 1e9, 1e9], chunks: [1, 1, 1, 1], dtype: '<i2' },
          { _ARRAY_DIMENSIONS: ['time', 'lev', 'lat', 'lon'] },
        ),
    ],
    [
      'an axis of a billion steps',
      (folder) => {
        for (const [name, shape] of [
          ['time', [1e9]],
          ['t', [1e9, 2, 18, 36]],
        ] as const)
          writeArray(
            join(folder, name),
            { shape: [...shape], chunks: shape.map(() => 1), dtype: '<i2' },
            {
              _ARRAY_DIMENSIONS: name === 't' ? ['time', 'lev', 'lat', 'lon'] : ['time'],
              units: 'days since 2000-01-01',
            },
          );
      },
    ],
    [
      'version 3',
      (folder) => {
        execFileSync('rm', ['-r', folder]);
        mkdirSync(folder);
        writeFileSync(
          join(folder, 'zarr.json'),
          '{"zarr_format": 3, "node_type": "group", "attributes": {}}',
        );
      },
    ],
  ])('with %s is refused with a reason', async (name, spoil) => {
    const folder = inScratch(`${name.replaceAll(' ', '-')}.zarr`);
    writeZarr(folder, WORLD);
    spoil(folder);
    const outcome = await suite.pool
      .run('raster.layers', { path: folder }, { deadlineMs: 20_000 })
      .then(
        async ({ layers, problems }) => {
          if (layers.length === 0) return { reason: problems[0]!.reason };
          return suite.pool.run('raster.inspect', { source: layers[0]!.source }, { deadlineMs: 20_000 });
        },
        (error) => ({ reason: error.message }),
      )
      .catch((error) => ({ reason: error.message }));
    expect(outcome).toEqual({ reason: expect.stringMatching(/\w+ \w+/) });
    expect(suite.engine.process.exitCode).toBeNull();
  });
});
