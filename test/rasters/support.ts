import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A grid of packed values with axes of time and level, as CDL. */
export interface TestGrid {
  /** Centres of columns and rows. */
  lons: number[];
  lats: number[];
  times?: number[];
  timeUnits?: string;
  calendar?: string;
  levels?: number[];
  /** Attributes of the variable `t`, as CDL. */
  attributes?: string;
  value(time: number, level: number, row: number, column: number): number;
}

export const range = (count: number, first: number, step: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index * step);

const attribute = (name: string, value: string) => `${name} = "${value}";`;

/** Writes a netCDF file with the variable `t` of 16-bit integers. */
export function writeNetcdf(path: string, grid: TestGrid, kind: 'classic' | 'netCDF-4' = 'netCDF-4'): void {
  const { lons, lats, times = [], levels = [], timeUnits = 'days since 2000-01-01', calendar } = grid;
  const axes = [...(times.length > 0 ? ['time'] : []), ...(levels.length > 0 ? ['lev'] : []), 'lat', 'lon'];
  const sizes: Record<string, number[]> = { time: times, lev: levels, lat: lats, lon: lons };
  const attributes: Record<string, string> = {
    time: attribute('time:units', timeUnits) + (calendar ? attribute('time:calendar', calendar) : ''),
    lev: attribute('lev:units', 'hPa'),
    lat: attribute('lat:units', 'degrees_north'),
    lon: attribute('lon:units', 'degrees_east'),
  };
  const cdl = `netcdf grid {
dimensions: ${axes.map((axis) => `${axis} = ${sizes[axis]!.length};`).join(' ')}
variables: ${axes.map((axis) => `double ${axis}(${axis}); ${attributes[axis]}`).join(' ')}
  short t(${axes.join(', ')}); ${grid.attributes ?? ''}
data: ${axes.map((axis) => `${axis} = ${sizes[axis]!.join(', ')};`).join(' ')}
  t = ${valuesOf(grid).join(', ')};
}`;
  writeFileSync(`${path}.cdl`, cdl);
  execFileSync('ncgen', ['-k', kind, '-o', path, `${path}.cdl`]);
}

function valuesOf({ lons, lats, times = [], levels = [], value }: TestGrid): number[] {
  const steps = (values: number[]) => range(Math.max(1, values.length), 0, 1);
  return steps(times).flatMap((time) =>
    steps(levels).flatMap((level) =>
      lats.flatMap((_, row) => lons.map((_, column) => value(time, level, row, column))),
    ),
  );
}

/** Writes a Zarr store of version 2 with the variable `t`, a chunk per time and level, uncompressed. */
export function writeZarr(folder: string, grid: TestGrid, attributes: Record<string, unknown> = {}): void {
  const { lons, lats, times = [], levels = [], timeUnits = 'days since 2000-01-01' } = grid;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '.zgroup'), '{"zarr_format": 2}');
  const axes: [string, number[], Record<string, unknown>][] = [
    ['time', times, { units: timeUnits, calendar: grid.calendar ?? 'standard' }],
    ['lev', levels, { units: 'hPa' }],
    ['lat', lats, { units: 'degrees_north', standard_name: 'latitude' }],
    ['lon', lons, { units: 'degrees_east', standard_name: 'longitude' }],
  ];
  const used = axes.filter(([, values]) => values.length > 0);
  for (const [name, values, about] of used) {
    writeArray(
      join(folder, name),
      { shape: [values.length], chunks: [values.length], dtype: '<f8' },
      { ...about, _ARRAY_DIMENSIONS: [name] },
    );
    writeFileSync(join(folder, name, '0'), Buffer.from(Float64Array.from(values).buffer));
  }
  const shape = used.map(([, values]) => values.length);
  const chunks = shape.map((size, index) => (index < shape.length - 2 ? 1 : size));
  writeArray(
    join(folder, 't'),
    { shape, chunks, dtype: '<i2' },
    { ...attributes, _ARRAY_DIMENSIONS: used.map(([name]) => name) },
  );
  const values = Int16Array.from(valuesOf(grid));
  const size = lons.length * lats.length;
  for (let slice = 0; slice * size < values.length; slice++) {
    const indices = [
      ...(times.length > 0 ? [Math.floor(slice / Math.max(1, levels.length))] : []),
      ...(levels.length > 0 ? [slice % levels.length] : []),
    ];
    const chunk = values.slice(slice * size, (slice + 1) * size);
    writeFileSync(join(folder, 't', [...indices, 0, 0].join('.')), Buffer.from(chunk.buffer));
  }
}

