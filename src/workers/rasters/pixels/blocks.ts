/** Rasters that processes fill block by block. */

import type { RasterBand, SpatialReference } from 'gdal-async';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import { rasterCopyPath } from '../../gdal/parts.js';
import { cogArguments, type OverviewResampling } from '../cog/cog-process.js';
import type { GeoTransform } from '../georeference.js';
import { FLOAT_NODATA } from './nodata.js';
import type { PixelBox } from './values.js';

/** Georeference of a raster, and its number of pixels. */
export interface RasterShape {
  width: number;
  height: number;
  geoTransform: GeoTransform;
  srs: SpatialReference | null;
}

export interface BandShape {
  count: number;
  /** GDAL's name of the type. */
  type: string;
  /** Value of pixels without data. A mask marks them if every number can be a value. */
  nodata: number | 'mask';
  overviews: OverviewResampling;
}

export const FLOAT_BANDS: Omit<BandShape, 'count'> = {
  type: 'Float32',
  nodata: FLOAT_NODATA,
  overviews: 'AVERAGE',
};

/** Side of the blocks in pixels. A multiple of the block size of the file. */
const SIDE = 1024;
const FILE = [
  'TILED=YES',
  'BLOCKXSIZE=256',
  'BLOCKYSIZE=256',
  'COMPRESS=DEFLATE',
  'ZLEVEL=1',
  'BIGTIFF=IF_SAFER',
];
/** GDAL's GMF_PER_DATASET. */
const MASK_OF_ALL = 2;
/** Share of the work after which the file only has to be rearranged. */
const FILLED = 0.8;

export const getRasterShape = ({
  rasterSize: { x: width, y: height },
  geoTransform,
  srs,
}: Dataset): RasterShape => ({
  width,
  height,
  srs,
  geoTransform: geoTransform as GeoTransform,
});

/** Values of a band. NaN represents missing values. Arrays of 64-bit integers use the nodata value. */
export type BandArray = Float64Array | BigInt64Array | BigUint64Array;

/** Writes a cloud optimized GeoTIFF. `compute` gives the values of the bands in a box. Integers of 64 bits need a nodata value. */
export async function writeBlocks(
  shape: RasterShape,
  bands: BandShape,
  part: string,
  compute: (box: PixelBox) => Promise<BandArray[]>,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const copy = rasterCopyPath(part);
  const target = await createFile(copy, shape, bands);
  try {
    const total = shape.width * shape.height;
    let done = 0;
    for (const box of splitIntoBlocks(shape)) {
      await writeBox(target, box, await compute(box), bands.nodata);
      done += box.width * box.height;
      onProgress((done / total) * FILLED);
    }
    await target.flushAsync();
  } finally {
    target.close();
  }
  await layOut(copy, part, bands.overviews, (fraction) => onProgress(FILLED + fraction * (1 - FILLED)));
}

/** Creates an empty file next to the target, in a layout that allows writes at any position. */
export async function createFile(
  path: string,
  { width, height, geoTransform, srs }: RasterShape,
  { count, type, nodata }: Omit<BandShape, 'overviews'>,
): Promise<Dataset> {
  const target = await gdal.openAsync(path, 'w', 'GTiff', width, height, count, type, FILE);
  target.geoTransform = geoTransform;
  if (srs) target.srs = srs;
  if (nodata === 'mask') createMask(target);
  else for (let band = 1; band <= count; band++) target.bands.get(band).noDataValue = nodata;
  return target;
}

/** A mask of all bands, within the file. */
function createMask({ bands }: Dataset): RasterBand {
  gdal.config.set('GDAL_TIFF_INTERNAL_MASK', 'YES');
  bands.get(1).createMaskBand(MASK_OF_ALL);
  return bands.get(1).getMaskBand()!;
}

/** Gives a raster the mask of another one of the same size. */
export async function copyMask(mask: RasterBand, target: Dataset): Promise<RasterBand> {
  const copy = createMask(target);
  for (const { column, row, width, height } of splitIntoBlocks(getRasterShape(target))) {
    const pixels = await mask.pixels.readAsync(column, row, width, height);
    await copy.pixels.writeAsync(column, row, width, height, pixels);
  }
  return copy;
}

/** A file as a cloud optimized GeoTIFF. */
export async function layOut(
  path: string,
  part: string,
  overviews: OverviewResampling,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const source = await gdal.openAsync(path, 'r', ['GTiff']);
  try {
    (await gdal.translateAsync(part, source, cogArguments(overviews), { progress_cb: onProgress })).close();
  } finally {
    source.close();
  }
}

export function* splitIntoBlocks({
  width,
  height,
}: Pick<RasterShape, 'width' | 'height'>): Generator<PixelBox> {
  for (let row = 0; row < height; row += SIDE) {
    for (let column = 0; column < width; column += SIDE)
      yield { column, row, width: Math.min(SIDE, width - column), height: Math.min(SIDE, height - row) };
  }
}

async function writeBox(
  target: Dataset,
  { column, row, width, height }: PixelBox,
  values: readonly BandArray[],
  nodata: BandShape['nodata'],
): Promise<void> {
  if (nodata === 'mask') {
    const valid = Uint8Array.from({ length: values[0]!.length }, (_, i) =>
      values.some((band) => Number.isNaN(Number(band[i]))) ? 0 : 255,
    );
    await target.bands.get(1).getMaskBand()!.pixels.writeAsync(column, row, width, height, valid);
  }
  const filler = nodata === 'mask' ? 0 : nodata;
  for (const [i, band] of values.entries()) {
    if (band instanceof Float64Array)
      for (let at = 0; at < band.length; at++) if (Number.isNaN(band[at]!)) band[at] = filler;
    await target.bands.get(i + 1).pixels.writeAsync(column, row, width, height, band);
  }
}
