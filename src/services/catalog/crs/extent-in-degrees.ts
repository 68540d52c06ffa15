import { type Box, globeExtent, liesOnGlobe } from '../../../core/geometry/box.js';
import { hasLongitudes, transformBox } from '../../../native/index.js';

/** Extent of coordinates of a CRS in degrees. Undefined if they are not on Earth. */
export function computeExtentInDegrees(extent: Box, crs: string): Box | undefined {
  try {
    if (hasLongitudes(crs) && !liesOnGlobe(extent)) return undefined;
    const box = transformBox(extent, crs, 'OGC:CRS84');
    return box.every(Number.isFinite) ? globeExtent(box) : undefined;
  } catch {
    return undefined;
  }
}
