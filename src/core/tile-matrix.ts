import type { TileMatrixSet } from './tile-matrix/matrix.js';
import { REGISTERED_SETS } from './tile-matrix/registered.js';

export * from './tile-matrix/matrix.js';
export { WEB_MERCATOR, WEB_MERCATOR_QUAD, WORLD_CRS84_QUAD } from './tile-matrix/registered.js';

let sets: readonly TileMatrixSet[] = REGISTERED_SETS;
let byId = index(sets);

/** Adds sets to those that are built in. Called once per process, before the first request. */
export function useMatrixSets(custom: readonly TileMatrixSet[]): void {
  sets = [...REGISTERED_SETS, ...custom];
  byId = index(sets);
}

/** All sets that tiles can be had in, those that are built in first. */
export function tileMatrixSets(): readonly TileMatrixSet[] {
  return sets;
}

export function tileMatrixSet(id: string): TileMatrixSet | undefined {
  return byId.get(id);
}

function index(all: readonly TileMatrixSet[]): ReadonlyMap<string, TileMatrixSet> {
  return new Map(all.map((set) => [set.id, set]));
}
