/** Relations between geometries, for TypeScript. Blobs are GeoPackage blobs, WKB or EWKB. */
import { nativeAddon } from './built.js';
import type { Blobs } from './processing.js';

interface NativeRelations {
  relateGeometries(
    left: Blobs,
    right: Blobs,
    all: boolean,
    maxPairs: number,
  ): { pairs: Uint32Array; matrices: Buffer } | null;
}

const addon = () => nativeAddon() as NativeRelations;

/** A pair of geometries by their indices, and its matrix (DE-9IM): nine of F, 0, 1 and 2. */
export interface GeometryRelation {
  left: number;
  right: number;
  matrix: string;
}

const MATRIX_LENGTH = 9;

/**
 * Returns the relation of each left geometry to the right ones, in their order: to `all`, or only to those with a
 * touching envelope. Invalid geometries are repaired, and empty ones are in no pair. Undefined if there are more
 * pairs than the maximum. Throws errors of GEOS.
 */
export function relateGeometries(
  left: Blobs,
  right: Blobs,
  { all, maxPairs }: { all: boolean; maxPairs: number },
): GeometryRelation[] | undefined {
  const result = addon().relateGeometries(left, right, all, maxPairs);
  if (!result) return undefined;
  const letters = result.matrices.toString('latin1');
  return Array.from({ length: result.pairs.length / 2 }, (_, i) => ({
    left: result.pairs[2 * i]!,
    right: result.pairs[2 * i + 1]!,
    matrix: letters.slice(i * MATRIX_LENGTH, (i + 1) * MATRIX_LENGTH),
  }));
}
