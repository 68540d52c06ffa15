/** Bands with byte values, also stored as floats: results of merged byte bands in which every byte can be a value. */

import type { RasterBand } from 'gdal-async';

const KEY = 'GRATICULE_VALUES';
const BYTES = 'bytes';

/** For the band of a virtual raster. */
export const BYTE_VALUES = `<Metadata><MDI key="${KEY}">${BYTES}</MDI></Metadata>`;

export function hasByteValues(band: Pick<RasterBand, 'dataType' | 'getMetadata'>): boolean {
  return band.dataType === 'Byte' || (band.getMetadata() as Record<string, unknown>)[KEY] === BYTES;
}
