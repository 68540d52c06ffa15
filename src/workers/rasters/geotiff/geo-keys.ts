/** CRS fields of GeoTIFFs (OGC GeoTIFF 1.1, 7.1). */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { GdalCrs } from '../../gdal/crs.js';
import { gdal, scratchPath } from '../../gdal/gdal.js';
import { readTiffFields, type TiffField, type TiffFieldType } from './head.js';

const DIRECTORY = 34735;
const FIELDS: [tag: number, type: TiffFieldType][] = [
  [DIRECTORY, 'short'],
  [34736, 'double'],
  [34737, 'ascii'],
];
const RASTER_TYPE = 1025;
const PIXEL_IS_POINT = 2;
/** Numbers of each key in the directory, and of its head. */
const KEY_NUMBERS = 4;

const fieldsByCrs = new WeakMap<GdalCrs, TiffField[]>();

/** Returns the fields that name the CRS, as GDAL writes them. GDAL is called once for each CRS. */
export async function getGeoKeys(crs: GdalCrs, isPoint: boolean): Promise<TiffField[]> {
  let fields = fieldsByCrs.get(crs);
  if (!fields) fieldsByCrs.set(crs, (fields = await askGdal(crs)));
  return isPoint ? fields.map(pointed) : fields;
}

async function askGdal({ srs }: GdalCrs): Promise<TiffField[]> {
  const path = scratchPath('.tif');
  const dataset = await gdal.drivers.get('GTiff').createAsync(path, 1, 1, 1, 'Byte');
  dataset.srs = srs;
  dataset.geoTransform = [0, 1, 0, 0, 0, -1];
  dataset.close();
  const fields = readTiffFields(gdal.vsimem.release(path));
  if (!fields.has(DIRECTORY)) throw new TaskFailure('internal', 'GeoTIFF cannot name the reference system.');
  return FIELDS.flatMap(([tag, type]) => {
    const values = fields.get(tag);
    return values === undefined ? [] : { tag, type, values };
  });
}

/** Says that values belong to the centres of pixels. */
function pointed(field: TiffField): TiffField {
  if (field.tag !== DIRECTORY) return field;
  const values = Array.from(field.values as ArrayLike<number>);
  for (let at = KEY_NUMBERS; at < values.length; at += KEY_NUMBERS)
    if (values[at] === RASTER_TYPE) values[at + 3] = PIXEL_IS_POINT;
  return { ...field, values };
}
