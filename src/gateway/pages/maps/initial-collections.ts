import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';

/** Maximum number of layers on a new map. */
const MAX_INITIAL_LAYERS = 8;
/** Maximum number of rasters on a new map, because rasters cover the layers below them. */
const MAX_INITIAL_RASTERS = 2;

/**
 * Selects a few of many collections: first those near the collection with the most neighbours, then others with many
 * neighbours, and at most two rasters. The result is in catalog order. Collections in a local CRS have no position on
 * Earth and are omitted.
 */
export function selectInitialCollections(collections: readonly Collection[]): Collection[] {
  const placed = collections.filter(({ storageCrs }) => !storageCrs.isPlane);
  if (placed.length <= MAX_INITIAL_LAYERS) return placed;
  const countNeighbours = createNeighbourCount(placed);
  const ranked = placed
    .map((collection) => ({ collection, count: countNeighbours(collection) }))
    .sort((a, b) => b.count - a.count)
    .map(({ collection }) => collection);
  const busiest = ranked[0]!;
  const aroundBusiest = ranked.filter((one) => areNear(one, busiest));
  const choice = new Set<Collection>();
  let rasters = 0;
  for (const one of [...aroundBusiest, ...ranked]) {
    if (choice.size >= MAX_INITIAL_LAYERS) break;
    if (choice.has(one) || (hasCoverage(one) && rasters >= MAX_INITIAL_RASTERS)) continue;
    if (hasCoverage(one)) rasters += 1;
    choice.add(one);
  }
  return placed.filter((one) => choice.has(one));
}

/** Maximum difference in degrees between the centres of neighbours. */
const NEIGHBOUR_DEGREES = 10;

/**
 * Returns a function that counts the collections whose centre is in the grid cell of a collection's centre or next to
 * it. A comparison of all pairs would be too slow on large servers.
 */
function createNeighbourCount(collections: readonly Collection[]): (one: Collection) => number {
  const cells = new Map<string, number>();
  const findCell = (one: Collection) =>
    findCentre(one)?.map((degrees) => Math.floor(degrees / NEIGHBOUR_DEGREES));
  for (const one of collections) {
    const key = findCell(one)?.join();
    if (key !== undefined) cells.set(key, (cells.get(key) ?? 0) + 1);
  }
  return (one) => {
    const cell = findCell(one);
    if (!cell) return 0;
    const [column, row] = cell as [number, number];
    let count = 0;
    for (const x of [-1, 0, 1])
      for (const y of [-1, 0, 1]) count += cells.get(`${column + x},${row + y}`) ?? 0;
    return count;
  };
}

function areNear(a: Collection, b: Collection): boolean {
  const [p, q] = [findCentre(a), findCentre(b)];
  if (!p || !q) return false;
  return Math.abs(p[0] - q[0]) < NEIGHBOUR_DEGREES && Math.abs(p[1] - q[1]) < NEIGHBOUR_DEGREES;
}

/** Maximum width in degrees of an extent whose centre says where its data is. */
const MAX_EXTENT_WIDTH = 60;

/** Centre of the extent. Undefined for an extent of continental size, which therefore has no neighbours. */
function findCentre({ extent84 }: Collection): [number, number] | undefined {
  if (!extent84) return undefined;
  const [west, south, east, north] = extent84;
  if (west > east || east - west > MAX_EXTENT_WIDTH) return undefined;
  return [(west + east) / 2, (south + north) / 2];
}
