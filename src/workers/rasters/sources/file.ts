/** Local files that GDAL reads as one raster. */

import { stat } from 'node:fs/promises';
import { isPicture, listWorldFiles } from '../../../core/files/world-files.js';
import type { FileRaster } from '../../../core/rasters/rasters.js';
import { readDatasetCrs } from '../../gdal/crs.js';
import {
  type Dataset,
  type FileStamp,
  gdal,
  openRaster,
  plainFile,
  rasterName,
  unreadable,
} from '../../gdal/gdal.js';
import { looksLikeDegrees } from '../georeference.js';
import type { DatasetView } from '../pixels/continuous.js';
import type { OpenRaster, RasterOpener } from './opener.js';
import { createDatasetView, openPlainNumbers, warpByControlPoints } from './readable.js';

export async function fileOpening(source: FileRaster): Promise<RasterOpener> {
  const { path, table, crs, assumeCrs } = source;
  const stamp = stampText(await plainFile(path)) + (isPicture(path) ? await placeStamp(path) : '');
  const key = [path, table, crs, assumeCrs].filter((part) => part !== undefined).join('\0');
  return { key, origin: path, stamp, open: () => openFile(source) };
}

export const stampText = ({ size, mtimeMs }: FileStamp): string => `${size} ${mtimeMs}`;

/** Returns a stamp that changes with the files that georeference an image. */
async function placeStamp(path: string): Promise<string> {
  const stats = await Promise.all(listWorldFiles(path).map((file) => stat(file).catch(() => undefined)));
  return stats.map((one) => (one ? ` ${stampText(one)}` : '')).join('');
}

async function openFile(source: FileRaster): Promise<OpenRaster> {
  const { path, table } = source;
  const stored = await openRaster(path, table);
  const views: DatasetView[] = [];
  const top = () => views.at(-1)?.dataset ?? stored;
  const close = () => {
    for (const view of views.reverse()) view.close();
    stored.close();
  };
  /** Each view reads from the one before it. */
  const view = async (open: (dataset: Dataset) => Promise<DatasetView | undefined>) => {
    const opened = await open(top());
    if (opened) views.push(opened);
  };
  try {
    await view((dataset) => openPlainNumbers(dataset, rasterName(path, table)));
    await view((dataset) => warpByControlPoints(dataset, source.crs));
    await view(async (dataset) => {
      const crs = crsFor(dataset, source);
      if (crs === undefined) return undefined;
      return createDatasetView(await gdal.translateAsync('', dataset, ['-of', 'VRT', '-a_srs', crs]));
    });
  } catch (error) {
    close();
    throw unreadable('The raster could not be read.', error);
  }
  if (views.length === 0) return { dataset: stored, name: rasterName(path, table), close };
  return { dataset: top(), driver: stored.driver.description, close };
}

/** Returns the CRS of a raster whose file does not state it. */
function crsFor(dataset: Dataset, { path, crs, assumeCrs }: FileRaster): string | undefined {
  if (!dataset.geoTransform && isPicture(path))
    throw unreadable(
      `The image has no georeference. Add a world file (${listWorldFiles(path)[0]!.split('/').at(-1)}) in the same folder.`,
      '',
    );
  if (crs !== undefined) return crs;
  if (readDatasetCrs(dataset)) return undefined;
  return assumeCrs ?? (looksLikeDegrees(dataset) ? 'EPSG:4326' : undefined);
}
