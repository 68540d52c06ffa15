import type { ExportName } from '../../../services/exchange/exports/formats.js';

/** Names of export formats for people. */
export const FORMAT_TITLES: Readonly<Record<ExportName, string>> = {
  geojson: 'GeoJSON',
  csv: 'CSV',
  gpkg: 'GeoPackage',
  flatgeobuf: 'FlatGeobuf',
  geoparquet: 'GeoParquet',
  shapefile: 'Shapefile',
  kml: 'KML',
};
