/** Task `raster.inspect`. */

import type { RasterBand } from 'gdal-async';
import type { BandInfo, Box, RasterInfo } from '../../core/tasks.js';
import { TaskFailure } from '../../core/tasks.js';
import { CRS84, crsOf, transformBox } from './crs.js';
import type { Dataset } from './gdal.js';
import { georeferenceOf } from './georeference.js';
import { type RasterHandle, withRaster } from './handles.js';
import { bandStatistics } from './statistics.js';

/** More bands than this are refused: no imagery has them, but a hostile header can claim them. */
const MAX_BANDS = 1024;
/** Bands whose statistics are sampled; further ones are described without. */
const MAX_SAMPLED_BANDS = 16;

/** Describes a raster file after reading from both of its ends, so that a truncated file is found out here. */
export function inspect({ path }: { path: string }): Promise<RasterInfo> {
  return withRaster(path, async (handle) => {
    const { dataset } = handle;
    if (dataset.bands.count() > MAX_BANDS)
      throw new TaskFailure('too-large', 'The raster has too many bands.');
    const { geoTransform, crs, extent } = georeferenceOf(dataset);
    await readEnds(dataset);
    const first = dataset.bands.get(1);
    return {
      path,
      driver: dataset.driver.description,
      width: dataset.rasterSize.x,
      height: dataset.rasterSize.y,
      geoTransform,
      crs: crs.text,
      epsg: crs.epsg,
      extent,
      extent84: extent84Of(transformBox(extent, crs, crsOf(CRS84))),
      bands: await describeBands(handle),
      overviewCount: first.overviews.count(),
      blockSize: [first.blockSize.x, first.blockSize.y],
    };
  });
}

function extent84Of(box: Box | null): Box {
  if (!box) throw new TaskFailure('source-unreadable', 'The extent of the raster has no place on the globe.');
  const clamp = (value: number, limit: number) => Math.min(limit, Math.max(-limit, value));
  return [clamp(box[0], 180), clamp(box[1], 90), clamp(box[2], 180), clamp(box[3], 90)];
}

/** Reads the blocks at the corners and the middle of the first and last band; GDAL fails when one is cut off. */
async function readEnds(dataset: Dataset): Promise<void> {
  const { x: width, y: height } = dataset.rasterSize;
  const spots: [number, number][] = [
    [0, 0],
    [width - 1, height - 1],
    [width - 1, 0],
    [0, height - 1],
    [width >> 1, height >> 1],
  ];
  for (const number of new Set([1, dataset.bands.count()])) {
    const band = dataset.bands.get(number);
    for (const [x, y] of spots) await band.pixels.getAsync(x, y);
  }
}

async function describeBands(handle: RasterHandle): Promise<BandInfo[]> {
  const infos: BandInfo[] = [];
  for (let number = 1; number <= handle.dataset.bands.count(); number++) {
    const info = describeBand(handle.dataset.bands.get(number), number);
    const statistics = number <= MAX_SAMPLED_BANDS ? await bandStatistics(handle, number) : null;
    infos.push(statistics ? { ...info, statistics } : info);
  }
  return infos;
}

function describeBand(band: RasterBand, number: number): BandInfo {
  return {
    band: number,
    type: band.dataType ?? 'Unknown',
    noData: band.noDataValue,
    description: band.description ?? '',
    colorInterpretation: band.colorInterpretation ?? 'Undefined',
    unit: band.unitType ?? '',
  };
}
