import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, suiteEngine } from './support.js';

const suite = suiteEngine();
const { scratch } = suite;
const file = (name: string) => join(scratch.path, name);

beforeAll(() => {
  writeFileSync(file('mixed.geojson'), geojson([polygon(0), multiPolygon(2), polygon(4)]));
});

const square = (x: number) => [
  [
    [x, 0],
    [x + 1, 0],
    [x + 1, 1],
    [x, 1],
    [x, 0],
  ],
];
const polygon = (x: number) => ({ type: 'Polygon', coordinates: square(x) });
const multiPolygon = (x: number) => ({ type: 'MultiPolygon', coordinates: [square(x)] });

function geojson(geometries: object[]): string {
  const features = geometries.map((geometry, index) => ({
    type: 'Feature',
    geometry,
    properties: { name: `é${index}`, size: index / 2, count: index },
  }));
  return JSON.stringify({ type: 'FeatureCollection', features });
}

function ogrinfo(path: string): {
  geometryType: string;
  featureCount: number;
  fidColumnName: string;
  crs: string;
} {
  const text = execFileSync('ogrinfo', ['-so', path, 'staged'], { encoding: 'utf8' });
  const value = (name: string) => new RegExp(`^${name}[:=] ?(.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
  return {
    geometryType: value('Geometry'),
    featureCount: Number(value('Feature Count')),
    fidColumnName: value('FID Column ').replace('= ', '') || /FID Column = (.*)/.exec(text)?.[1] || '',
    crs: text.match(/ID\["EPSG",(\d+)\]\]\s*Data axis/)?.[1] ?? '',
  };
}

let outputs = 0;
const newOutput = () => file(`staged-${++outputs}.gpkg`);

describe('ogr.inspect', () => {
  it('describes the layers of a file', async () => {
    const [layer] = await suite.pool.run('ogr.inspect', { path: file('mixed.geojson') });
    expect(layer).toMatchObject({ name: 'mixed', featureCount: 3, crs: 'EPSG:4326', extent: [0, 0, 5, 1] });
    expect(layer!.fields).toEqual([
      { name: 'name', type: 'string', nullable: true },
      { name: 'size', type: 'number', nullable: true },
      { name: 'count', type: 'integer', nullable: true },
    ]);
  });

  it('refuses archives and formats that name other sources', async () => {
    writeFileSync(file('bomb.zip'), Buffer.from('504b0304140000000800', 'hex'));
    writeFileSync(file('a.geojson.gz'), gzipSync(geojson([polygon(0)])));
    writeFileSync(
      file('remote.vrt'),
      '<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>/etc/passwd</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>',
    );
    await expect(suite.pool.run('ogr.inspect', { path: file('bomb.zip') })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    await expect(suite.pool.run('ogr.inspect', { path: file('a.geojson.gz') })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    await expect(suite.pool.run('ogr.inspect', { path: file('remote.vrt') })).rejects.toMatchObject({
      code: 'source-unreadable',
    });
    await expect(suite.pool.run('ogr.inspect', { path: 'PG:dbname=x' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
  });
});

describe('ogr.translate', () => {
  it('stages mixed polygons as multipolygons with fid, CRS and progress', async () => {
    const output = newOutput();
    const progress: number[] = [];
    const task = { path: file('mixed.geojson'), output, table: 'staged' };
    const result = await suite.pool.run('ogr.translate', task, {
      onProgress: (fraction) => progress.push(fraction),
    });
    expect(result).toEqual({ features: 3 });
    expect(ogrinfo(output)).toEqual({
      geometryType: 'Multi Polygon',
      featureCount: 3,
      fidColumnName: 'fid',
      crs: '4326',
    });
    expect(progress.at(-1)).toBe(1);
    expect(readdirSync(scratch.path).filter((name) => name.includes('.part-'))).toEqual([]);
  });

  it('keeps points as points', async () => {
    writeFileSync(file('points.geojson'), geojson([{ type: 'Point', coordinates: [1, 2] }]));
    const output = newOutput();
    await suite.pool.run('ogr.translate', { path: file('points.geojson'), output, table: 'staged' });
    expect(ogrinfo(output).geometryType).toBe('Point');
  });

  it('reads the coordinates of a CSV file in the CRS given', async () => {
    writeFileSync(file('places.csv'), 'name,lon,lat,count\nOlinda,-34.85,-8.01,3\nRecife,-34.88,-8.05,4\n');
    const task = { path: file('places.csv'), table: 'staged' };
    await expect(suite.pool.run('ogr.translate', { ...task, output: newOutput() })).rejects.toMatchObject({
      code: 'invalid-input',
    });
    const output = newOutput();
    expect(await suite.pool.run('ogr.translate', { ...task, output, assumeCrs: 'EPSG:4326' })).toEqual({
      features: 2,
    });
    expect(ogrinfo(output)).toMatchObject({ geometryType: 'Point', crs: '4326' });
    expect(execFileSync('ogrinfo', ['-al', output], { encoding: 'utf8' })).toContain('POINT (-34.85 -8.01)');
  });

  it('refuses a table without geometry', async () => {
    writeFileSync(file('plain.csv'), 'name,count\nOlinda,3\n');
    const task = { path: file('plain.csv'), output: newOutput(), table: 'staged', assumeCrs: 'EPSG:4326' };
    await expect(suite.pool.run('ogr.translate', task)).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it.each(['ESRI Shapefile', 'FlatGeobuf', 'GML', 'KML', 'GPX'])('reads %s', async (driver) => {
    const extension = { 'ESRI Shapefile': 'shp', FlatGeobuf: 'fgb', GML: 'gml', KML: 'kml', GPX: 'gpx' }[
      driver
    ]!;
    const path = file(`from.${extension}`);
    const points = file('waypoints.geojson');
    writeFileSync(
      points,
      JSON.stringify({
        type: 'FeatureCollection',
        features: [1, 2].map((x) => ({
          type: 'Feature',
          properties: { name: `p${x}` },
          geometry: { type: 'Point', coordinates: [x, x] },
        })),
      }),
    );
    execFileSync(
      'ogr2ogr',
      ['-q', '-f', driver, '-nln', driver === 'GPX' ? 'waypoints' : 'from', path, points],
      { stdio: 'ignore' },
    );
    const result = await suite.pool.run('ogr.translate', {
      path,
      output: newOutput(),
      table: 'staged',
      assumeCrs: 'EPSG:4326',
    });
    expect(result).toEqual({ features: 2 });
  });

  it('leaves nothing behind when it fails', async () => {
    writeFileSync(file('broken.geojson'), `${geojson([polygon(0)]).slice(0, -30)}`);
    const output = newOutput();
    const task = { path: file('broken.geojson'), output, table: 'staged' };
    await expect(suite.pool.run('ogr.translate', task)).rejects.toMatchObject({ code: 'source-unreadable' });
    expect(readdirSync(scratch.path).filter((name) => name.startsWith(`staged-${outputs}`))).toEqual([]);
  });

  it('never replaces a file', async () => {
    const output = newOutput();
    writeFileSync(output, 'precious');
    const task = { path: file('mixed.geojson'), output, table: 'staged' };
    await expect(suite.pool.run('ogr.translate', task)).rejects.toMatchObject({ code: 'invalid-input' });
    await expect(
      suite.pool.run('ogr.translate', { ...task, output: newOutput(), table: 'a"; DROP' }),
    ).rejects.toMatchObject({ code: 'invalid-input' });
    await expect(
      suite.pool.run('ogr.translate', { ...task, output: newOutput(), layer: 'other' }),
    ).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it('stops when it is cancelled and removes what it wrote', async () => {
    const rows = Array.from({ length: 300_000 }, (_, index) => `p${index},${index % 180},${index % 90}`).join(
      '\n',
    );
    writeFileSync(file('many.csv'), `name,lon,lat\n${rows}\n`);
    const output = newOutput();
    const abort = new AbortController();
    const task = { path: file('many.csv'), output, table: 'staged', assumeCrs: 'EPSG:4326' };
    const run = suite.pool.run('ogr.translate', task, { signal: abort.signal });
    await eventually(() =>
      readdirSync(scratch.path).some((name) => name.startsWith(`staged-${outputs}.gpkg.part-`)),
    );
    abort.abort();
    await expect(run).rejects.toMatchObject({ code: 'cancelled' });
    await eventually(() => !readdirSync(scratch.path).some((name) => name.startsWith(`staged-${outputs}`)));
    expect(existsSync(output)).toBe(false);
  });
});
