import { join } from 'node:path';
import gdal from 'gdal-async';
import { expect, it } from 'vitest';
import type { MosaicMember, RasterImageTask, RasterMosaic } from '../../src/core/rasters/rasters.js';
import { transformBox } from '../../src/native/index.js';
import { suiteEngine } from '../engine/support.js';

/** Of scenes that lie over each other only those are read that are seen. */

const suite = suiteEngine();
const SIDE = 64;
const GRID = {
  crs: 'EPSG:32633',
  geoTransform: [400_000, 10, 0, 5_002_000, 0, -10] as [number, number, number, number, number, number],
  width: SIDE,
  height: SIDE,
};
const EXTENT84 = transformBox([400_000, 5_001_360, 400_640, 5_002_000], GRID.crs, 'OGC:CRS84');

/** A scene of this value, with a hole of no data in its middle where it is said. */
function scene(name: string, value: number, hole = 0): MosaicMember {
  const path = join(suite.scratch.path, `${name}.tif`);
  const dataset = gdal.open(path, 'w', 'GTiff', SIDE, SIDE, 1, 'Byte');
  dataset.srs = gdal.SpatialReference.fromEPSG(32633);
  dataset.geoTransform = [...GRID.geoTransform];
  const [band] = [dataset.bands.get(1)];
  band.noDataValue = 0;
  const pixels = new Uint8Array(SIDE * SIDE).fill(value);
  const middle = (SIDE - hole) / 2;
  for (let row = middle; row < middle + hole; row++)
    pixels.fill(0, row * SIDE + middle, row * SIDE + middle + hole);
  band.pixels.write(0, 0, SIDE, SIDE, pixels);
  dataset.close();
  return { id: name, source: { kind: 'file', path }, extent84: EXTENT84 };
}

const absent = (name: string): MosaicMember => ({
  id: name,
  source: { kind: 'file', path: join(suite.scratch.path, `${name}-is-not-there.tif`) },
  extent84: EXTENT84,
});

const WINDOW = { bbox: [400_100, 5_001_460, 400_540, 5_001_900] as const, crs: GRID.crs };
const imageOf = async (members: MosaicMember[], more: Partial<RasterImageTask> = {}) => {
  const source: RasterMosaic = { kind: 'mosaic', members, grid: GRID };
  const size = { width: 44, height: 44, format: 'raw' as const, ranges: [[0, 255] as const] };
  return Buffer.from((await suite.pool.run('raster.image', { source, ...WINDOW, ...size, ...more })).data);
};

it('a scene without holes hides those beneath it, which are not read', async () => {
  const top = scene('top', 200);
  const alone = await imageOf([top]);
  expect(alone.subarray(0, 4)).toEqual(Buffer.from([200, 200, 200, 255]));
  expect(await imageOf([absent('beneath'), top])).toEqual(alone);
  expect(await imageOf([scene('beneath', 50), top])).toEqual(alone);
});

it('what a hole leaves open shows those beneath it', async () => {
  const holed = [scene('holed', 200, 20), scene('smaller', 100, 10)];
  const deep = await imageOf([scene('lowest', 50), ...holed.toReversed()]);
  expect([...new Set(deep)].sort((a, b) => a - b)).toEqual([50, 100, 200, 255]);
  // Four are tried together: the fifth is not read, and the sixth neither.
  const stack = [scene('second', 70), ...holed, holed[0]!];
  expect(await imageOf([absent('sixth'), absent('fifth'), ...stack])).toEqual(await imageOf(stack));
  await expect(imageOf([absent('fifth'), ...holed])).rejects.toMatchObject({ code: 'source-missing' });
});

it('all are read where what is beneath may show, or where their values become one', async () => {
  const [top, beneath] = [scene('top', 200), scene('beneath', 50)];
  const source: RasterMosaic = { kind: 'mosaic', members: [beneath, top], grid: GRID, merge: 'min' };
  expect((await imageOf([], { source }))[0]).toBe(50);
  const faint = { steps: [{ adjustment: { opacity: 0.5 } }] } as Partial<RasterImageTask>;
  await expect(imageOf([absent('beneath'), top], faint)).rejects.toMatchObject({ code: 'source-missing' });
});
