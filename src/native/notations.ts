/** Notations of positions as TypeScript sees them, in degrees of WGS 84. GeographicLib knows the grids. */
import type { Notation, NotationName } from '../core/geometry/coordinate-notations.js';
import { nativeAddon } from './built.js';

/** USNG has the squares of MGRS. */
type NativeName = Exclude<NotationName, 'USNG'>;

interface NativeNotations {
  formatPositions(
    lonLats: Float64Array,
    name: NativeName,
    digits: number,
    rounds: boolean,
    spaces: boolean,
    seamInZone1: boolean,
    hemispheres: boolean,
  ): (string | null)[];
  parsePositions(strings: readonly string[], name: NativeName, centre: boolean): Float64Array;
}

const addon = () => nativeAddon() as NativeNotations;

const getNativeName = ({ name }: Notation): NativeName => (name === 'USNG' ? 'MGRS' : name);

/** Returns the text of each position. Null if the notation does not cover it. */
export function formatPositions(lonLats: Float64Array, notation: Notation): (string | null)[] {
  const { digits, rounds, spaces, seamInZone1, hemispheres } = notation;
  return addon().formatPositions(
    lonLats,
    getNativeName(notation),
    digits,
    rounds,
    spaces,
    seamInZone1,
    hemispheres,
  );
}

/**
 * Longitude and latitude of each text, the lower left corner of a cell; NaN if the text is not of the notation. Angles are
 * `39:30:22.7N,150:05:25.8W`, UTM is `05N:750155:4377006` with the letter of a band.
 */
export function parsePositions(strings: readonly string[], notation: Notation): Float64Array {
  return addon().parsePositions(strings, getNativeName(notation), notation.centre);
}
