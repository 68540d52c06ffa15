import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import type { Box } from '../../core/geometry/box.js';
import { around, plainBoxes } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { transformBox } from '../../native/index.js';

/** Extents of collections in the CRS that they are stored in. */

const extents = new WeakMap<Collection, Box | null>();

/** x,y ordered; undefined for an empty collection, and for one whose extent has no image in its CRS. */
export function storageExtent(collection: Collection): Box | undefined {
  let extent = extents.get(collection);
  if (extent === undefined) extents.set(collection, (extent = readExtent(collection) ?? null));
  return extent ?? undefined;
}

function readExtent(collection: Collection): Box | undefined {
  if (hasCoverage(collection)) return collection.raster.extent;
  const { extent84, storageCrs } = collection;
  const own = hasFeatures(collection) ? collection.extent : undefined;
  if (storageCrs.isPlane) return own;
  // A box of degrees is wider in another CRS than the data.
  if (own && extent84 && !storageCrs.geographic) return own;
  if (!extent84 || storageCrs.epsg === 4326) return extent84;
  try {
    const parts = plainBoxes(extent84).map((box) => transformBox(box, 'OGC:CRS84', storageCrs.proj));
    const extent = parts.reduce(around);
    return extent.every(Number.isFinite) ? extent : undefined;
  } catch {
    return undefined;
  }
}

/** The numbers of an x,y ordered box in the axis order of its CRS. */
export function inAxisOrder([minx, miny, maxx, maxy]: Box, { northFirst }: Crs): Box {
  return northFirst ? [miny, minx, maxy, maxx] : [minx, miny, maxx, maxy];
}