interface ZarrArray {
  shape: number[];
  chunks: number[];
  dtype: string;
}

export function writeArray(folder: string, array: ZarrArray, attributes: Record<string, unknown>): void {
  mkdirSync(folder, { recursive: true });
  const fixed = { compressor: null, fill_value: null, filters: null, order: 'C', zarr_format: 2 };
  writeFileSync(join(folder, '.zarray'), JSON.stringify({ ...fixed, ...array }));
  writeFileSync(join(folder, '.zattrs'), JSON.stringify(attributes));
}

/** A TIFF of one grey pixel in a degree, whose tag of GDAL holds this text. */
export function tiffWithMetadata(text: string): Buffer {
  const metadata = Buffer.from(`${text}\0`);
  const doubles = (...values: number[]) => Buffer.from(new Float64Array(values).buffer);
  const shorts = (...values: number[]) => Buffer.from(new Uint16Array(values).buffer);
  const tags: [tag: number, type: number, count: number, value: number | Buffer][] = [
    ...[256, 257].map((tag): [number, number, number, number] => [tag, 3, 1, 1]),
    ...[258, 259, 262].map((tag): [number, number, number, number] => [tag, 3, 1, tag === 258 ? 8 : 1]),
    // The pixel is the first byte of the number of tags.
    [273, 4, 1, 8],
    ...[277, 278, 279].map((tag): [number, number, number, number] => [tag, 4, 1, 1]),
    [33550, 12, 3, doubles(1, 1, 0)],
    [33922, 12, 6, doubles(0, 0, 0, 7, 47, 0)],
    [34735, 3, 16, shorts(1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326)],
    [42112, 2, metadata.length, metadata],
  ];
  const head = Buffer.alloc(8 + 2 + tags.length * 12 + 4);
  head.write('II*\0');
  head.writeUInt32LE(8, 4);
  head.writeUInt16LE(tags.length, 8);
  const values: Buffer[] = [];
  let end = head.length;
  tags.forEach(([tag, type, count, value], index) => {
    const at = 10 + index * 12;
    head.writeUInt16LE(tag, at);
    head.writeUInt16LE(type, at + 2);
    head.writeUInt32LE(count, at + 4);
    head.writeUInt32LE(typeof value === 'number' ? value : end, at + 8);
    if (typeof value === 'number') return;
    values.push(value);
    end += value.length;
  });
  return Buffer.concat([head, ...values]);
}

/** Writes a netCDF file of four variables with units on 36 x 18 cells of the world, at the end of three months. */
export function writeOcean(path: string): void {
  const [lons, lats, days] = [range(36, -175, 10), range(18, -85, 10), [0, 31, 60]];
  const variables: [name: string, unit: string, value: (day: number, lat: number, lon: number) => number][] =
    [
      ['sst', 'degC', (day, lat) => 28 - Math.abs(lat) / 3 + day / 60],
      ['anom', 'degC', (day, _, lon) => lon / 100 + day / 60],
      ['err', 'degC', (_, lat) => Math.abs(lat) / 200],
      ['ice', '%', (_, lat) => Math.max(0, Math.abs(lat) - 60) * 3],
    ];
  const data = variables.map(([name, , value]) => {
    const values = days.flatMap((day) => lats.flatMap((lat) => lons.map((lon) => value(day, lat, lon))));
    return `${name} = ${values.join(', ')};`;
  });
  const cdl = `netcdf ocean {
dimensions: time = 3; lat = 18; lon = 36;
variables: double time(time); time:units = "days since 2020-01-31";
  double lat(lat); lat:units = "degrees_north"; double lon(lon); lon:units = "degrees_east";
  ${variables.map(([name, unit]) => `float ${name}(time, lat, lon); ${name}:units = "${unit}";`).join(' ')}
data: time = ${days.join(', ')}; lat = ${lats.join(', ')}; lon = ${lons.join(', ')};
  ${data.join('\n  ')}
}`;
  writeFileSync(`${path}.cdl`, cdl);
  execFileSync('ncgen', ['-k', 'netCDF-4', '-o', path, `${path}.cdl`]);
  rmSync(`${path}.cdl`);
}
