import { CRS84, type Crs } from '../../core/geometry/crs.js';

/**
 * The GeoJSON member `crs` from before RFC 7946, for coordinates that are not longitude and latitude. GDAL, and
 * therefore GeoPandas and QGIS, read the CRS of a GeoJSON file from it. They expect x,y coordinates for every CRS, so
 * the member is omitted for CRSs with northing first. The JSON-FG member `coordRefSys` is not written: GDAL 3.12
 * would look for the geometry in `place`, and find none.
 */
export function crsMember({ epsg, northFirst, uri }: Crs): string {
  if (epsg === 0 || northFirst || uri === CRS84.uri || epsg === CRS84.epsg) return '';
  return `"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::${epsg}"}},`;
}
