/** Vector files that an import takes, by the ending of their names. */
export const IMPORT_FORMATS: Readonly<Record<string, { name: string; description: string }>> = {
  '.geojson': { name: 'GeoJson', description: 'GeoJSON (RFC 7946)' },
  '.json': { name: 'GeoJson', description: 'GeoJSON, TopoJSON or Esri JSON' },
  '.geojsonl': { name: 'GeoJson', description: 'GeoJSON text sequence or newline-delimited GeoJSON' },
  '.topojson': { name: 'GeoJson', description: 'TopoJSON' },
  '.gpkg': { name: 'GeoPackage', description: 'OGC GeoPackage' },
  '.fgb': { name: 'FlatGeobuf', description: 'FlatGeobuf' },
  '.gml': { name: 'Gml', description: 'OGC GML' },
  '.kml': { name: 'Kml', description: 'OGC KML' },
  '.gpx': { name: 'Gpx', description: 'GPX' },
  '.csv': {
    name: 'Csv',
    description: 'CSV with a column of WKT or of hexadecimal WKB, or longitude and latitude columns',
  },
  '.wkt': { name: 'Wkt', description: 'WKT geometries, one after another, without attributes' },
  '.wkb': { name: 'Wkb', description: 'One WKB geometry, or lines of hexadecimal WKB, without attributes' },
  '.zip': {
    name: 'Shapefile',
    description: 'ZIP archive of one shapefile or one file geodatabase (FileGdb)',
  },
};
