import type { ExtentResult } from '../../core/features/features.js';
import type { Box } from '../../core/geometry/box.js';
import { imageWithin, plainBoxes } from '../../core/geometry/box.js';
import { describeCrs, transformBox, transformPoints } from '../../native/index.js';

/** Metres of a degree along the equator. */
const DEGREE_METRES = 111_320;
/** Degrees that longitudes may reach, as data across the antimeridian is often written, and latitudes. */
const [LONGITUDE, LATITUDE] = [360.000001, 90.000001];
/** Metres that no projected coordinate reaches, false eastings with the number of a zone in front included. */
const FARTHEST_METRES = 1e8;

/** Coordinates that can be of places on Earth in a CRS, with a margin. In the units of the CRS, x,y ordered. */
function crsDomain(crs: string): Box {
  const { isGeographic, metresPerUnit } = buildUnit(crs);
  if (!isGeographic) {
    const far = FARTHEST_METRES / metresPerUnit;
    return [-far, -far, far, far];
  }
  // Some geographic CRS count in grads.
  const unit = Math.round((metresPerUnit / DEGREE_METRES) * 100) / 100;
  return [-LONGITUDE / unit, -LATITUDE / unit, LONGITUDE / unit, LATITUDE / unit];
}

/** Degrees beyond the area of use of a CRS within which coordinates still count as intended. */
const AREA_MARGIN = 15;

/**
 * Returns the area of use of a projected CRS in its coordinates, with a margin. Undefined if PROJ does not know it.
 */
function areaDomain(crs: string): Box | undefined {
  try {
    const { areaOfUse } = describeCrs(crs);
    if (!areaOfUse || areaOfUse[0] > areaOfUse[2]) return undefined;
    const [west, south, east, north] = areaOfUse;
    const area: Box = [
      Math.max(-180, west - AREA_MARGIN),
      Math.max(-89, south - AREA_MARGIN),
      Math.min(180, east + AREA_MARGIN),
      Math.min(89, north + AREA_MARGIN),
    ];
    const box = transformBox(area, 'OGC:CRS84', crs);
    return box.every(Number.isFinite) ? box : undefined;
  } catch {
    return undefined;
  }
}

export interface SensibleExtent {
  /** Extent in the units of the CRS. Undefined if no data is within its domain. */
  extent: Box | undefined;
  /** Box around everything, where that is more. */
  beyond?: Box;
}

/**
 * Returns the extent of a table, or of its rows within the range of possible coordinates of its CRS. One broken row
 * must not hide all other rows on every map. Yields domains within which to measure the extent, and receives the
 * measured extents.
 */
export function* sensibleExtent(
  all: Box | undefined,
  crs: string,
): Generator<Box, SensibleExtent, Box | undefined> {
  if (!all || isSensible(all, crs)) return { extent: all };
  const inDomain = yield crsDomain(crs);
  if (!inDomain || isSensible(inDomain, crs)) return { extent: inDomain, beyond: all };
  const area = areaDomain(crs);
  const inArea = area && (yield area);
  // Around a pole corners of a box may have no place although all that is in it does.
  return inArea ? { extent: inArea, beyond: all } : { extent: inDomain };
}

function isSensible([minx, miny, maxx, maxy]: Box, crs: string): boolean {
  return haveAPlace(Float64Array.of(minx, miny, maxx, miny, maxx, maxy, minx, maxy), crs);
}

/** Returns the units of a CRS. A local CRS that PROJ cannot locate on Earth is assumed to have metres. */
function buildUnit(crs: string): { isGeographic: boolean; metresPerUnit: number } {
  try {
    const { isGeographic, metresPerUnit } = describeCrs(crs);
    return { isGeographic, metresPerUnit: metresPerUnit > 0 ? metresPerUnit : 1 };
  } catch {
    return { isGeographic: false, metresPerUnit: 1 };
  }
}

/** Whether a box is within another box. Also false for boxes with sides that are not numbers. */
function liesWithin([minx, miny, maxx, maxy]: Box, [west, south, east, north]: Box): boolean {
  return minx >= west && miny >= south && maxx <= east && maxy <= north;
}

/** Whether positions, as x,y pairs, have a place on Earth: PROJ's inverse of a projection fails far outside of it. */
export function haveAPlace(positions: Float64Array, crs: string): boolean {
  const domain = crsDomain(crs);
  for (let i = 0; i < positions.length; i += 2) {
    const [x, y] = [positions[i]!, positions[i + 1]!];
    if (!liesWithin([x, y, x, y], domain)) return false;
  }
  if (buildUnit(crs).isGeographic) return true;
  const degrees = positions.slice();
  try {
    transformPoints(degrees, crs, 'OGC:CRS84');
  } catch {
    return false;
  }
  return degrees.every(Number.isFinite);
}

/**
 * Returns an extent in the form of stores' results. `crossing` is the same extent as a box across 180 degrees, if the
 * store has one.
 */
export function measuredIn(extent: Box | undefined, crs: string, crossing?: Box): ExtentResult {
  if (!extent) return {};
  const extent84 = extentInDegrees(extent, crs, crossing);
  return extent84 ? { extent, extent84 } : { extent };
}

/**
 * Returns an extent in degrees, as a box across 180 degrees if `crossing` is one. Undefined if it cannot be converted
 * to degrees.
 */
export function extentInDegrees(extent: Box, crs: string, crossing?: Box): Box | undefined {
  if (crossing) {
    const [west, east] = plainBoxes(crossing).map((half) => extentInDegrees(half, crs));
    return west && east && [west[0], Math.min(west[1], east[1]), east[2], Math.max(west[3], east[3])];
  }
  if (crs === 'EPSG:4326' || crs === 'OGC:CRS84') return extent;
  try {
    const box = imageWithin(extent, (part) => transformBox(part, crs, 'OGC:CRS84'));
    return box.every(Number.isFinite) ? box : undefined;
  } catch {
    return undefined;
  }
}
