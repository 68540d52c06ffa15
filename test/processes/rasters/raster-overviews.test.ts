import { afterAll, expect, it } from 'vitest';
import type { RasterProcess } from '../../../src/core/rasters/raster-processes.js';
import { importRaster } from '../../../src/workers/exchange/ogr/import.js';
import { gdal } from '../../../src/workers/gdal/gdal.js';
import { processRaster } from '../../../src/workers/processes/rasters/process.js';
import { Files } from './raster-support.js';

/** Overviews of what is written: small pictures of classes have these classes alone. */

const SIDE = 600;
const files = new Files();
afterAll(() => files.remove());

/** Columns of 0 and 90 by turns, in degrees of a plane. */
function stripes(): string {
  const path = files.path('tif');
  const dataset = gdal.open(path, 'w', 'GTiff', SIDE, SIDE, 1, 'Float32');
  dataset.geoTransform = [0, 10, 0, 0, 0, -10];
  dataset.srs = gdal.SpatialReference.fromEPSG(32725);
  const row = Float32Array.from({ length: SIDE }, (_, x) => (x % 2) * 90);
  for (let y = 0; y < SIDE; y++) dataset.bands.get(1).pixels.write(0, y, SIDE, 1, row);
  dataset.close();
  return path;
}

function overviewOf(path: string): Set<number> {
  const overview = gdal.open(path).bands.get(1).overviews.get(0);
  expect([overview.size.x, overview.size.y]).toEqual([SIDE / 2, SIDE / 2]);
  return new Set(Array.from(overview.pixels.read(0, 0, SIDE / 2, SIDE / 2), Number));
}

async function overviewAfter(process: RasterProcess): Promise<Set<number>> {
  const output = files.path('tif');
  const task = { process, sources: [{ kind: 'file', path: stripes() } as const], band: 1 };
  await processRaster({ ...task, output, maxBytes: Number.POSITIVE_INFINITY }, `${output}.part`, () => {});
  return overviewOf(output);
}

it('overviews of classes hold these alone', async () => {
  const classes = [
    { min: -1, max: 45, value: 3 },
    { min: 45, max: 91, value: 7 },
  ];
  const values = await overviewAfter({ kind: 'reclassify', classes, keepsOthers: false });
  expect([...values].filter((value) => value !== 3 && value !== 7)).toEqual([]);
});

it('pixels that keep their values keep them in overviews', async () => {
  const values = await overviewAfter({ kind: 'warp', pixelSize: 10, resampling: 'nearest' });
  expect([...values].filter((value) => value !== 0 && value !== 90)).toEqual([]);
});

it('other overviews are averages', async () => {
  const [mean, ...others] = await overviewAfter({ kind: 'warp', pixelSize: 10, resampling: 'bilinear' });
  expect([mean, others]).toEqual([45, []]);
});

it('overviews of imports are averages', async () => {
  const output = files.path('tif');
  await importRaster({ path: stripes(), output }, `${output}.part`, () => {});
  expect([...overviewOf(output)]).toEqual([45]);
});
