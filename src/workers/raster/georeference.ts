/** Where a raster lies. */

import type { Box } from '../../core/tasks.js';
import { TaskFailure } from '../../core/tasks.js';
import { type Crs, crsOf, crsOfDataset } from './crs.js';
import type { Dataset } from './gdal.js';

export type GeoTransform = [number, number, number, number, number, number];

export interface Georeference {
  geoTransform: GeoTransform;
  crs: Crs;
  /** Box around all four corners, in `crs`. */
  extent: Box;
  /** No rotation, and rows run from north to south. */
  northUp: boolean;
}

/** Fails with `source-unreadable` when the raster does not say where it lies. */
export function georeferenceOf(dataset: Dataset): Georeference {
  const geoTransform = dataset.geoTransform as GeoTransform | null;
  if (!geoTransform || geoTransform.some((value) => !Number.isFinite(value))) {
    throw new TaskFailure('source-unreadable', 'The raster has no georeference.');
  }
  const [x0, dxColumn, dxRow, y0, dyColumn, dyRow] = geoTransform;
  if (dxColumn * dyRow - dxRow * dyColumn === 0) {
    throw new TaskFailure('source-unreadable', 'The georeference of the raster is not invertible.');
  }
  const { x: width, y: height } = dataset.rasterSize;
  const xs = [0, width * dxColumn, height * dxRow, width * dxColumn + height * dxRow].map((dx) => x0 + dx);
  const ys = [0, width * dyColumn, height * dyRow, width * dyColumn + height * dyRow].map((dy) => y0 + dy);
  return {
    geoTransform,
    crs: datasetCrs(dataset, Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)),
    extent: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)],
    northUp: dxRow === 0 && dyColumn === 0 && dxColumn > 0 && dyRow < 0,
  };
}

function datasetCrs(dataset: Dataset, ...[minx, miny, maxx, maxy]: [number, number, number, number]): Crs {
  const srs = dataset.srs;
  if (srs) return crsOfDataset(srs);
  // Grids without a CRS whose coordinates are plausible degrees are longitude and latitude by convention (CF, AAIGrid).
  if (minx >= -180.5 && maxx <= 360.5 && miny >= -90.5 && maxy <= 90.5) return crsOf('OGC:CRS84');
  throw new TaskFailure('source-unreadable', 'The raster names no coordinate reference system.');
}
