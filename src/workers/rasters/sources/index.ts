import type { RasterPosition, RasterSource } from '../../../core/rasters/rasters.js';
import { fileOpening } from './file.js';
import { griddedOpening } from './gridded/open.js';
import { mosaicOpening } from './mosaic/open.js';
import type { RasterOpener } from './opener.js';
import { postgisOpening } from './postgis.js';
import { remoteOpening } from './remote/open.js';
import { stackOpening } from './stack/open.js';

/** Returns the opener of a slice of a source. Fails with `invalid-input`, `source-missing` or `source-unreadable`. */
export async function createOpening(source: RasterSource, at?: RasterPosition): Promise<RasterOpener> {
  switch (source.kind) {
    case 'file':
      return fileOpening(source);
    case 'gridded':
      return griddedOpening(source, at);
    case 'remote':
      return remoteOpening(source);
    case 'stack':
      return stackOpening(source, remoteOpening);
    case 'mosaic':
      return mosaicOpening(source, (member) => createOpening(member, at));
    case 'postgis-raster':
      return postgisOpening(source);
  }
}
