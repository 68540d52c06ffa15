/** Processing of geometries, as TypeScript sees it. Blobs are GeoPackage blobs, WKB or EWKB; results are GeoPackage blobs. */
import type {
  CollectionOperation,
  GeometryOperation,
  OverlayMode,
} from '../core/geometry/geometry-operations.js';
import { nativeAddon } from './built.js';

export type Blobs = readonly (Uint8Array | null)[];

/** A blob; null for an empty or no geometry; the reason, as text, why there is none. */
export type GeometryResult = Uint8Array | null | string;

interface Union {
  readonly brand: 'union';
}

interface NativeOverlay {
  readonly brand: 'overlay';
}

interface NativeProcessor {
  processGeometries(
    blobs: Blobs,
    operation: string,
    crs: string,
    target: string,
    srsId: number,
  ): GeometryResult[];
  processCollection(blobs: Blobs, operation: string, srsId: number): Uint8Array[];
  createOverlay(): NativeOverlay;
  addToOverlay(overlay: NativeOverlay, right: Blobs): (string | null)[];
  overlayGeometries(overlay: NativeOverlay, left: Blobs, mode: OverlayMode, srsId: number): GeometryResult[];
  intersectGeometries(
    overlay: NativeOverlay,
    left: Blobs,
    srsId: number,
    maxPairs: number,
    maxBytes: number,
  ): Intersections;
  snapGeometries(overlay: NativeOverlay, left: Blobs, tolerance: number, srsId: number): GeometryResult[];
  geometryParts(blobs: Blobs, srsId: number): { owners: Uint32Array; parts: Uint8Array[] };
  createUnion(): Union;
  addToUnion(union: Union, blobs: Blobs): void;
  takeUnion(union: Union, srsId: number): Uint8Array | null;
}

export interface Intersections {
  /** Indices, left and right by turns; in ascending order of the left. */
  pairs: Uint32Array;
  /** Common part of each pair, or the reason why it cannot be computed. */
  pieces: (Uint8Array | string)[];
  /** Number of processed left geometries: all, unless a limit was reached before the last one. */
  looks: number;
}

/** Limits of a result, which ends after the left geometry that reaches one. Default: no limit. */
export interface IntersectionBounds {
  maxPairs?: number;
  maxBytes?: number;
}

const addon = () => nativeAddon() as NativeProcessor;

/** CRS of the geometries, and CRS of the results. */
export interface Planes {
  crs: string;
  target: string;
  /** Id of the target in the GeoPackage. */
  srsId: number;
}

/** Does an operation to each geometry. Reprojection drops Z and M. */
export function processGeometries(
  blobs: Blobs,
  operation: GeometryOperation,
  { crs, target, srsId }: Planes,
): GeometryResult[] {
  return addon().processGeometries(blobs, JSON.stringify(operation), crs, target, srsId);
}

/** Runs an operation on all geometries together; returns the parts of its result. Throws errors of GEOS. */
export function processCollection(blobs: Blobs, operation: CollectionOperation, srsId: number): Uint8Array[] {
  return addon().processCollection(blobs, JSON.stringify(operation), srsId);
}

/** The right side of overlays, which is indexed once. One plane for all. */
export class OverlayIndex {
  readonly #overlay = addon().createOverlay();

  /** Reason why each right geometry counts as empty. Null if it does not. */
  readonly reasons: (string | null)[] = [];

  /** Adds right geometries, which are numbered in this order: all of them before the first overlay. */
  add(blobs: Blobs): this {
    for (const reason of addon().addToOverlay(this.#overlay, blobs)) this.reasons.push(reason);
    return this;
  }

  /** Returns the part of each left geometry inside (`clip`) or outside (`subtract`) all right geometries. */
  cut(left: Blobs, mode: OverlayMode, srsId: number): GeometryResult[] {
    return addon().overlayGeometries(this.#overlay, left, mode, srsId);
  }

  /**
   * Returns the common part of each left geometry and each right geometry, if it has the lower dimension of the two.
   */
  intersect(left: Blobs, srsId: number, { maxPairs, maxBytes }: IntersectionBounds = {}): Intersections {
    const none = Number.POSITIVE_INFINITY;
    return addon().intersectGeometries(this.#overlay, left, srsId, maxPairs ?? none, maxBytes ?? none);
  }

  /** Each left geometry with its vertices and segments moved onto vertices of right ones within a distance. */
  snap(left: Blobs, tolerance: number, srsId: number): GeometryResult[] {
    return addon().snapGeometries(this.#overlay, left, tolerance, srsId);
  }
}

/** The parts of each geometry, and whose they are, by index. */
export function geometryParts(blobs: Blobs, srsId: number): { owners: Uint32Array; parts: Uint8Array[] } {
  return addon().geometryParts(blobs, srsId);
}

/** Union of any number of geometries, added in batches. Throws errors of GEOS. */
export class GeometryUnion {
  readonly #union = addon().createUnion();

  add(blobs: Blobs): void {
    addon().addToUnion(this.#union, blobs);
  }

  /** The union, and starts over. */
  take(srsId: number): Uint8Array | null {
    return addon().takeUnion(this.#union, srsId);
  }
}
