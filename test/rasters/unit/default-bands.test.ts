import { describe, expect, it } from 'vitest';
import { chooseDefaultBands, type RasterContext } from '../../../src/core/rasters/default-bands.js';
import type { BandInfo } from '../../../src/core/rasters/rasters.js';

const of = (
  descriptions: readonly string[],
  type = 'UInt16',
  more: (i: number) => Partial<BandInfo> = () => ({}),
): BandInfo[] =>
  descriptions.map((description, i) => ({
    band: i + 1,
    type,
    noData: null,
    description,
    colorInterpretation: 'Undefined',
    unit: '',
    ...more(i),
  }));
const unnamed = (count: number) => Array.from({ length: count }, () => '');
const scene = (...bands: number[]) => ({ kind: 'scene', bands });
const IMAGE = { kind: 'image' };
const FIRST = { kind: 'quantity', band: 1 };

describe('the default bands of a raster', () => {
  it.each<[string, BandInfo[], RasterContext | undefined, object]>([
    ['variables of a netCDF', of(['sst', 'anom', 'err', 'ice'], 'Float32'), { isGridded: true }, FIRST],
    ['one variable of bytes', of(['ice'], 'Byte'), { isGridded: true }, FIRST],
    ['reflectances of a netCDF', of(['B02', 'B03', 'B04'], 'Float32'), { isGridded: true }, scene(3, 2, 1)],
    ['a copy of the netCDF', of(['sst', 'anom', 'err', 'ice'], 'Float32'), undefined, FIRST],
    ['bands with units', of(['', '', ''], 'Float32', () => ({ unit: 'K' })), undefined, FIRST],
    [
      'declared colours',
      of(unnamed(4), 'Byte', (i) => ({ colorInterpretation: ['Blue', 'Green', 'Red', 'Undefined'][i]! })),
      undefined,
      IMAGE,
    ],
    ['a camera', of(unnamed(4)), undefined, IMAGE],
    ['a colour table', of([''], 'Byte', () => ({ colorInterpretation: 'Palette' })), undefined, IMAGE],
    ['a scan', of([''], 'Byte'), undefined, IMAGE],
    [
      'a scan and its opacity',
      of(['', ''], 'Byte', (i) => ({ colorInterpretation: i ? 'Alpha' : 'Gray' })),
      undefined,
      IMAGE,
    ],
    ['elevations', of([''], 'Int16'), undefined, FIRST],
    ['Landsat TM without names', of(unnamed(6), 'Byte'), undefined, scene(3, 2, 1)],
    [
      'numbered bands',
      of(['Band 1', 'Band 2', 'Band 3', 'Band 4', 'Band 5', 'Band 6', 'Band 7']),
      undefined,
      scene(3, 2, 1),
    ],
    ['Sentinel-2 without names', of(unnamed(13)), undefined, scene(4, 3, 2)],
    ['months', of(unnamed(12), 'Int16'), undefined, FIRST],
    ['six bands of floats', of(unnamed(6), 'Float32'), undefined, FIRST],
    [
      'words',
      of(['Coastal', 'Blue', 'Green', 'Red', 'Red edge', 'Near infrared']),
      undefined,
      scene(4, 3, 2),
    ],
    ['red edge before red', of(['red_edge', 'rededge2', 'red', 'green', 'blue']), undefined, scene(3, 4, 5)],
    ['Sentinel-2', of(['B2', 'B3', 'B4', 'B8', 'B8A', 'B11']), undefined, scene(3, 2, 1)],
    [
      'Sentinel-2 with wavelengths',
      of(['B04 (665 nm)', 'B03 (560 nm)', 'B02 (490 nm)']),
      undefined,
      scene(1, 2, 3),
    ],
    [
      'Landsat 8',
      of(['SR_B1', 'SR_B2', 'SR_B3', 'SR_B4', 'SR_B5', 'SR_B6', 'SR_B7']),
      undefined,
      scene(4, 3, 2),
    ],
    [
      'Landsat 7 without its thermal band',
      of(['SR_B1', 'SR_B2', 'SR_B3', 'SR_B4', 'SR_B5', 'SR_B7']),
      undefined,
      scene(3, 2, 1),
    ],
    [
      'Landsat 5 by its file',
      of(['B1', 'B2', 'B3', 'B4', 'B5', 'B6', 'B7']),
      { name: '/data/LT05_L1TP_214065.tif' },
      scene(3, 2, 1),
    ],
    [
      'Landsat 8 by its file',
      of(['B1', 'B2', 'B3', 'B4', 'B5', 'B6', 'B7']),
      { name: '/data/LC08_L1TP_214065.tif' },
      scene(4, 3, 2),
    ],
    [
      'MODIS',
      of(['sur_refl_b01', 'sur_refl_b02', 'sur_refl_b03', 'sur_refl_b04'], 'Int16'),
      { isGridded: true },
      scene(1, 4, 3),
    ],
    ['wind', of(['u', 'v', 'speed'], 'Float32'), undefined, FIRST],
  ])('of %s', (_what, bands, naming, expected) => {
    expect(chooseDefaultBands(bands, naming)).toEqual(expected);
  });
});
