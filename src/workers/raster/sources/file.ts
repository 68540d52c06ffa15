/** Local files that GDAL reads as one raster. */

import type { FileRaster } from '../../../core/rasters.js';
import { type FileStamp, gdal, openRaster, plainFile, rasterName, unreadable } from '../gdal.js';
import { looksLikeDegrees } from '../georeference.js';
import type { Opened, Opening } from './opening.js';

export async function fileOpening({ path, table }: FileRaster): Promise<Opening> {
  const stamp = stampText(await plainFile(path));
  const key = table === undefined ? path : `${path}\0${table}`;
  return { key, origin: path, stamp, open: () => openFile(path, table) };
}

export const stampText = ({ size, mtimeMs }: FileStamp): string => `${size} ${mtimeMs}`;

async function openFile(path: string, table: string | undefined): Promise<Opened> {
  const dataset = await openRaster(path, table);
  if (dataset.srs || !looksLikeDegrees(dataset))
    return { dataset, name: rasterName(path, table), close: () => dataset.close() };
  try {
    const placed = await gdal.translateAsync('', dataset, ['-of', 'VRT', '-a_srs', 'EPSG:4326']);
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
