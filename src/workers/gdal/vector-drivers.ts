import { readFileStart } from '../files/start-of-file.js';

/**
 * Which of GDAL's drivers may open a vector file. gdal-async tries each alone, and a driver of the JSON family that is
 * tried alone takes any JSON (GDAL 3.10), as that of CSV takes any file: of the family the text decides.
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

/** How much of a file is looked at. */
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

/** The driver of a JSON text by how it begins; undefined where it is none. */
export function jsonDriver(path: string, head: string): string | undefined {
  const text = head.trimStart();
  if (text.startsWith(RECORD_SEPARATOR)) return 'GeoJSONSeq';
  if (!text.startsWith('{') && !text.startsWith('[')) return undefined;
  if (SEQUENCE_NAME.test(path) || isSequence(text)) return 'GeoJSONSeq';
  if (/"type"\s*:\s*"Topology"/.test(text)) return 'TopoJSON';
  if (/"type"\s*:\s*"FeatureCollection"/.test(text)) return 'GeoJSON';
  return /"esri(Geometry|FieldType)\w+"|"fieldAliases"|"geometryType"/.test(text) ? 'ESRIJSON' : 'GeoJSON';
}

/** Whether a line is a feature or geometry, and another begins after it. */
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
