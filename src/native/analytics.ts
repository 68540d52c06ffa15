/** Kernels of the analytics, as TypeScript sees them. Blobs are GeoPackage blobs, WKB or EWKB. */
import { nativeAddon } from './built.js';
import { hasLongitudes } from './index.js';

type Blobs = readonly (Uint8Array | null)[];

interface KMeans {
  readonly brand: 'kmeans';
}

interface PointTree {
  readonly brand: 'point-tree';
}

interface NativeJoin {
  readonly brand: 'join';
}

interface NativeAnalytics {
  centroids(blobs: Blobs, from: string, to: string, degrees: boolean): Float64Array;
  dbscan(points: Float64Array, dimensions: number, eps: number, minPoints: number): Int32Array;
  createKMeans(points: Float64Array, dimensions: number, k: number): KMeans;
  iterateKMeans(clusters: KMeans): boolean;
  readKMeans(clusters: KMeans): Int32Array;
  createPointTree(points: Float64Array, dimensions: number, values: Float64Array): PointTree;
  sumNeighbours(
    tree: PointTree,
    radius: number,
    first: number,
    last: number,
    counts: Float64Array,
    sums: Float64Array,
  ): void;
  h3Cells(positions: Float64Array, resolution: number): BigUint64Array;
  h3Polygons(cells: BigUint64Array): string[];
  ringsToGeoJson(positions: Float64Array, ends: Uint32Array): string[];
  bufferUnion(blobs: Blobs, from: string, metres: number): string;
  createJoin(leftCrs: string, rightCrs: string, predicate: string, metres: number): NativeJoin;
  addToJoin(join: NativeJoin, right: Blobs): void;
  matchJoin(join: NativeJoin, left: Blobs, maxPairs: number): JoinPairs;
}

const addon = () => nativeAddon() as NativeAnalytics;

/**
 * Centroids (ST_Centroid) as x, y pairs, longitude and latitude in WGS 84; NaN, NaN where there is none. Parts that were
 * cut at 180 degrees count as joined.
 */
export function centroids(blobs: Blobs, from: string, to = 'OGC:CRS84'): Float64Array {
  return addon().centroids(blobs, from, to, hasLongitudes(from));
}

/**
 * DBSCAN, exact: the cluster of each point, numbered from 0 in the order of their first points; -1 is noise. Points are
 * 2 or 3 finite coordinates each; `minPoints` counts the point itself.
 */
export function dbscan(points: Float64Array, dimensions: 2 | 3, eps: number, minPoints: number): Int32Array {
  return addon().dbscan(points, dimensions, eps, minPoints);
}

/** Function that is called between the parts of long work. Its exceptions end the work. */
export type CancellationCheck = () => void;

const noCheck: CancellationCheck = () => {};

/**
 * k-means: the cluster of each point, numbered from 0 in the order of their first points. The same in every run. `check`
 * comes before each iteration.
 */
export function kmeans(
  points: Float64Array,
  dimensions: 2 | 3,
  k: number,
  check: CancellationCheck = noCheck,
): Int32Array {
  const clusters = addon().createKMeans(points, dimensions, k);
  do check();
  while (!addon().iterateKMeans(clusters));
  return addon().readKMeans(clusters);
}

export interface NeighbourSums {
  counts: Float64Array;
  sums: Float64Array;
}

/** Points whose neighbours are summed up between two checks. */
const PART = 10_000;

/**
 * For each point how many points lie within a radius of it, itself included, and the sum of their values. `check` comes
 * before each 10,000 points.
 */
export function neighbourSums(
  points: Float64Array,
  dimensions: 2 | 3,
  values: Float64Array,
  radius: number,
  check: CancellationCheck = noCheck,
): NeighbourSums {
  const tree = addon().createPointTree(points, dimensions, values);
  const [counts, sums] = [new Float64Array(values.length), new Float64Array(values.length)];
  for (let first = 0; first < values.length; first += PART) {
    check();
    addon().sumNeighbours(tree, radius, first, Math.min(first + PART, values.length), counts, sums);
  }
  return { counts, sums };
}

/** The H3 cell of each longitude, latitude pair (degrees); 0 for NaN. Resolution 0 to 15. */
export function h3Cells(positions: Float64Array, resolution: number): BigUint64Array {
  return addon().h3Cells(positions, resolution);
}

/** Returns the GeoJSON of each H3 cell, cut at the antimeridian. Throws for values that are not cells. */
export function h3Polygons(cells: BigUint64Array): string[] {
  return addon().h3Polygons(cells);
}

/**
 * Returns GeoJSON of rings of longitude, latitude pairs whose first position is not repeated. `ends` has the number
 * of positions up to the end of each. One position becomes a point, two become a line. Edges take the shorter way;
 * rings are cut at the antimeridian.
 */
export function ringsToGeoJson(positions: Float64Array, ends: Uint32Array): string[] {
  return addon().ringsToGeoJson(positions, ends);
}

/** GeoJSON of the union of the buffers of all geometries, metres over the ground; `null` when it is empty. */
export function bufferUnion(blobs: Blobs, from: string, metres: number): string {
  return addon().bufferUnion(blobs, from, metres);
}

export type JoinPredicate = 'intersects' | 'contains' | 'within' | 'dwithin';

export interface JoinSide {
  blobs: Blobs;
  crs: string;
}

export interface JoinPairs {
  /** Indices, left and right by turns, in ascending order. */
  pairs: Uint32Array;
  /** Number of processed left geometries: all, unless the join ended before the last one. */
  looks: number;
}

/**
 * The right side of a join, which is indexed once. The predicate is planar in the left CRS, but for `dwithin`, whose
 * metres are over the ground.
 */
export class JoinIndex {
  readonly #join: NativeJoin;

  constructor(predicate: JoinPredicate, crs: { left: string; right: string }, metres = 0) {
    this.#join = addon().createJoin(crs.left, crs.right, predicate, metres);
  }

  /** Adds right geometries, which are numbered in this order: all of them before the first match. */
  add(blobs: Blobs): this {
    addon().addToJoin(this.#join, blobs);
    return this;
  }

  /**
   * Pairs of which the predicate is true. Ends after the left geometry that reaches `maxPairs`, or 20 times as many pairs
   * whose envelopes meet.
   */
  match(left: Blobs, maxPairs: number): JoinPairs {
    return addon().matchJoin(this.#join, left, maxPairs);
  }
}

/** The same of one set with another. */
export function joinGeometrySets(
  left: JoinSide,
  right: JoinSide,
  predicate: JoinPredicate,
  metres: number,
  maxPairs: number,
): JoinPairs {
  const index = new JoinIndex(predicate, { left: left.crs, right: right.crs }, metres);
  return index.add(right.blobs).match(left.blobs, maxPairs);
}
