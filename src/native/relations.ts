/** How geometries stand to each other, as TypeScript sees it. Blobs are GeoPackage blobs, WKB or EWKB. */
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
 * How each left geometry stands to the right ones, in their order: to `all`, or to those alone whose envelopes meet. Invalid
 * geometries are repaired, empty ones are in no pair. Undefined for more pairs than that. Throws what GEOS says.
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
