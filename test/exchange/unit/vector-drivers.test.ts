import { expect, it } from 'vitest';
import { jsonDriver } from '../../../src/workers/gdal/vector-drivers.js';

it.each([
  ['a.geojson', '{"type":"FeatureCollection","features":[]}', 'GeoJSON'],
  ['a.json', '\n  {"type": "Point", "coordinates": [1, 2]}', 'GeoJSON'],
  ['a.json', '{"type":"Feature",\n"properties":{"type":"Topology of"}}', 'GeoJSON'],
  ['a.json', '{"type" : "Topology","objects":{}}', 'TopoJSON'],
  ['a.json', '{"geometryType":"esriGeometryPoint","features":[]}', 'ESRIJSON'],
  ['a.json', '{"type":"FeatureCollection","features":[{"properties":{"geometryType":1}}]}', 'GeoJSON'],
  ['a.json', '{"type":"Feature"}\n{"type":"Feature"}\n', 'GeoJSONSeq'],
  ['a.json', '{"type":"Feature"}\n', 'GeoJSON'],
  ['a.ndjson', '{"type":"Feature"}\n', 'GeoJSONSeq'],
  ['a.json', '\x1e{"type":"Feature"}\n', 'GeoJSONSeq'],
  ['a.gml', '<?xml version="1.0"?>', undefined],
  ['a.vrt', '<OGRVRTDataSource>{"type":"Topology"}', undefined],
])('%s of %j is opened by %s', (path, head, driver) => {
  expect(jsonDriver(path, head)).toBe(driver);
});
