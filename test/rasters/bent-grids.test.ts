import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RasterSource } from '../../src/core/rasters/rasters.js';
import { suiteEngine } from '../engine/support.js';
import { gdalTool, rasterValues } from '../support/gdal-tools.js';
import { writeArray } from './support.js';

/** Grids with two-dimensional coordinates, as xarray and models write them, beside what GDAL's own gdalwarp makes of them. */

const suite = suiteEngine();
const inScratch = (name: string) => join(suite.scratch.path, name);

const WIDTH = 40;
const HEIGHT = 30;
const cells = Array.from({ length: WIDTH * HEIGHT }, (_, i) => ({ x: i % WIDTH, y: Math.floor(i / WIDTH) }));
/** A sheared and bent grid of the western Mediterranean; `east` moves it. */
const longitudeOf = ({ x, y }: { x: number; y: number }, east = 0) => 2 + east + 0.2 * x + 0.05 * y;
const latitudeOf = ({ x, y }: { x: number; y: number }) => 38 + 0.2 * y - 0.03 * x + 0.002 * y * y;

interface Setup {
  /** Attributes of the variable and others. */
  about?: string;
  dimensions?: [string, string];
  sizes?: string;
  more?: string;
  data?: string;
  east?: number;
}

function writeBent(
  name: string,
  { about = '', dimensions = ['y', 'x'], sizes = '', more = '', data = '', east }: Setup = {},
) {
  const [y, x] = dimensions;
  const cdl = `netcdf bent {
dimensions: time = 2; ${y} = ${HEIGHT}; ${x} = ${WIDTH}; ${sizes}
variables: double time(time); time:units = "days since 2000-01-01";
  double lon(${y}, ${x}); lon:units = "degrees_east"; lon:standard_name = "longitude";
  double lat(${y}, ${x}); lat:units = "degrees_north"; lat:standard_name = "latitude";
  float t(time, ${y}, ${x}); t:_FillValue = -1.f; ${about} ${more}
data: time = 0, 31;
  lon = ${cells.map((cell) => longitudeOf(cell, east)).join(', ')};
  lat = ${cells.map((cell) => latitudeOf(cell)).join(', ')};
  t = ${[0, 1].flatMap((time) => cells.map(({ x: i, y: j }) => time * 10_000 + j * 100 + i)).join(', ')}; ${data}
}`;
  const path = inScratch(name);
  writeFileSync(`${path}.cdl`, cdl);
  execFileSync('ncgen', ['-k', 'netCDF-4', '-o', path, `${path}.cdl`]);
  return path;
}

const COORDINATES = 't:coordinates = "lon lat";';

const layersOf = (path: string) => suite.pool.run('raster.layers', { path });

async function onlyRaster(path: string) {
  const { layers, problems } = await layersOf(path);
  expect(problems).toEqual([]);
  expect(layers).toHaveLength(1);
  const { source } = layers[0]!;
  return { source, info: await suite.pool.run('raster.inspect', { source }) };
}

function pixelsOf(tiff: string): { values: Float64Array; width: number; transform: number[] } {
  const info = JSON.parse(gdalTool('gdalinfo', '-json', tiff)) as {
    size: [number, number];
    geoTransform: number[];
  };
  const values = rasterValues(tiff).subarray(0, info.size[0] * info.size[1]);
  return { values, width: info.size[0], transform: info.geoTransform };
}

async function coverage(source: RasterSource, at?: { time: number }) {
  const options = { crs: 'EPSG:4326', maxSize: 4096, maxBytes: 1 << 28, format: 'geotiff' } as const;
  const { data } = await suite.pool.run('raster.coverage', { source, at, ...options });
  const path = inScratch('answer.tif');
  writeFileSync(path, data);
  return pixelsOf(path);
}

/** The value at a place. */
function valueAt(
  { values, width, transform }: ReturnType<typeof pixelsOf>,
  lon: number,
  lat: number,
): number {
  const column = Math.floor((lon - transform[0]!) / transform[1]!);
  const row = Math.floor((lat - transform[3]!) / transform[5]!);
  return values[row * width + column]!;
}

