import { type Format, GEOJSON_FORMAT, HTML_FORMAT, XML_FORMAT } from '../../core/http/media.js';
import { META_FORMATS } from '../surface/common.js';

/** Formats of features, and of documents that describe them. */

/** GML 3.2, Simple Features level 0 (OGC 17-069r4, 8.4). */
export const GML_FORMAT: Format = {
  name: 'gml',
  aliases: ['xml'],
  mediaType: 'application/gml+xml;version=3.2;profile="http://www.opengis.net/def/profile/ogc/2.0/gml-sf0"',
  accepts: ['application/xml', 'text/xml'],
};

export const CSV_FORMAT: Format = {
  name: 'csv',
  mediaType: 'text/csv; charset=utf-8; header=present',
};

/** Landing page, conformance declaration and collections. */
export const DOCUMENT_FORMATS: readonly Format[] = [...META_FORMATS, XML_FORMAT];

export const ITEM_FORMATS: readonly Format[] = [GEOJSON_FORMAT, HTML_FORMAT, GML_FORMAT, CSV_FORMAT];

/** The format in which a store writes the features; HTML pages are made from GeoJSON. */
export function storeFormat(format: Format): 'geojson' | 'csv' | 'gml' {
  if (format === CSV_FORMAT) return 'csv';
  return format === GML_FORMAT ? 'gml' : 'geojson';
}
