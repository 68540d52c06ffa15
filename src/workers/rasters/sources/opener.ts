import type { TaskFailure } from '../../../core/errors/failure.js';
import type { Dataset } from '../../gdal/gdal.js';

/** Opens one slice of a raster source. Two openers with the same key and stamp read the same pixels. */
export interface RasterOpener {
  key: string;
  /** Origin of the pixels: a file, a store. */
  origin: string;
  /** Changes with the data. Datasets that were opened before are then stale. */
  stamp: string;
  /** Name of a shared resource that only one reader can use at a time: a connection. */
  exclusive?: string;
  open(): Promise<OpenRaster>;
  /** GDAL's names of the remote files that are read. */
  files?: readonly string[];
  /** Ids of mosaic members that are omitted because they cannot be read. */
  lost?: readonly string[];
  /** Returns the reason of a failed read, if it is known more precisely than from GDAL's message. */
  outcome?(error: unknown): Promise<ReadOutcome>;
}

export interface OpenRaster {
  /** Dataset, north up or rotated, in its coordinate reference system. */
  dataset: Dataset;
  /** Short name of GDAL's driver for the data. Default: the driver of the dataset. */
  driver?: string;
  /** GDAL's name, under which the same raster opens again. */
  name?: string;
  close(): void;
}

export interface ReadOutcome {
  failure?: TaskFailure;
  /** Whether the data has changed since it was opened. A retry can succeed. */
  changed: boolean;
}
