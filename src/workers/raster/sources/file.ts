/** Local files that GDAL reads as one raster. */

import { stat } from 'node:fs/promises';
import type { FileRaster } from '../../../core/rasters.js';
import { isPicture, worldFilesOf } from '../../../core/world-files.js';
import { crsOfDataset } from '../crs.js';
import {
  type Dataset,
  type FileStamp,
  gdal,
  openRaster,
  plainFile,
  rasterName,
  unreadable,
} from '../gdal.js';
import { looksLikeDegrees } from '../georeference.js';
import type { Opened, Opening } from './opening.js';

export async function fileOpening(source: FileRaster): Promise<Opening> {
  const { path, table, crs, assumeCrs } = source;
  const stamp = stampText(await plainFile(path)) + (isPicture(path) ? await placeStamp(path) : '');
  const key = [path, table, crs, assumeCrs].filter((part) => part !== undefined).join('\0');
  return { key, origin: path, stamp, open: () => openFile(source) };
}

export const stampText = ({ size, mtimeMs }: FileStamp): string => `${size} ${mtimeMs}`;

/** Changes with the files that say where a picture lies. */
async function placeStamp(path: string): Promise<string> {
  const stats = await Promise.all(worldFilesOf(path).map((file) => stat(file).catch(() => undefined)));
  return stats.map((one) => (one ? ` ${stampText(one)}` : '')).join('');
}

async function openFile(source: FileRaster): Promise<Opened> {
  const { path, table } = source;
  const dataset = await openRaster(path, table);
  const crs = crsFor(dataset, source);
  if (crs === undefined) return { dataset, name: rasterName(path, table), close: () => dataset.close() };
  try {
    const placed = await gdal.translateAsync('', dataset, ['-of', 'VRT', '-a_srs', crs]);
    return {
      dataset: placed,
      driver: dataset.driver.description,
      close: () => {
        placed.close();
        dataset.close();
      },
    };
  } catch (error) {
    dataset.close();
    throw unreadable('The raster could not be read.', error);
  }
}

/** The CRS that a raster lies in, where the file itself does not say so. */
function crsFor(dataset: Dataset, { path, crs, assumeCrs }: FileRaster): string | undefined {
  if (!dataset.geoTransform && isPicture(path))
    throw unreadable(
      `A picture without a world file beside it (${worldFilesOf(path)[0]!.split('/').at(-1)}) has no place on Earth.`,
      '',
    );
  if (crs !== undefined) return crs;
  if (crsOfDataset(dataset)) return undefined;
  return assumeCrs ?? (looksLikeDegrees(dataset) ? 'EPSG:4326' : undefined);
}
