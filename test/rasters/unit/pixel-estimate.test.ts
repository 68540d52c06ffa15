import { describe, expect, it } from 'vitest';
import type { RasterCollection } from '../../../src/core/catalog/collection.js';
import { CRS84, type Crs } from '../../../src/core/geometry/crs.js';
import { estimatePixels } from '../../../src/services/rasters/pixel-estimate.js';

const UTM = { proj: 'EPSG:32633', geographic: false } as Crs;
/** 100 by 50 pixels of 1000 m, around 15 degrees east and 45 degrees north. */
const raster = {
  width: 100,
  height: 50,
  crs: 'EPSG:32633',
  extent: [450_000, 4_975_000, 550_000, 5_025_000],
};
const collection = { raster } as unknown as RasterCollection;
const whole = { place: undefined, crs: UTM };

describe('the pixels of a coverage', () => {
  it.each([
    ['of the raster itself', { ...whole, scaling: {} }, 5000],
    ['of a size', { ...whole, scaling: { size: [200, 0] as [number, number] } }, 10_000],
    ['of smaller pixels', { ...whole, scaling: { pixel: [20, 20] as [number, number] } }, 12_500_000],
    ['of a resolution', { ...whole, scaling: { resolution: [100, 100] as [number, number] } }, 500_000],
    [
      'of a window',
      { place: { bbox: [450_000, 4_975_000, 500_000, 5_000_000], bboxCrs: UTM }, crs: UTM, scaling: {} },
      1250,
    ],
    [
      'of a window beyond the raster',
      { place: { bbox: [0, 4_000_000, 500_000, 6_000_000], bboxCrs: UTM }, crs: UTM, scaling: {} },
      2500,
    ],
  ] as const)('%s', (_, request, expected) => {
    expect(estimatePixels(collection, request as never)).toBe(expected);
  });

  it('of a resolution in degrees', () => {
    const pixels = estimatePixels(collection, {
      ...{ place: undefined, crs: CRS84 },
      scaling: { resolution: [0.001, 0.001] },
    });
    // About 1.27 by 0.45 degrees.
    expect(pixels).toBeGreaterThan(400_000);
    expect(pixels).toBeLessThan(800_000);
  });
});
