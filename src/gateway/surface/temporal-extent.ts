import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { listInstants } from '../../services/rasters/granules.js';

const GREGORIAN = 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian';
/** Maximum number of listed instants; beyond that only the first and last are given. */
const MAX_LISTED = 1000;

/**
 * The temporal extent of a raster collection, with its instants as an irregular grid (OGC 20-024; the same for
 * coverages and tiles). Undefined for a collection without time.
 */
export function temporalExtent(collection: Collection) {
  const instants = hasCoverage(collection) ? listInstants(collection) : [];
  if (instants.length === 0) return undefined;
  return {
    interval: [[instants[0], instants.at(-1)]],
    trs: GREGORIAN,
    grid: {
      cellsCount: instants.length,
      ...(instants.length <= MAX_LISTED ? { coordinates: instants } : {}),
    },
  };
}

/** From the first instant of any of the collections to the last; undefined when none is of a time. */
export function datasetInterval(collections: readonly Collection[]) {
  const instants = collections.flatMap((one) => (hasCoverage(one) ? listInstants(one) : []));
  if (instants.length === 0) return undefined;
  const sorted = [...instants].sort((a, b) => Date.parse(a) - Date.parse(b));
  return { interval: [[sorted[0], sorted.at(-1)]], trs: GREGORIAN };
}
