/** Georeferences of rasters. */

import { TaskFailure } from '../../core/errors/failure.js';
import type { Box } from '../../core/geometry/box.js';
import { type GdalCrs, readDatasetCrs } from '../gdal/crs.js';
import type { Dataset } from '../gdal/gdal.js';

export type GeoTransform = [number, number, number, number, number, number];

export interface Georeference {
  geoTransform: GeoTransform;
  crs: GdalCrs;
  /** Box around all four corners, in `crs`. */
  extent: Box;
  /** No rotation, and rows run from north to south. */
  northUp: boolean;
}

const byDataset = new WeakMap<Dataset, Georeference>();

/**
 * Returns the georeference. Fails with `source-unreadable` if the raster does not have one. It is cached, because
 * each access to a dataset acquires GDAL's lock.
 */
export function getGeoreference(dataset: Dataset): Georeference {
  let georeference = byDataset.get(dataset);
  if (!georeference) byDataset.set(dataset, (georeference = readGeoreference(dataset)));
  return georeference;
}

function readGeoreference(dataset: Dataset): Georeference {
  const geoTransform = dataset.geoTransform as GeoTransform | null;
  if (!geoTransform || geoTransform.some((value) => !Number.isFinite(value))) {
    throw new TaskFailure(
      'source-unreadable',
      'The raster has no georeference. Add a world file (.tfw, .pgw or .jgw) and a .prj file of the same name to the folder, or write the georeference with gdal_edit.',
    );
  }
  const [, dxColumn, dxRow, , dyColumn, dyRow] = geoTransform;
  if (dxColumn * dyRow - dxRow * dyColumn === 0) {
    throw new TaskFailure('source-unreadable', 'The georeference of the raster is not invertible.');
  }
  return {
    geoTransform,
    crs: datasetCrs(dataset),
    extent: computeExtent(dataset, geoTransform),
    northUp: dxRow === 0 && dyColumn === 0 && dxColumn > 0 && dyRow < 0,
  };
}

/** Box around all four corners. */
function computeExtent(dataset: Dataset, geoTransform: GeoTransform): Box {
  const [x0, dxColumn, dxRow, y0, dyColumn, dyRow] = geoTransform;
  const { x: width, y: height } = dataset.rasterSize;
  const xs = [0, width * dxColumn, height * dxRow, width * dxColumn + height * dxRow].map((dx) => x0 + dx);
  const ys = [0, width * dyColumn, height * dyRow, width * dyColumn + height * dyRow].map((dy) => y0 + dy);
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

/** Coordinates without a CRS that are plausible degrees are longitude and latitude by convention (CF, AAIGrid). */
export function looksLikeDegrees(dataset: Dataset): boolean {
  const geoTransform = dataset.geoTransform as GeoTransform | null;
  if (!geoTransform) return false;
  const [minx, miny, maxx, maxy] = computeExtent(dataset, geoTransform);
  return minx >= -180.5 && maxx <= 360.5 && miny >= -90.5 && maxy <= 90.5;
}

function datasetCrs(dataset: Dataset): GdalCrs {
  const crs = readDatasetCrs(dataset);
  if (crs) return crs;
  throw new TaskFailure(
    'source-unreadable',
    'The raster has no coordinate reference system. Assign one with --crs, data.crs or a .prj file in the same folder.',
  );
}
