import { transformPoints } from '../../../native/index.js';

const CRS84 = 'OGC:CRS84';
/** Degrees of longitude up to which one transverse Mercator plane is true to 0.3 %. */
const MAX_SPAN = 8;

/** Positions in metres: in a plane, or in space where a plane would not do. */
export interface Metric {
  points: Float64Array;
  dimensions: 2 | 3;
}

/**
 * Returns longitude, latitude pairs as points whose straight distances equal the distances over the ground. Positions
 * within 8 degrees of longitude are projected to a transverse Mercator plane (lengths true to 0.3 %). Other positions
 * become points on the WGS 84 ellipsoid in space, also at poles and the antimeridian. There, chords are shorter than
 * the ground by 1 part in 100,000 at 100 km.
 */
export function metric(positions: Float64Array): Metric {
  const plane = localPlane(positions);
  return plane === undefined
    ? { points: inSpace(positions), dimensions: 3 }
    : { points: projectPositions(positions, plane), dimensions: 2 };
}

/** Returns a transverse Mercator CRS around the positions. Undefined if they are too far apart for one. */
export function localPlane(positions: Float64Array): string | undefined {
  if (positions.length === 0) return undefined;
  for (const shift of [0, 360]) {
    let west = Number.POSITIVE_INFINITY;
    let east = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < positions.length; i += 2) {
      const longitude = positions[i]! < 0 ? positions[i]! + shift : positions[i]!;
      if (longitude < west) west = longitude;
      if (longitude > east) east = longitude;
    }
    // An integer number of degrees, so that the plane remains the same if the data changes a little.
    if (east - west <= MAX_SPAN) return transverseMercator(Math.round((west + east) / 2));
  }
  return undefined;
}

function transverseMercator(meridian: number): string {
  const longitude = meridian > 180 ? meridian - 360 : meridian;
  return `+proj=tmerc +lat_0=0 +lon_0=${longitude} +k=1 +datum=WGS84 +units=m +no_defs +type=crs`;
}

/** The positions in a CRS of metres. */
export function projectPositions(positions: Float64Array, crs: string): Float64Array {
  const points = positions.slice();
  transformPoints(points, CRS84, crs);
  return points;
}

const SEMI_MAJOR = 6378137;
const ECCENTRICITY_SQUARE = 0.00669437999014;
const RADIANS = Math.PI / 180;

function inSpace(positions: Float64Array): Float64Array {
  const points = new Float64Array((positions.length / 2) * 3);
  for (let i = 0, at = 0; i < positions.length; i += 2, at += 3) {
    const longitude = positions[i]! * RADIANS;
    const latitude = positions[i + 1]! * RADIANS;
    const sine = Math.sin(latitude);
    const normal = SEMI_MAJOR / Math.sqrt(1 - ECCENTRICITY_SQUARE * sine * sine);
    points[at] = normal * Math.cos(latitude) * Math.cos(longitude);
    points[at + 1] = normal * Math.cos(latitude) * Math.sin(longitude);
    points[at + 2] = normal * (1 - ECCENTRICITY_SQUARE) * sine;
  }
  return points;
}
