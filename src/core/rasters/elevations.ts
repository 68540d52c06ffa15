import type { Loss, RasterPosition, RasterSource } from './rasters.js';

/** Reads the heights along a line, or at one position. */
export interface ElevationTask {
  source: RasterSource;
  /** Absent: the newest time, the first level. */
  at?: RasterPosition;
  /** x,y ordered vertices in `crs`. One vertex is a position. */
  line: [number, number][];
  crs: string;
  /** Number of samples, or metres between them. Absent: the vertices. */
  sampling?: SampleRule;
}

/** Equally spaced samples from the start to the end of a line. */
export type SampleRule = { count: number } | { interval: number };

export interface ElevationSample {
  /** Metres over the ground from the start of the line. */
  distance: number;
  /** Value of the first band, scaled; null without data. */
  height: number | null;
  isOutside: boolean;
}

export interface ElevationResult extends Loss {
  /** Empty if the interval leads to more samples than the limit. */
  samples: ElevationSample[];
  /** Metres over the ground. */
  length: number;
  /** Vertical CRS of the raster and its unit, if the raster states them. */
  verticalDatum?: string;
  verticalUnit?: string;
}

/** Tasks of heights, in the raster thread of engines. */
export interface ElevationTasks {
  'raster.elevation': { input: ElevationTask; output: ElevationResult };
}

export const ELEVATION_LIMITS = {
  /** Samples of a profile. */
  profileSamples: 5000,
  /** Vertices of the line of a profile. */
  profileVertices: 2000,
} as const;
