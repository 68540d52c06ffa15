import { type FileClasses, listClasses } from '../../core/rasters/raster-classes.js';
import type { BandInfo, ThematicClass } from '../../core/rasters/rasters.js';
import { type Dataset, gdal } from '../gdal/gdal.js';

const INTEGERS = /^(U?Int|Byte)/;

/**
 * Reads the classes of a raster with one band of integers from its colour table, category names and raster attribute
 * table. GDAL's library for Node.js reads such tables only as text.
 */
export async function readClasses(dataset: Dataset, band: BandInfo): Promise<ThematicClass[] | undefined> {
  if (!INTEGERS.test(band.type)) return undefined;
  try {
    const text = await gdal.infoAsync(dataset, ['-json', '-nofl', '-nogcp', '-nomd']);
    const { bands, rat } = JSON.parse(text) as { bands: FileClasses[] } & Pick<FileClasses, 'rat'>;
    return listClasses(band, { ...bands[0], ...(rat && { rat }) });
  } catch {
    // Classes are only additional information.
    return undefined;
  }
}
