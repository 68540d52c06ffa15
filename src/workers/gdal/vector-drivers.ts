import { readFileStart } from '../files/start-of-file.js';

/**
 * GDAL drivers that can open a vector file. gdal-async tries each separately. A JSON driver that is tried separately
 * accepts any JSON (GDAL 3.10), as the CSV driver accepts any file. The text therefore determines the JSON driver.
 */

/** Vector formats that are pure data, without JSON and CSV. */
const DRIVERS: readonly string[] = [
  'ESRI Shapefile',
  'FlatGeobuf',
  'GML',
  'LIBKML',
  'KML',
  'GPX',
  'GPKG',
  'MapInfo File',
  'DXF',
  'DGN',
];

/** Bytes of a file that are inspected. */
const HEAD_BYTES = 65_536;
const SEQUENCE_NAME = /\.(geojson[ls]|ndjson|jsonl)$/i;
const RECORD_SEPARATOR = '\x1e';

/** Drivers that may open a file, the likeliest first. Rejects with the error of the file system. */
export async function vectorDrivers(path: string): Promise<readonly string[]> {
  const driver = jsonDriver(path, await readHead(path));
  if (driver === undefined) return DRIVERS;
  // GDAL takes a sequence of one feature for GeoJSON, which opens no longer sequence.
  return driver === 'GeoJSONSeq' ? [driver, 'GeoJSON'] : [driver];
}

/** Returns the driver of a JSON text from its start. Undefined for other texts. */
export function jsonDriver(path: string, head: string): string | undefined {
  const text = head.trimStart();
  if (text.startsWith(RECORD_SEPARATOR)) return 'GeoJSONSeq';
  if (!text.startsWith('{') && !text.startsWith('[')) return undefined;
  if (SEQUENCE_NAME.test(path) || isSequence(text)) return 'GeoJSONSeq';
  if (/"type"\s*:\s*"Topology"/.test(text)) return 'TopoJSON';
  if (/"type"\s*:\s*"FeatureCollection"/.test(text)) return 'GeoJSON';
  return /"esri(Geometry|FieldType)\w+"|"fieldAliases"|"geometryType"/.test(text) ? 'ESRIJSON' : 'GeoJSON';
}

/** Whether a line is a feature or geometry, and another one starts after it. */
function isSequence(text: string): boolean {
  const end = text.indexOf('\n');
  if (end < 0 || !text.slice(end).trimStart().startsWith('{')) return false;
  try {
    return 'type' in JSON.parse(text.slice(0, end));
  } catch {
    return false;
  }
}

/** The first part of a file as text. */
export async function readHead(path: string): Promise<string> {
  return (await readFileStart(path, HEAD_BYTES)).toString('utf8').replace(/^\uFEFF/, '');
}
