import { CRS84, type Crs } from '../../core/geometry/crs.js';

/**
 * The member `crs` of GeoJSON before RFC 7946, where coordinates are not longitudes and latitudes: GDAL, and so GeoPandas
 * and QGIS, label a page that they read as a file by it. They read coordinates as x,y whatever the CRS says, so it is left
 * out where northing comes first. The member `coordRefSys` of JSON-FG is not written: GDAL 3.12 would look for the
 * geometry in `place`, and find none.
 */
export function crsMember({ epsg, northFirst, uri }: Crs): string {
  if (epsg === 0 || northFirst || uri === CRS84.uri || epsg === CRS84.epsg) return '';
  return `"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::${epsg}"}},`;
}
