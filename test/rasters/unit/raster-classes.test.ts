import { describe, expect, it } from 'vitest';
import { listClasses } from '../../../src/core/rasters/raster-classes.js';
import { defaultRasterStyle } from '../../../src/core/styles/default-style.js';

const band = { noData: null, statistics: { min: 0, max: 2, mean: 1, stdDev: 1 } };
const entries = [
  [0, 0, 0, 0],
  [34, 139, 34, 255],
  [60, 120, 220, 255],
  [9, 9, 9, 255],
];

describe('classes of a raster', () => {
  it('have the names and colours of the file', () => {
    const categories = ['nothing', 'Forest', 'Water'];
    const expected = [
      { value: 1, name: 'Forest', color: [34, 139, 34, 255] },
      { value: 2, name: 'Water', color: [60, 120, 220, 255] },
    ];
    expect(listClasses(band, { colorTable: { entries }, categories })).toEqual(expected);
    expect(listClasses({ ...band, noData: 2 }, { colorTable: { entries }, categories })).toEqual([
      expected[0],
    ]);
    const rat = {
      fieldDefn: [
        { name: 'Value', type: 0, usage: 0 },
        { name: 'CLASS_NAME', type: 2, usage: 0 },
      ],
      row: [{ f: [1, 'Forest'] }, { f: [2, 'Water'] }],
    };
    expect(listClasses(band, { colorTable: { entries }, rat })).toEqual(expected);
  });

  it('have the values of the data as names, if there are few', () => {
    expect(listClasses(band, { colorTable: { entries } })?.map(({ name }) => name)).toEqual(['1', '2']);
    const scan = Array.from({ length: 256 }, (_, i) => [i, i, i, 255]);
    const statistics = { ...band.statistics, max: 255 };
    expect(listClasses({ noData: null, statistics }, { colorTable: { entries: scan } })).toBeUndefined();
    expect(listClasses(band, {})).toBeUndefined();
  });

  it('of an attribute table are drawn in its colours', () => {
    const rat = {
      fieldDefn: [
        { name: 'Code', type: 0, usage: 5 },
        { name: 'Soil', type: 2, usage: 2 },
        ...[6, 7, 8].map((usage) => ({ name: `c${usage}`, type: 1, usage })),
      ],
      row: [{ f: [10, 'Clay', 1, 0.5, 0] }, { f: [20, 'Sand', 0, 0, 1] }],
    };
    const classes = listClasses({ noData: null }, { rat })!;
    expect(classes).toEqual([
      { value: 10, name: 'Clay', color: [255, 128, 0, 255] },
      { value: 20, name: 'Sand', color: [0, 0, 255, 255] },
    ]);
    const info = {
      ...{ band: 1, type: 'Byte', noData: null, description: '', unit: '', colorInterpretation: 'Gray' },
      classes,
    };
    expect(defaultRasterStyle([info]).layers[0]!.metadata).toEqual({
      'graticule:look': {
        bands: [1],
        colormap: { kind: 'values', values: [10, 20], colors: classes.map(({ color }) => color) },
      },
    });
  });
});
