/** Geometry types of GeoJSON (RFC 7946, 1.4) in the order of their WKB numbers, from 1. */
export const GEOJSON_GEOMETRIES = [
  'Point',
  'LineString',
  'Polygon',
  'MultiPoint',
  'MultiLineString',
  'MultiPolygon',
  'GeometryCollection',
] as const;
