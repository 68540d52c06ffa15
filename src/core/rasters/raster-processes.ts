/** Raster processes, in a separate operating-system process. */

import type { BandExpression } from './band-math/index.js';
import type { RasterSource, Resampling } from './rasters.js';

/** Statistics of the values in a zone. `stddev` is of the population. */
export const ZONE_STATISTICS = [
  'count',
  'sum',
  'mean',
  'min',
  'max',
  'stddev',
  'median',
  'majority',
  'minority',
  'variety',
] as const;

export type ZoneStatistic = (typeof ZONE_STATISTICS)[number];

export const MOSAIC_OPERATORS = ['first', 'last', 'min', 'max', 'mean'] as const;

/** Value of a pixel that several rasters cover. */
export type MosaicOperator = (typeof MOSAIC_OPERATORS)[number];

/** Values from `min` up to, and without, `max` become `value`. */
export interface RasterClass {
  min: number;
  max: number;
  value: number;
}

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
  /** Features with the statistics of a band in each of them. Pixels count by the share that a zone covers, or whole by their centres. */
  | {
      kind: 'zonal';
      statistics: ZoneStatistic[];
      /** 0 to 100. */
      percentiles: number[];
      byCentre: boolean;
      /** Before the names of the attributes. */
      prefix: string;
    }
  /**
   * A band for each expression, over the bands of all rasters one after another; or, `oneBand`, over the band of each. On
   * the pixels of the first raster.
   */
  | { kind: 'algebra'; expressions: BandExpression[]; oneBand: boolean; resampling: Resampling }
  /**
   * Reclassifies a band by disjoint classes in ascending order. Values outside all classes remain or become missing.
   */
  | { kind: 'reclassify'; classes: RasterClass[]; keepsOthers: boolean }
  /** Statistics of all bands. */
  | { kind: 'statistics' }
  /** Counts the values of a band in ranges of equal width. Default range: minimum to maximum. */
  | { kind: 'histogram'; bins: number; min?: number; max?: number }
  /** Adds the values of all bands to points: of their pixel, or interpolated between the four surrounding pixels. */
  | { kind: 'sample'; bilinear: boolean; prefix: string }
  /** Values of a field, or one value, where features are; on the pixels of the raster. */
  | { kind: 'rasterize'; field?: string; value: number; allTouched: boolean }
  /** Values between points, weighted by a power of the inverse of the distance; the radius is in units of the CRS. */
  | { kind: 'idw'; field: string; power: number; radius?: number }
  /** Values between points, on the planes of triangles of Delaunay. */
  | { kind: 'linear'; field: string }
  /** The pixels within polygons. */
  | { kind: 'clip' }
  /** Values for pixels without one, from those within so many pixels. */
  | { kind: 'fill'; distance: number; smoothing: number }
  /** Merges areas of less than this number of pixels into their largest neighbour. */
  | { kind: 'sieve'; threshold: number; diagonals: boolean }
  /** Computes the visible area from a position; lengths are in units of the CRS, which must be projected. */
  | {
      kind: 'viewshed';
      /** Position of the observer in the CRS of the raster. */
      x: number;
      y: number;
      /** Above the ground. */
      observerHeight: number;
      targetHeight: number;
      maxDistance?: number;
      /** Share of the curvature of the Earth that refraction leaves. */
      curvature: number;
    }
  /** Several rasters as one, on the pixels of the first. */
  | { kind: 'mosaic'; operator: MosaicOperator; resampling: Resampling }
  /** All bands in another CRS, or with another size of pixels, in units of the CRS. */
  | { kind: 'warp'; crs?: string; pixelSize?: number; resampling: Resampling };

export interface RasterProcessTask {
  process: RasterProcess;
  /** Sources. Results use the pixels of the first. */
  sources: RasterSource[];
  /** GeoPackage with valid features in the CRS of the raster, if the process uses features. */
  features?: string;
  /** Counted from 1. */
  band: number;
  /** File to create: a cloud optimized GeoTIFF, or a GeoPackage with the table of results. Removed when the task fails. */
  output: string;
  /** Memory that the process may need; one that needs more is killed. */
  maxBytes: number;
}

/** Result of a raster process. */
export interface RasterProcessOutcome {
  /** Number of resulting features. */
  features?: number;
  /** Output values. If present, no file is written. */
  values?: Record<string, unknown>;
}

export interface RasterProcessResult extends RasterProcessOutcome {
  /** Peak resident memory of the process. */
  memoryBytes: number;
}
