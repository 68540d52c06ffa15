/** Distances and measures of geometries, as TypeScript sees them. Blobs are GeoPackage blobs, WKB or EWKB. */
import { nativeAddon } from './built.js';
import type { Blobs } from './processing.js';

interface NativeNearest {
  readonly brand: 'nearest';
}

interface NativeProximity {
  createNearest(crs: string, ground: boolean): NativeNearest;
  addToNearest(search: NativeNearest, right: Blobs): void;
  searchNearest(
    search: NativeNearest,
    left: Blobs,
    count: number,
    reach: number,
    maxPairs: number,
  ): Neighbours;
  distanceMatrix(left: Blobs, leftCrs: string, right: Blobs, rightCrs: string, ground: boolean): Float64Array;
  measureGeometries(blobs: Blobs, crs: string, ground: boolean): Float64Array;
}

const addon = () => nativeAddon() as NativeProximity;

/** Pairs and their distances. */
export interface Neighbours {
  /** Indices, left and right by turns: left by left, the nearest first. */
  pairs: Uint32Array;
  /** Units of the plane, or metres over the ground. */
  distances: Float64Array;
  /** Number of processed left geometries: all, unless the search ended before the last one. */
  looks: number;
}

/** Number of neighbours to find for each geometry, and their maximum distance. */
export interface NeighbourQuery {
  /** 1 to 4294967295. */
  count: number;
  /** The largest distance; Infinity for any. */
  reach: number;
  /** The search ends after the left geometry that reaches so many; absent: after the last one. */
  maxPairs?: number;
}

/** Index of geometries for searches of the nearest geometries in the same CRS. */
export class NearestIndex {
  readonly #search: NativeNearest;

  /** `ground`: distances are metres over the ground (WGS 84). Otherwise they are in units of the plane. */
  constructor(crs: string, ground: boolean) {
    this.#search = addon().createNearest(crs, ground);
  }

  /** Adds right geometries, which are numbered in this order: all of them before the first search. */
  add(blobs: Blobs): this {
    addon().addToNearest(this.#search, blobs);
    return this;
  }

  /** The right geometries that are nearest to each left one. */
  search(left: Blobs, { count, reach, maxPairs = Number.POSITIVE_INFINITY }: NeighbourQuery): Neighbours {
    return addon().searchNearest(this.#search, left, count, reach, maxPairs);
  }
}

export interface ProximitySide {
  blobs: Blobs;
  crs: string;
}

/** The distance of each left geometry to each right one, in the CRS of the left: left by left; NaN where there is none. */
export function distanceMatrix(left: ProximitySide, right: ProximitySide, ground: boolean): Float64Array {
  return addon().distanceMatrix(left.blobs, left.crs, right.blobs, right.crs, ground);
}

/** Measures of a geometry, in units of its plane or in metres over the ground (edges are geodesics). */
export interface Measures {
  /** Area of its polygons. */
  area: number;
  /** Length of its lines. */
  length: number;
  /** Length of the rings of its polygons. */
  perimeter: number;
}

/** The measures of each geometry; undefined where there is none. */
export function measureGeometries(blobs: Blobs, crs: string, ground: boolean): (Measures | undefined)[] {
  const numbers = addon().measureGeometries(blobs, crs, ground);
  return blobs.map((_, i) => {
    const [area, length, perimeter] = [numbers[3 * i]!, numbers[3 * i + 1]!, numbers[3 * i + 2]!];
    return Number.isNaN(area) ? undefined : { area, length, perimeter };
  });
}
