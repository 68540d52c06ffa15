/** Statistics of a raster in zones, as TypeScript sees them. */
import { LIMITS } from '../core/kit/limits.js';
import { nativeAddon } from './built.js';
import type { Blobs } from './processing.js';

/** In the order in which `read` gives them. */
export const TALLY_STATISTICS = [
  'count',
  'sum',
  'mean',
  'min',
  'max',
  'stddev',
  'majority',
  'minority',
  'variety',
] as const;

interface Tallies {
  readonly brand: 'tallies';
}

interface NativeZonal {
  createTallies(zones: number, mostValues: number): Tallies;
  addToTallies(
    tallies: Tallies,
    blobs: Blobs,
    pixels: Float64Array,
    width: number,
    transform: Float64Array,
    byCentre: boolean,
  ): boolean;
  readTallies(tallies: Tallies, quantiles: Float64Array): Float64Array;
}

const addon = () => nativeAddon() as NativeZonal;

/** Window of a raster. NaN represents missing values. */
export interface ZonalWindow {
  /** Row by row. */
  pixels: Float64Array;
  width: number;
  /** column = t[0] + t[1] x + t[2] y, row = t[3] + t[4] x + t[5] y, both counted from the corner of the window. */
  transform: Float64Array;
}

/** Statistics of the pixels in some zones. A raster may come window by window, each pixel once. */
export class ZoneTallies {
  readonly #tallies: Tallies;

  /**
   * `holdsValues`: majority, minority, variety and quantiles will be requested, with at most `mostValues` different
   * values.
   */
  constructor(zones: number, holdsValues: boolean, mostValues: number = LIMITS.zoneValues) {
    this.#tallies = addon().createTallies(zones, holdsValues ? mostValues : 0);
  }

  /**
   * Adds a window. The zones are valid polygons, and are passed in the same order each time. `byCentre`: a pixel
   * counts completely if its centre is in a zone. Otherwise it counts by the share that the zone covers. Returns
   * false if a zone has too many different values.
   */
  add(zones: Blobs, { pixels, width, transform }: ZonalWindow, byCentre: boolean): boolean {
    return addon().addToTallies(this.#tallies, zones, pixels, width, transform, byCentre);
  }

  /**
   * Returns `TALLY_STATISTICS` of each zone, followed by the quantiles (shares from 0 to 1), with NaN for missing
   * values. The tallies are empty afterwards.
   */
  read(quantiles: readonly number[]): Float64Array {
    return addon().readTallies(this.#tallies, Float64Array.from(quantiles));
  }
}
