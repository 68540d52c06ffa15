import type { LonLat } from './angles.js';
import { WrongNotation } from './wrong-notation.js';

/** Zones of UTM and UPS (NGA.STND.0037), and the CRS of EPSG that they are. */

export interface UtmZone {
  /** 1 to 60; 0 at the poles. */
  number: number;
  /** C to X; A and B around the south pole, Y and Z around the north pole. */
  band: string;
}

/** From 80 degrees south, 8 degrees each; the last has 12. */
const BANDS = 'CDEFGHJKLMNPQRSTUVWX';
const [SOUTH, NORTH, BAND] = [-80, 84, 8];

export function computeZone([lon, lat]: LonLat, seamInZone1: boolean): UtmZone {
  if (lat < SOUTH || lat >= NORTH) return { number: 0, band: polarBand(lon, lat) };
  const band = BANDS[Math.min(BANDS.length - 1, Math.floor((lat - SOUTH) / BAND))]!;
  if (lon >= 180) return { number: seamInZone1 ? 1 : 60, band };
  return { number: exception(lon, band) ?? Math.floor((lon + 180) / 6) + 1, band };
}

const polarBand = (lon: number, lat: number) => (lat < 0 ? 'AB' : 'YZ')[lon < 0 || lon >= 180 ? 0 : 1]!;

/** Norway and Svalbard. */
function exception(lon: number, band: string): number | undefined {
  if (band === 'V' && lon >= 3 && lon < 12) return 32;
  if (band !== 'X' || lon < 0 || lon >= 42) return undefined;
  return [31, 33, 35, 37][[9, 21, 33, 42].findIndex((east) => lon < east)];
}

export const isNorth = ({ band }: UtmZone) => band >= 'N';

/** EPSG codes: 326nn and 327nn of UTM, 32661 and 32761 of UPS. */
export function getZoneCrs(zone: UtmZone): string {
  return `EPSG:${(isNorth(zone) ? 32_600 : 32_700) + (zone.number || 61)}`;
}

/** Latitudes of a band. Throws for those of the poles. */
export function getBandLatitudes(band: string): [south: number, north: number] {
  const index = BANDS.indexOf(band);
  if (index < 0) throw new WrongNotation();
  const south = SOUTH + index * BAND;
  return [south, band === 'X' ? NORTH : south + BAND];
}

export const computeCentralMeridian = ({ number }: UtmZone) => number * 6 - 183;
