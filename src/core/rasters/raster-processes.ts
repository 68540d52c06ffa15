/** What processes do to rasters, in a process of its own. */

import type { BandExpression } from './band-math/index.js';
import type { RasterSource, Resampling } from './rasters.js';

/** Statistics of the values in a zone. `stddev` is that of the population. */
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

/** Which value a pixel has that several rasters cover. */
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
  /** A band by classes, in ascending order and apart from each other. Other values stay, or become none. */
  | { kind: 'reclassify'; classes: RasterClass[]; keepsOthers: boolean }
  /** Statistics of all bands. */
  | { kind: 'statistics' }
  /** Counts of the values of a band in ranges of equal width, between its least and its greatest where none are given. */
  | { kind: 'histogram'; bins: number; min?: number; max?: number }
  /** Points with the values of all bands: of the pixel they lie in, or between the four around them. */
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
  /** Areas of less than so many pixels become those of their largest neighbour. */
  | { kind: 'sieve'; threshold: number; diagonals: boolean }
  /** What can be seen from a place; lengths in units of the CRS, which is no geographic one. */
  | {
      kind: 'viewshed';
      /** Of the observer, in the CRS of the raster. */
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
  /** The first one leads: results lie on its pixels. */
  sources: RasterSource[];
  /** GeoPackage with valid features in the CRS of the raster, for what takes these, too. */
  features?: string;
  /** Counted from 1. */
  band: number;
  /** File to create: a cloud optimized GeoTIFF, or a GeoPackage with the table of results. Removed when the task fails. */
  output: string;
  /** Memory that the process may need; one that needs more is killed. */
  maxBytes: number;
}

/** What a process of rasters comes to. */
export interface RasterProcessOutcome {
  /** Of what becomes features. */
  features?: number;
  /** Outputs that are no file: none is written then. */
  values?: Record<string, unknown>;
}

export interface RasterProcessResult extends RasterProcessOutcome {
  /** The most memory that the process had. */
  memoryBytes: number;
}
