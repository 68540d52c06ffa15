import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gdal from 'gdal-async';
import { describe, expect, it } from 'vitest';
import { scaledOpacity } from '../../src/console/browser/viewer/opacity.js';
import { readPermalink, writePermalink } from '../../src/console/browser/viewer/permalink.js';
import { firstPixel } from '../../src/console/browser/viewer/tiff-values.js';
import {
  describeUnselected,
  division,
  findDrawnInstant,
  formatDatetime,
  shownInstant,
} from '../../src/console/browser/viewer/times.js';

describe('an address of the viewer', () => {
  it('says again what it was made of', () => {
    const link = {
      view: { center: [8.541, 47.374] as [number, number], zoom: 11.25 },
      layers: [
        { id: 'rues et chemins', opacity: 100 },
        { id: 'a,b:c&d', opacity: 35 },
      ],
      time: '1999-01-31T00:00:00Z/..',
      colors: [{ id: 'a,b:c&d', query: 'bands=3,2,1&rescale=-1,2.5' }],
    };
    const again = readPermalink(writePermalink(link));
    expect(again.layers).toEqual(link.layers);
    expect(again.time).toBe(link.time);
    expect(again.colors).toEqual(link.colors);
    expect(again.view?.zoom).toBe(11.25);
    expect(Math.abs(again.view!.center[0] - 8.541)).toBeLessThan(1e-3);
  });

  it('may show no layer at all, and no time', () => {
    expect(readPermalink(writePermalink({ layers: [] }))).toEqual({ layers: [] });
  });

  it.each([
    '#',
    '#map=1/2',
    '#map=a/b/c',
    '#map=99/0/0',
    '#map=3/100/0',
    '#time=<script>',
    '#%',
    '#map=1e999/0/0',
  ])('%s is as if nothing were there', (hash) => {
    expect(readPermalink(hash)).toEqual({});
  });
});

describe('an opacity', () => {
  it.each([
    [undefined, 0.5],
    [0.4, 0.2],
    [
      ['get', 'a'],
      ['*', 0.5, ['get', 'a']],
    ],
    [
      ['interpolate', ['linear'], ['zoom'], 0, 0.2, 5, ['get', 'a']],
      ['interpolate', ['linear'], ['zoom'], 0, 0.1, 5, ['*', 0.5, ['get', 'a']]],
    ],
    [
      ['step', ['zoom'], 0.2, 5, 1],
      ['step', ['zoom'], 0.1, 5, 0.5],
    ],
    [{ stops: [[3, 0.8]] }, { stops: [[3, 0.4]] }],
  ])('%j is %j at half', (value, half) => {
    expect(scaledOpacity(value, 0.5)).toEqual(half);
    expect(scaledOpacity(value, 1)).toBe(value);
  });
});

describe('times', () => {
  it.each([
    ['2020-01-01T03:30:00Z', '2020-01-01T07:10:00Z', 5, '2020-01-01T03:00:00.000Z'],
    ['2020-01-15', '2020-03-01', 47, '2020-01-15T00:00:00.000Z'],
    ['2018-06-15', '2020-03-01', 22, '2018-06-01T00:00:00.000Z'],
    ['1850-05-05', '2020-03-01', 171, '1850-01-01T00:00:00.000Z'],
    ['2020-01-31', '2020-01-31', 1, '2020-01-31T00:00:00.000Z'],
  ])('from %s to %s are %d steps', (first, last, count, begin) => {
    const steps = division(Date.parse(first), Date.parse(last));
    expect(steps).toHaveLength(count);
    expect(new Date(steps[0]!).toISOString()).toBe(begin);
  });

  it('end before the next begins, and the last never', () => {
    const steps = ['2020-01-01', '2020-02-01', '2020-03-01'].map(Date.parse);
    expect(formatDatetime(steps, 0, 0)).toBe('2020-01-01T00:00:00Z/2020-01-31T23:59:59.999Z');
    expect(formatDatetime(steps, 0, 1)).toBe('2020-01-01T00:00:00Z/2020-02-29T23:59:59.999Z');
    expect(formatDatetime(steps, 2, 2)).toBe('2020-03-01T00:00:00Z/..');
    expect(shownInstant(steps[1]!, steps)).toBe('2020-02');
    expect(shownInstant(steps[1]!, [Date.parse('2020-01-01T12:30:00Z')])).toBe('2020-02-01 00:00');
  });
});

describe('a time that is not selected', () => {
  const raster = { kind: 'instants', instants: ['1999-11-30T00:00:00Z', '1999-12-31T00:00:00Z'] } as const;
  const visits = { kind: 'property', name: 'day', items: '' } as const;
  const steps = raster.instants.map((one) => Date.parse(one));

  it('is the newest one of a raster, and all of features', () => {
    expect(describeUnselected([raster], steps)).toBe('1999-12-31');
    expect(describeUnselected([visits], steps)).toBe('All times');
    expect(describeUnselected([visits, raster], steps)).toBe('All times; rasters: 1999-12-31');
    const older = { ...raster, instants: raster.instants.slice(0, 1) };
    expect(describeUnselected([raster, older], steps)).toBe('Newest time of each layer');
  });

  it('is the newest one within a selected interval', () => {
    expect(findDrawnInstant(raster, undefined)).toBe('1999-12-31T00:00:00Z');
    expect(findDrawnInstant(raster, '../1999-12-01T00:00:00Z')).toBe('1999-11-30T00:00:00Z');
    expect(findDrawnInstant(raster, '2000-01-01T00:00:00Z/..')).toBeUndefined();
    expect(findDrawnInstant(visits, undefined)).toBeUndefined();
  });
});

describe('values of a GeoTIFF', () => {
  const types = { Byte: 200, UInt16: 40_000, Int16: -3000, Int32: -70_000, Float32: 86.56, Float64: -1e-9 };

  it.each(Object.entries(types))('of type %s are read with every predictor', async (type, value) => {
    const folder = mkdtempSync(join(tmpdir(), 'graticule-tiff-'));
    const predictors = type.startsWith('Float') ? ['1', '3'] : ['1', '2'];
    for (const predictor of predictors) {
      for (const interleave of ['PIXEL', 'BAND']) {
        const path = join(folder, `${predictor}-${interleave}.tif`);
        const options = [
          'COMPRESS=DEFLATE',
          `PREDICTOR=${predictor}`,
          'TILED=YES',
          `INTERLEAVE=${interleave}`,
        ];
        const dataset = gdal.open(path, 'w', 'GTiff', 20, 10, 3, type, options);
        dataset.bands.forEach((band) => {
          band.noDataValue = 7;
          band.fill(1);
        });
        dataset.bands.get(1).pixels.set(0, 0, value);
        dataset.bands.get(2).pixels.set(0, 0, 7);
        dataset.close();
        const [first, second, third] = await firstPixel(new Uint8Array(readFileSync(path)).buffer);
        expect(first).toBeCloseTo(value, type === 'Float32' ? 4 : 12);
        expect([second, third]).toEqual([null, 1]);
      }
    }
    rmSync(folder, { recursive: true });
  });

  it('of another file are refused', async () => {
    await expect(firstPixel(new Uint8Array(100).buffer)).rejects.toThrow('TIFF');
  });
});
