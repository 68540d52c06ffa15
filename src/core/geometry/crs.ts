import { badParameter } from '../errors/errors.js';
import type { Box } from './box.js';

/**
 * A coordinate reference system, with the axis order that its authority defines. Inside the server coordinates are always
 * x,y (easting or longitude first); only the edge swaps.
 */
export interface Crs {
  /** `http://www.opengis.net/def/crs/...`, or a path below this server: see `buildCrsUri`. */
  readonly uri: string;
  /** CRS string for PROJ and GDAL: `EPSG:n` or `OGC:CRS84`. */
  readonly proj: string;
  /** EPSG code; 4326 for CRS84, whose coordinates are the same in x,y order. */
  readonly epsg: number;
  /** True when the authority puts northing or latitude first. */
  readonly northFirst: boolean;
  /** True for degrees. */
  readonly geographic: boolean;
  /** True for a local (engineering) CRS without a known position on Earth. Coordinates cannot be transformed. */
  readonly isPlane?: boolean;
}

/** A geographic or projected CRS of EPSG. */
export interface CrsEntry {
  readonly code: string;
  readonly name: string;
  readonly areaName: string;
  readonly isGeographic: boolean;
  /** West, south, east, north in degrees; west > east crosses the antimeridian. */
  readonly areaOfUse?: Box;
}

/** Properties of a CRS according to PROJ. */
export interface CrsFacts {
  northFirst: boolean;
  geographic: boolean;
  isPlane?: boolean;
}

export const CRS84: Crs = {
  uri: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84',
  proj: 'OGC:CRS84',
  epsg: 4326,
  northFirst: false,
  geographic: true,
};

/** Non-EPSG codes of Web Mercator. */
const WEB_MERCATORS: ReadonlySet<number> = new Set([102100, 102113, 900913]);

/** The EPSG code that a code means, which may be one of another authority. */
export function normalizeEpsg(code: number): number {
  return WEB_MERCATORS.has(code) ? 3857 : code;
}

/**
 * Whether a definition means an unknown CRS: the systems of GeoPackages with the name "undefined" (OGC 12-128r18,
 * 1.1.2.1.2), and GDAL's forms of them (3.9 and later).
 */
export function isUndefinedCrs(definition: string): boolean {
  return /^(\w+\s*\[\s*")?undefined\b/i.test(definition);
}

/** Default CRS of coordinates in requests: CRS84, or the CRS of the data if its position on Earth is unknown. */
export function defaultCrs({ storageCrs }: { readonly storageCrs: Crs }): Crs {
  return storageCrs.isPlane ? storageCrs : CRS84;
}

/** CRS84 with heights above the ellipsoid: what CRS84 is for data that has heights. */
export const CRS84H: Crs = { ...CRS84, uri: 'http://www.opengis.net/def/crs/OGC/0/CRS84h' };

/** Path of the descriptions of CRSs without an authority code. */
export const OWN_CRS_PATH = '/ogc/crs';

/** The URI of a CRS for clients: a CRS of the data's own has its place on this server. */
export function buildCrsUri({ uri }: Crs, baseUrl: string): string {
  return uri.startsWith('/') ? baseUrl + uri : uri;
}

export function buildCrsUris(list: readonly Crs[], baseUrl: string): string[] {
  return list.map((crs) => buildCrsUri(crs, baseUrl));
}

/** Throws 400 naming the parameter when a plane without a place on Earth would have to be brought into another CRS. */
export function requireReachable(
  parameters: Readonly<Record<string, Crs | undefined>>,
  { storageCrs }: { readonly storageCrs: Crs },
): void {
  for (const [parameter, crs] of Object.entries(parameters)) {
    if (!crs || (!crs.isPlane && !storageCrs.isPlane) || crs.uri === storageCrs.uri) continue;
    throw badParameter(parameter, 'must be the CRS of the data, because the data is not georeferenced');
  }
}

/** A box as a client wrote it, in the axis order of `crs`, put in x,y order. Throws 400 when it is empty. */
export function normaliseBox(parameter: string, box: Box, crs: Crs): Box {
  const [a, b, c, d] = box;
  const [minx, miny, maxx, maxy] = crs.northFirst ? [b, a, d, c] : [a, b, c, d];
  if (miny > maxy) throw badParameter(parameter, 'must have its lower corner below its upper corner');
  // Only longitudes wrap: minx > maxx is a box across the antimeridian there, a mistake elsewhere.
  if (minx > maxx && !crs.geographic)
    throw badParameter(parameter, 'must have its left edge left of its right edge');
  if (crs.geographic && (miny < -90.000001 || maxy > 90.000001)) {
    throw badParameter(parameter, 'must have latitudes from -90 to 90');
  }
  return [minx, miny, maxx, maxy];
}

/** Decimal places that keep about a centimetre: 7 for degrees, 3 for metres. */
export function coordinatePrecision(crs: Crs): number {
  return crs.geographic ? 7 : 3;
}
