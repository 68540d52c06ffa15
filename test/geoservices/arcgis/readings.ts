import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Position } from 'geojson';
import { describe, expect, it } from 'vitest';
import { type Box, HEIGHT, WIDTH } from './pictures.js';
import { DEM, type Json, type Stage } from './stage.js';

const WORLD: Box = [-20_000_000, -15_000_000, 20_000_000, 15_000_000];
/** Goes beyond the raster in the west. */
const WINDOW: Box = [-3_888_000, -892_000, -3_884_000, -889_000];

/** What is read of layers is what OGC API Features and GDAL have. */
export function readings(stage: Stage): void {
  describe('reads', () => {
    it.each(['PBF', 'JSON'])('all polygons of a layer, by tiles as %s', async (format) => {
      const read = await stage.sdk.call(
        'readFeatures',
        { url: stage.featureLayer('countries') },
        WORLD,
        format,
      );
      const features = await stage.itemsOf('countries');
      const count = features.length;
      expect(read).toMatchObject({ drawn: count, count, extentCount: count });
      expect(read.ids).toEqual(features.map(({ id }) => id));
      for (const [i, { attributes, rings }] of read.features.entries()) {
        expect(attributes).toEqual({ fid: features[i]!.id, ...features[i]!.properties });
        expect(ringsOf(rings)).toEqual(ringsOf((features[i]!.geometry as Json).coordinates.flat()));
      }
      const tiles = stage.sdk.requests.filter(
        ({ searchParams }) => searchParams.get('resultType') === 'tile',
      );
      expect(new Set(tiles.map(({ searchParams }) => searchParams.get('f')))).toEqual(
        new Set([format.toLowerCase()]),
      );
    });

    it('features of a map, what lies at a place and what has a text', async () => {
      const id = stage.numbers['countries'];
      const properties = { url: stage.mapService, sublayers: [{ id }] };
      const rows = await stage.sdk.call('readSublayer', properties, "NAME LIKE 'S%'");
      const features = await stage.itemsOf('countries', "&filter=NAME LIKE 'S%25'");
      expect(rows).toEqual(features.map((feature) => ({ fid: feature.id, ...feature.properties })));
      const [xmin, ymin, xmax, ymax] = WORLD;
      const results = await stage.sdk.call('identify', stage.mapService, {
        geometry: { type: 'point', x: 1_113_194, y: 6_446_275 },
        mapExtent: { xmin, ymin, xmax, ymax },
        ...{ tolerance: 0, width: WIDTH, height: HEIGHT, layerOption: 'all', layerIds: [id] },
      });
      expect(results).toMatchObject([{ layerId: id, attributes: { NAME: 'Germany' } }]);
      const parameters = { searchText: 'german', searchFields: ['NAME'], layerIds: [id] };
      expect(await stage.sdk.call('find', stage.mapService, parameters)).toMatchObject([
        { layerId: id, foundFieldName: 'NAME', attributes: { NAME: 'Germany' } },
      ]);
    });

    it('values of a raster as LERC', async () => {
      const properties = { url: stage.imageService, format: 'lerc' };
      const { values, mask } = await stage.sdk.call('readPixels', properties, WINDOW, 40, 30);
      const formats = stage.sdk.requests.map(({ searchParams }) => searchParams.get('format'));
      expect(formats.filter((format) => format !== null)).toEqual(['lerc']);
      const expected = warped(40, 30);
      expect(expected).toContain(null);
      expect(values.map((value: number, i: number) => (mask[i] === 0 ? null : value))).toEqual(expected);
    });

    it('values at places, rasters and statistics of an image service', async () => {
      const points = [
        [-34.88, -8],
        [-34.87, -8.01],
      ] as const;
      const read = await stage.sdk.call('readImage', { url: stage.imageService }, points);
      const values = points.map(([x, y]) =>
        Number(execFileSync('gdallocationinfo', ['-valonly', '-wgs84', DEM, `${x}`, `${y}`])),
      );
      expect(read).toMatchObject({ samples: values, value: `${values[0]}`, rasters: 1 });
      const info = JSON.parse(
        execFileSync('gdalinfo', ['-json', '-stats', DEM, ...WITHOUT_SIDECAR]).toString(),
      );
      const { minimum, maximum, mean, stdDev } = info.bands[0];
      expect(read.statistics).toMatchObject([
        { min: minimum, max: maximum, mean: expect.closeTo(mean, 3), stddev: expect.closeTo(stdDev, 3) },
      ]);
    });
  });

  /** Values of the window, as GDAL has them; null where there is none. */
  function warped(width: number, height: number): (number | null)[] {
    const file = join(stage.home, 'window.tif');
    const target = ['-t_srs', 'EPSG:3857', '-te', ...WINDOW.map(String), '-ts', `${width}`, `${height}`];
    execFileSync('gdalwarp', ['-q', '-overwrite', '-et', '0', ...target, '-dstnodata', '-9999', DEM, file]);
    const rows = execFileSync('gdal_translate', ['-q', '-of', 'XYZ', file, '/vsistdout/']).toString();
    const values = rows
      .trim()
      .split('\n')
      .map((row) => Number(row.split(' ')[2]));
    return values.map((value) => (value === -9999 ? null : value));
  }
}

const WITHOUT_SIDECAR = ['--config', 'GDAL_PAM_ENABLED', 'NO'];

const round = (number: number) => Math.round(number * 1e7) / 1e7 + 0;
const ringsOf = (rings: Position[][]) =>
  rings
    .map((ring) => [...new Set(ring.map(([x, y]) => `${round(x!)},${round(y!)}`))].sort().join(' '))
    .sort();
