import type { Collection } from '../../core/catalog/collection.js';
import type { AssumedCrs } from '../../core/geometry/stated-crs.js';
import type { Pools, TaskOptions } from '../../core/tasks/tasks.js';
import type { VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import { createGuessAssumption, findAssumption } from '../catalog/inspections/crs-notes.js';
import { guessCrs } from '../catalog/inspections/guess-crs.js';

/** CRS of data that declares none. */
export interface UndeclaredCrs {
  readonly crs: string;
  /** Absent if names of columns, such as `longitude`, declare the CRS. */
  readonly assumed?: AssumedCrs;
}

export interface CrsHints {
  /** See `OgrLayerInfo.namesDegrees`. */
  readonly namesDegrees: boolean;
  readonly neighbours: readonly Collection[];
}

/** The CRS that a file of a published folder would have. Undefined if the place is unknown. */
export function findUndeclaredCrs(
  layer: Pick<VectorLayerInfo, 'takenFor' | 'extent'>,
  { namesDegrees, neighbours }: CrsHints,
): UndeclaredCrs | undefined {
  const { takenFor, extent } = layer;
  if (takenFor === 'degrees') {
    const assumed = findAssumption(layer, { namesDegrees });
    return { crs: 'OGC:CRS84', ...(assumed && { assumed }) };
  }
  const guess = extent && guessCrs(extent, neighbours);
  return guess && { crs: guess.crs, assumed: createGuessAssumption(guess) };
}

/** The same for a staged table whose CRS is undefined. */
export async function findStagedCrs(
  staging: string,
  hints: CrsHints,
  pools: Pick<Pools, 'run'>,
  options: TaskOptions,
): Promise<UndeclaredCrs | undefined> {
  const [layer] = await pools.run('vector.inspect', { kind: 'geopackage', path: staging }, options);
  return layer && findUndeclaredCrs(layer, hints);
}
