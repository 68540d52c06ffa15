/** Coordinate operations as TypeScript sees them: the ways of PROJ's database from one CRS to another. */
import type { Box } from '../core/geometry/box.js';
import { nativeAddon } from './built.js';

/** A transformation from one datum to another, by its code. */
export interface DatumOperation {
  authority: string;
  code: string;
  name: string;
  /** Against the direction that it is defined in. */
  isInverse: boolean;
}

interface NativeOperations {
  findOperations(from: string, to: string, area: Float64Array): DatumOperation[][];
  transformByOperation(points: Float64Array, from: string, to: string, place: number): void;
}

const addon = () => nativeAddon() as NativeOperations;

/**
 * Returns the steps of each transformation, the best first. Without steps if both CRSs have the same datum.
 * Transformations whose steps have no code, or whose grids are not installed, are omitted. `area` in degrees is the
 * area of interest. Throws for an unknown CRS.
 */
export function findDatumOperations(from: string, to: string, area?: Box): DatumOperation[][] {
  return addon().findOperations(from, to, new Float64Array(area ?? []));
}

/**
 * Transforms x,y pairs in place by one of the ways that `findDatumOperations` finds without an area, counted from 0. A position
 * without an image becomes Infinity, Infinity.
 */
export function transformByOperation(points: Float64Array, from: string, to: string, place: number): void {
  addon().transformByOperation(points, from, to, place);
}
