/** Notations of coordinate strings, with the names of GeoServices. */
export const NOTATIONS = ['MGRS', 'USNG', 'UTM', 'GeoRef', 'GARS', 'DMS', 'DDM', 'DD'] as const;
export type NotationName = (typeof NOTATIONS)[number];

export interface Notation {
  name: NotationName;
  /** Digits of each number of a grid, or decimals of an angle; 0 to 10. */
  digits: number;
  /** Whether numbers are rounded instead of truncated. */
  rounds: boolean;
  spaces: boolean;
  /** 180 degrees east are in zone 1, not in zone 60. */
  seamInZone1: boolean;
  /** Whether the letter of a UTM zone is the hemisphere instead of the band. */
  hemispheres: boolean;
  /** Whether a GARS cell is its centre, or else its lower left corner. */
  centre: boolean;
}
