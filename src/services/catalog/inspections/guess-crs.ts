import { setImmediate } from 'node:timers/promises';
import type { Collection } from '../../../core/catalog/collection.js';
import type { Box } from '../../../core/geometry/box.js';
import { describeCrs, transformBox } from '../../../native/index.js';

/** A CRS guessed from neighbouring data, for data that declares none. */

export interface Guess {
  crs: string;
  reason: string;
}

/** Part of the data that must lie within its neighbours. */
const WITHIN = 0.7;
/** Maximum degrees along each side within which neighbours in the same CRS count, and neighbours in another CRS. */
const SAME_SIDE = 40;
const OTHER_SIDE = 6;

/**
 * The CRS in which data of this extent is near its neighbours: one of their CRSs, else web Mercator or a UTM zone.
 * Undefined if no CRS fits, or several do.
 */
export function guessCrs(extent: Box, neighbours: readonly Collection[]): Guess | undefined {
  const near = neighbours.filter(({ extent84, storageCrs }) => extent84 && !storageCrs.isPlane);
  return only(sameAsNeighbours(extent, near)) ?? only(usualNear(extent, near));
}

/** CRSs of which transformations are computed for one list. */
const MAX_SYSTEMS = 24;

/**
 * All CRSs in which data of this extent is near its neighbours, and degrees if the coordinates can be degrees. Best
 * first, each CRS once.
 */
export function listGuesses(extent: Box, neighbours: readonly Collection[]): Guess[] {
  const near = neighbours.filter(({ extent84, storageCrs }) => extent84 && !storageCrs.isPlane);
  const degrees: Guess[] = canBeDegrees(extent)
    ? [{ crs: 'OGC:CRS84', reason: 'the coordinates can be degrees' }]
    : [];
  const byCrs = new Map<string, Guess>();
  const tested = new Set<string>();
  const isTested = (crs: string) => tested.has(crs) || (tested.size < MAX_SYSTEMS && !!tested.add(crs));
  for (const guess of [
    ...sameAsNeighbours(extent, near, isTested),
    ...usualNear(extent, near, isTested),
    ...degrees,
  ])
    if (!byCrs.has(guess.crs)) byCrs.set(guess.crs, guess);
  return [...byCrs.values()];
}

/** Finds projected CRSs of a region. */
export type FindGrids = (region: Box) => Promise<readonly string[]>;

/** Regions whose grids are tested for one list. */
const MAX_REGIONS = 3;

/** Grids of the regions of neighbours in which data of this extent is near them. Other tasks run between the tests. */
export async function listGridGuesses(
  extent: Box,
  neighbours: readonly Collection[],
  findGrids: FindGrids,
): Promise<Guess[]> {
  const near = neighbours.filter(({ extent84, storageCrs }) => extent84 && !storageCrs.isPlane);
  const regions = near.filter(({ extent84 }) => isSmall(extent84!, OTHER_SIDE)).slice(0, MAX_REGIONS);
  const guesses = new Map<string, Guess>();
  for (const { extent84, title } of regions)
    for (const crs of await findGrids(extent84!)) {
      await setImmediate();
      if (!guesses.has(crs) && liesIn(extent, crs, extent84!))
        guesses.set(crs, { crs, reason: `the data then overlaps '${title}'` });
    }
  return [...guesses.values()];
}

/** Range of longitudes and latitudes, with values that are written across the antimeridian. */
function canBeDegrees([minx, miny, maxx, maxy]: Box): boolean {
  return minx >= -360 && maxx <= 360 && miny >= -90 && maxy <= 90;
}

function only(guesses: readonly Guess[]): Guess | undefined {
  const systems = new Set(guesses.map(({ crs }) => crs));
  return systems.size === 1 ? guesses[0] : undefined;
}

/** Decides whether a CRS is tested. */
type CrsChoice = (crs: string) => boolean;

function sameAsNeighbours(
  extent: Box,
  near: readonly Collection[],
  isTested: CrsChoice = () => true,
): Guess[] {
  return near.flatMap(({ storageCrs: { proj, geographic }, extent84, title }) => {
    if (geographic || !isSmall(extent84!, SAME_SIDE) || !isTested(proj)) return [];
    if (!liesIn(extent, proj, extent84!)) return [];
    return [{ crs: proj, reason: `the data then overlaps '${title}', which has this CRS` }];
  });
}

function usualNear(extent: Box, near: readonly Collection[], isTested: CrsChoice = () => true): Guess[] {
  return near.flatMap(({ extent84, title }) => {
    if (!isSmall(extent84!, OTHER_SIDE)) return [];
    return ['EPSG:3857', ...utmZones(extent84!)]
      .filter((crs) => isTested(crs) && liesIn(extent, crs, extent84!))
      .map((crs) => ({ crs, reason: `the data then overlaps '${title}'` }));
  });
}

/** The zones of UTM (WGS 84) that a box reaches into. */
function utmZones([west, south, east, north]: Box): string[] {
  const zone = (longitude: number) => Math.min(60, Math.max(1, Math.floor((longitude + 180) / 6) + 1));
  const band = (south + north) / 2 < 0 ? 32_700 : 32_600;
  const zones = [];
  for (let at = zone(west); at <= zone(east); at++) zones.push(`EPSG:${band + at}`);
  return zones;
}

function isSmall([west, south, east, north]: Box, side: number): boolean {
  return east >= west && east - west <= side && north - south <= side;
}

function liesIn(extent: Box, crs: string, place: Box): boolean {
  try {
    const box = transformBox(extent, crs, 'OGC:CRS84');
    if (!box.every(Number.isFinite)) return false;
    const { areaOfUse } = describeCrs(crs);
    return shareWithin(box, place) >= WITHIN && (!areaOfUse || shareWithin(box, areaOfUse) > 0);
  } catch {
    return false;
  }
}

/** Share of a box, 0 to 1, within another box. Points and lines count as very narrow boxes. */
function shareWithin(box: Box, [west, south, east, north]: Box): number {
  const hair = 1e-9;
  const [minx, miny, maxx, maxy] = [box[0] - hair, box[1] - hair, box[2] + hair, box[3] + hair];
  const width = Math.min(maxx, east + hair) - Math.max(minx, west - hair);
  const height = Math.min(maxy, north + hair) - Math.max(miny, south - hair);
  if (width <= 0 || height <= 0) return 0;
  return (width * height) / ((maxx - minx) * (maxy - miny));
}
