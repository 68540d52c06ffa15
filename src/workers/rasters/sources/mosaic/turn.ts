/** CRSs whose x coordinate runs once around the Earth. Data across the antimeridian is on both of their sides. */

import { type GdalCrs, getCrs } from '../../../gdal/crs.js';

export interface TurnedCrs {
  /** The same CRS with the antimeridian in its middle. */
  crs: string;
  /** From the middle of the CRS to the antimeridian. */
  half: number;
}

const MERCATOR_HALF = Math.PI * 6_378_137;

/**
 * Returns the CRS with the antimeridian in its middle, for CRSs in degrees and Web Mercator. Undefined for other
 * CRSs.
 */
export function findTurnedCrs({ srs }: GdalCrs): TurnedCrs | undefined {
  const text = srs.toProj4().trim();
  if (/^\+proj=longlat\b/.test(text) && !/\+(pm|lon_wrap)=/.test(text))
    return { crs: `${text} +pm=180`, half: 180 };
  if (/^\+proj=merc \+a=6378137 \+b=6378137 /.test(text) && / \+lon_0=0 \+x_0=0 /.test(text))
    return { crs: text.replace('+lon_0=0', '+lon_0=180'), half: MERCATOR_HALF };
  return undefined;
}

/** Returns the shifts that move a range into a grid. There can be several. */
export function movesInto(
  [west, east]: readonly [number, number],
  grid: { crs: string; west: number; east: number },
): number[] {
  const turn = findTurnedCrs(getCrs(grid.crs));
  if (!turn) return [0];
  const moves = [0, -2 * turn.half, 2 * turn.half].filter(
    (move) => west + move < grid.east && east + move > grid.west,
  );
  return moves.length === 0 ? [0] : moves;
}
