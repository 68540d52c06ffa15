import type { TaskFailure } from '../../../core/errors/failure.js';
import type { Dataset } from '../../gdal/gdal.js';

/** How one slice of a raster source is opened; two openings of one key and stamp read the same pixels. */
export interface RasterOpener {
  key: string;
  /** What the pixels are of: a file, a store. */
  origin: string;
  /** Changes when the data does: what was opened before is stale then. */
  stamp: string;
  /** What all readers share that only one may use at a time: a connection. */
  exclusive?: string;
  open(): Promise<OpenRaster>;
  /** GDAL's names of the remote files that are read. */
  files?: readonly string[];
  /** Ids of members of a mosaic that are left out, because they cannot be read. */
  lost?: readonly string[];
  /** After a read that failed: why, when that is known better than GDAL says. */
  outcome?(error: unknown): Promise<ReadOutcome>;
}

export interface OpenRaster {
  /** North up or rotated, with the coordinate reference system that it lies in. */
  dataset: Dataset;
  /** Short name of GDAL's driver for the data; absent: that of the dataset. */
  driver?: string;
  /** GDAL's name, under which the same raster opens again. */
  name?: string;
  close(): void;
}

export interface ReadOutcome {
  failure?: TaskFailure;
  /** The data is not what it was when it was opened: the read may succeed anew. */
  changed: boolean;
}
