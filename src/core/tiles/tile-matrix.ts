import type { TileMatrixSet } from './tile-matrix/matrix.js';
import { REGISTERED_SETS } from './tile-matrix/registry.js';

export * from './tile-matrix/matrix.js';
export { WEB_MERCATOR, WEB_MERCATOR_QUAD, WORLD_CRS84_QUAD } from './tile-matrix/registry.js';

/** Available tile matrix sets: first the built-in sets, then those of the configuration. */
export class MatrixSets {
  readonly all: readonly TileMatrixSet[];
  readonly #byId: ReadonlyMap<string, TileMatrixSet>;

  constructor(custom: readonly TileMatrixSet[] = []) {
    this.all = [...REGISTERED_SETS, ...custom];
    this.#byId = new Map(this.all.map((set) => [set.id, set]));
  }

  byId(id: string): TileMatrixSet | undefined {
    return this.#byId.get(id);
  }
}

/** Those that are built in. */
export const BUILT_IN_SETS = new MatrixSets();
