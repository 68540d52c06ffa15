import type { Collection } from '../../core/collection.js';
import { instantsOf } from '../services/rasters/granules.js';

/** Instants that are listed; of more only the ends are told. */
const MAX_LISTED = 1000;

/**
 * The temporal extent of a raster collection, with its instants as an irregular grid (OGC 20-024, uniform with coverages
 * and tiles). Undefined for what is of no time.
 */
export function temporalExtent(collection: Collection) {
  const instants = collection.kind === 'raster' ? instantsOf(collection) : [];
  if (instants.length === 0) return undefined;
  return {
    interval: [[instants[0], instants.at(-1)]],
    trs: 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian',
    grid: {
      cellsCount: instants.length,
      ...(instants.length <= MAX_LISTED ? { coordinates: instants } : {}),
    },
  };
}
