import type { Point } from 'geojson';
import { TaskFailure } from '../../../../core/errors/failure.js';
import type { Notation } from '../../../../core/geometry/coordinate-notations.js';
import { transformPoints } from '../../../../native/index.js';
import { formatAngles, type LonLat, parseAngles } from './angles.js';
import { formatGars, formatGeoref, parseGars, parseGeoref } from './letter-grids.js';
import { formatMgrs, formatUtm, parseUtm, ROW_CYCLE, zoneAndXY } from './mgrs.js';
import { WrongNotation } from './wrong-notation.js';
import { computeCentralMeridian, computeZone, getBandLatitudes, getZoneCrs, type UtmZone } from './zones.js';

/** Places as text, and back. Grids are those of WGS 84. */

const LON_LAT = 'OGC:CRS84';

interface Place {
  zone: UtmZone;
  position: [x: number, y: number];
}

/** The text of each place of a CRS. Throws `invalid-input`. */
export function formatNotations(points: readonly Point[], crs: string, notation: Notation): string[] {
  const places = transform(
    points.map(({ coordinates: [x, y] }) => [x!, y!]),
    crs,
    LON_LAT,
  );
  for (const [i, [lon, lat]] of places.entries())
    if (!(Math.abs(lon) <= 180 && Math.abs(lat) <= 90))
      throw wrong('coordinates', i, 'lies nowhere on Earth');
  const text = textOf(places, notation);
  return places.map((_, i) => attempt('coordinates', i, `has no ${notation.name}`, () => text(i)));
}

function textOf(places: LonLat[], notation: Notation): (i: number) => string {
  switch (notation.name) {
    case 'GARS':
      return (i) => formatGars(places[i]!);
    case 'GeoRef':
      return (i) => formatGeoref(places[i]!, notation);
    case 'DD':
    case 'DDM':
    case 'DMS':
      return (i) => formatAngles(places[i]!, notation.name as 'DD', notation.digits);
    default: {
      const zones = places.map((place) => computeZone(place, notation.seamInZone1));
      const positions = byZone(zones, (zone, members) =>
        transform(
          members.map((i) => places[i]!),
          LON_LAT,
          getZoneCrs(zone),
        ),
      );
      const write = notation.name === 'UTM' ? formatUtm : formatMgrs;
      return (i) => write(zones[i]!, positions[i]!, notation);
    }
  }
}

/** The places that text tells, in a CRS. Throws `invalid-input`. */
export function parseNotations(strings: readonly string[], crs: string, notation: Notation): Point[] {
  const places = lonLats(strings, notation);
  return transform(places, LON_LAT, crs).map((coordinates, i) => {
    if (!coordinates.every(Number.isFinite)) throw wrong('strings', i, 'lies nowhere in sr');
    return { type: 'Point', coordinates };
  });
}

function lonLats(strings: readonly string[], notation: Notation): LonLat[] {
  const each = <T>(read: (text: string) => T) =>
    strings.map((text, i) => attempt('strings', i, `is no ${notation.name}`, () => read(text)));
  switch (notation.name) {
    case 'GARS':
      return each((text) => parseGars(text, notation));
    case 'GeoRef':
      return each(parseGeoref);
    case 'DD':
    case 'DDM':
    case 'DMS':
      return each((text) => parseAngles(text, notation.name as 'DD'));
    case 'UTM':
      return lonLatOfPlaces(each((text) => parseUtm(text, notation.hemispheres)));
    default:
      return lonLatOfPlaces(inBands(each(zoneAndXY), notation));
  }
}

function lonLatOfPlaces(places: readonly Place[]): LonLat[] {
  const zones = places.map(({ zone }) => zone);
  const results = byZone(zones, (zone, members) =>
    transform(
      members.map((i) => places[i]!.position),
      getZoneCrs(zone),
      LON_LAT,
    ),
  );
  for (const [i, result] of results.entries())
    if (!result.every(Number.isFinite)) throw wrong('strings', i, 'lies nowhere on Earth');
  return results;
}

/** Rows have the same letters again after 2000 km: the band tells which is meant. */
function inBands(places: readonly Place[], { name }: Notation): Place[] {
  const zones = places.map(({ zone }) => zone);
  const middles = byZone(zones, (zone, members) => {
    if (zone.number === 0) return members.map(() => [0, 0]);
    const [[, south], [, north]] = transform(
      members.length === 0
        ? []
        : getBandLatitudes(zone.band).map((lat): LonLat => [computeCentralMeridian(zone), lat]),
      LON_LAT,
      getZoneCrs(zone),
    ) as [LonLat, LonLat];
    return members.map(() => [south, north]);
  });
  return places.map(({ zone, position: [x, y] }, i) => {
    if (zone.number === 0) return { zone, position: [x, y] };
    const [south, north] = middles[i]!;
    const northing = y + Math.round(((south + north) / 2 - y) / ROW_CYCLE) * ROW_CYCLE;
    // A square belongs to a band that a part of it lies in.
    if (northing < south - BEYOND || northing > north + BEYOND) throw wrong('strings', i, `is no ${name}`);
    return { zone, position: [x, northing] };
  });
}

/** Metres that a corner of a square may lie outside of its band, parallels being bent. */
const BEYOND = 150_000;

/** Computes for all places of a zone at once: PROJ takes longer to find a way than to go it. */
function byZone(
  zones: readonly UtmZone[],
  compute: (zone: UtmZone, members: number[]) => LonLat[],
): LonLat[] {
  const groups = new Map<string, number[]>();
  for (const [i, { number, band }] of zones.entries()) {
    const members = groups.get(`${number}${band}`);
    if (members) members.push(i);
    else groups.set(`${number}${band}`, [i]);
  }
  const results: LonLat[] = [];
  for (const members of groups.values())
    for (const [n, result] of compute(zones[members[0]!]!, members).entries()) results[members[n]!] = result;
  return results;
}

function transform(positions: readonly LonLat[], from: string, to: string): LonLat[] {
  const flat = new Float64Array(positions.flat());
  try {
    transformPoints(flat, from, to);
  } catch (error) {
    throw new TaskFailure('invalid-input', `sr: ${(error as Error).message}`);
  }
  return positions.map((_, i) => [flat[2 * i]!, flat[2 * i + 1]!]);
}

function attempt<T>(parameter: string, i: number, why: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof WrongNotation)) throw error;
    throw wrong(parameter, i, why);
  }
}

const wrong = (parameter: string, i: number, why: string) =>
  new TaskFailure('invalid-input', `${parameter}: number ${i} ${why}.`);
