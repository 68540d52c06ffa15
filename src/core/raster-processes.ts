/** What processes do to a band of a raster, in a process of its own. */

import type { RasterSource, Resampling } from './rasters.js';

export type RasterProcess =
  /** A raster of the terrain of a band, as `gdaldem` makes it, with these of its options. */
  | {
      kind: 'terrain';
      mode: 'hillshade' | 'slope' | 'aspect' | 'TRI' | 'TPI' | 'Roughness';
      options: string[];
    }
  /** Lines of equal value, with the attribute `elevation`. */
  | { kind: 'contour'; interval: number; base: number }
  /** Areas of equal value, with the attribute `value`. */
  | { kind: 'polygonize'; diagonals: boolean }
  /** All bands in another CRS, or with another size of pixels, in units of the CRS. */
  | { kind: 'warp'; crs?: string; pixelSize?: number; resampling: Resampling };

export interface RasterProcessTask {
  process: RasterProcess;
  source: RasterSource;
  /** Counted from 1. */
  band: number;
  /** File to create: a cloud optimized GeoTIFF, or a GeoPackage with the table of results. Removed when the task fails. */
  output: string;
}

export interface RasterProcessResult {
  /** Of what becomes features. */
  features?: number;
}
