/** Cloud optimized GeoTIFFs by ranges over HTTP. */

import type { RemoteRaster } from '../../../../core/rasters/rasters.js';
import { gdal, unreadable } from '../../../gdal/gdal.js';
import { requireShape } from '../../../gdal/shape.js';
import { failureFrom } from '../../../threads/failure.js';
import type { OpenRaster, RasterOpener } from '../opener.js';
import { lookAt, readFileState } from './reader.js';

export async function remoteOpening(source: RemoteRaster): Promise<RasterOpener> {
  const { name, revision } = await lookAt(source);
  const { url, isAnonymous } = source;
  return {
    key: isAnonymous ? `anonymous ${url}` : url,
    origin: url,
    stamp: `${revision} ${name}`,
    files: [name],
    open: () => openRemote(name),
    outcome: async () => {
      const { failure, changed } = await readFileState(name);
      return { changed, ...(failure && { failure: failureFrom(failure) }) };
    },
  };
}

/** Returns the identifier of the file's state. */
export async function remoteRevision(source: RemoteRaster): Promise<string> {
  return (await lookAt(source)).revision;
}

async function openRemote(name: string): Promise<OpenRaster> {
  try {
    const dataset = requireShape(await gdal.openAsync(name, 'r', ['GTiff']));
    return { dataset, driver: 'GTiff', name, close: () => dataset.close() };
  } catch (error) {
    const { failure } = await readFileState(name);
    throw failure
      ? failureFrom(failure)
      : unreadable('The remote file is not a GeoTIFF, or is damaged.', error);
  }
}