describe('a grid with arrays of longitude and latitude', () => {
  it('has in its place what gdalwarp puts there', async () => {
    const path = writeBent('bent.nc', { about: COORDINATES });
    const { source, info } = await onlyRaster(path);
    expect(info.crs).toMatch(/4326$/);
    expect(info.extent).toEqual([
      expect.closeTo(1.9, 0),
      expect.closeTo(36.83, 0),
      expect.closeTo(11.3, 0),
      expect.closeTo(45.6, 0),
    ]);
    const ours = await coverage(source, { time: 0 });
    const { width, transform, values } = ours;
    const height = values.length / width;
    const box = [
      transform[0]!,
      transform[3]! + height * transform[5]!,
      transform[0]! + width * transform[1]!,
      transform[3]!,
    ];
    const peer = inScratch('peer.tif');
    gdalTool(
      'gdalwarp',
      ...['-overwrite', '-geoloc', '-t_srs', 'EPSG:4326', '-te', ...box.map(String)],
      ...['-ts', String(width), String(height), '-r', 'near', '-et', '0', `NETCDF:${path}:t`, peer],
    );
    const theirs = pixelsOf(peer).values;
    expect(theirs.filter((value) => value > 0).length).toBeGreaterThan(800);
    expect(values.filter((value, i) => value !== theirs[i]).length).toBe(0);
  });

  it.each([0, 1])('has the values of the file at the centres of its cells at step %i', async (time) => {
    const { source } = await onlyRaster(writeBent(`cells${time}.nc`, { about: COORDINATES }));
    const read = await coverage(source, { time });
    // The straight cells are as large as the bent ones: at a centre lies the value of that cell or of one beside it.
    for (const cell of cells.filter(({ x, y }) => x % 7 === 3 && y % 7 === 3)) {
      const value = valueAt(read, longitudeOf(cell), latitudeOf(cell)) - time * 10_000;
      expect(Math.abs((value % 100) - cell.x)).toBeLessThanOrEqual(1);
      expect(Math.abs(Math.floor(value / 100) - cell.y)).toBeLessThanOrEqual(1);
    }
  });

  it('is found without the attribute that names them', async () => {
    const { source } = await onlyRaster(writeBent('unnamed.nc', { dimensions: ['nj', 'ni'] }));
    expect(valueAt(await coverage(source, { time: 0 }), 6, 41)).toBeGreaterThan(0);
  });

  it('is not taken for a straight one where its axes count rows and columns', async () => {
    const more = 'double x(x); x:axis = "X"; double y(y); y:axis = "Y";';
    const count = (n: number) => Array.from({ length: n }, (_, i) => i).join(', ');
    const data = `x = ${count(WIDTH)}; y = ${count(HEIGHT)};`;
    const { info } = await onlyRaster(writeBent('counted.nc', { about: COORDINATES, more, data }));
    expect(info.extent![0]).toBeCloseTo(1.9, 0);
    expect(info.extent![2]).toBeCloseTo(11.3, 0);
  });

  it('lies where it is when its longitudes go to 360', async () => {
    const { source, info } = await onlyRaster(writeBent('west.nc', { about: COORDINATES, east: 300 }));
    expect(info.extent![0]).toBeCloseTo(-58.1, 0);
    expect(valueAt(await coverage(source, { time: 0 }), -54, 41)).toBeGreaterThan(0);
  });

  it('is read from Zarr', async () => {
    const store = inScratch('bent.zarr');
    const write = (name: string, values: Float64Array, about: object) => {
      const shape = { shape: [HEIGHT, WIDTH], chunks: [HEIGHT, WIDTH], dtype: '<f8' };
      writeArray(join(store, name), shape, { ...about, _ARRAY_DIMENSIONS: ['y', 'x'] });
      writeFileSync(join(store, name, '0.0'), Buffer.from(values.buffer));
    };
    const array = (of: (cell: (typeof cells)[number]) => number) =>
      Float64Array.from(cells, (cell) => of(cell));
    write(
      'lon',
      array((cell) => longitudeOf(cell)),
      { units: 'degrees_east' },
    );
    write(
      'lat',
      array((cell) => latitudeOf(cell)),
      { units: 'degrees_north' },
    );
    // As xarray writes coordinates.
    write(
      't',
      array(({ x, y }) => y * 100 + x),
      { coordinates: 'lat lon' },
    );
    writeFileSync(join(store, '.zgroup'), '{"zarr_format": 2}');
    const { source } = await onlyRaster(store);
    const cell = { x: 20, y: 15 };
    const value = valueAt(await coverage(source), longitudeOf(cell), latitudeOf(cell));
    expect(Math.abs(value - 1520)).toBeLessThanOrEqual(101);
  });
});

describe('a grid that nothing places', () => {
  it('is named with the reason, beside those that are published', async () => {
    const sizes = 'row = 2; column = 3; nv = 2;';
    const more = `int counts(row, column); double time_bnds(time, nv); time:bounds = "time_bnds";`;
    const data = 'counts = 1, 2, 3, 4, 5, 6; time_bnds = 0, 31, 31, 60;';
    const { layers, problems } = await layersOf(
      writeBent('beside.nc', { about: COORDINATES, sizes, more, data }),
    );
    expect(layers).toHaveLength(1);
    expect(problems).toEqual([
      { layer: 'counts', reason: expect.stringMatching(/^It has no georeference: /) },
    ]);
  });

  it('is refused where its metres have no reference system', async () => {
    const path = inScratch('metres.nc');
    const axis = (first: number) => [0, 1, 2].map((i) => first + i * 1000).join(', ');
    const cdl = `netcdf metres { dimensions: y = 3; x = 3;
      variables: double x(x); x:standard_name = "projection_x_coordinate"; x:units = "m";
        double y(y); y:standard_name = "projection_y_coordinate"; y:units = "m"; float t(y, x);
      data: x = ${axis(290_000)}; y = ${axis(9_110_000)}; t = 1, 2, 3, 4, 5, 6, 7, 8, 9; }`;
    writeFileSync(`${path}.cdl`, cdl);
    execFileSync('ncgen', ['-k', 'netCDF-4', '-o', path, `${path}.cdl`]);
    const { layers } = await layersOf(path);
    const { source } = layers[0]!;
    await expect(suite.pool.run('raster.inspect', { source })).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/cannot be degrees/),
    });
  });
});
