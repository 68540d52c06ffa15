import { basename } from 'node:path';
import { reasonNotRead } from '../catalog/publish/formats.js';

interface ImportFormat {
  name: string;
  description: string;
}

const JSON_LINES = 'GeoJSON text sequence or newline-delimited GeoJSON';
const TABLE = 'a column of WKT, hexadecimal WKB or GeoJSON, or longitude and latitude columns';

/** Files that are one text or table each: they may be compressed. */
const SINGLE: Readonly<Record<string, ImportFormat>> = {
  '.geojson': { name: 'GeoJson', description: 'GeoJSON (RFC 7946)' },
  '.json': { name: 'GeoJson', description: 'GeoJSON, TopoJSON or Esri JSON' },
  '.geojsonl': { name: 'GeoJson', description: JSON_LINES },
  '.ndjson': { name: 'GeoJson', description: JSON_LINES },
  '.geojsons': { name: 'GeoJson', description: JSON_LINES },
  '.topojson': { name: 'GeoJson', description: 'TopoJSON' },
  '.fgb': { name: 'FlatGeobuf', description: 'FlatGeobuf' },
  '.gml': { name: 'Gml', description: 'OGC GML' },
  '.kml': { name: 'Kml', description: 'OGC KML' },
  '.gpx': { name: 'Gpx', description: 'GPX' },
  '.csv': { name: 'Csv', description: `CSV with ${TABLE}` },
  '.tsv': { name: 'Csv', description: `Tab-separated values with ${TABLE}` },
  '.psv': { name: 'Csv', description: `Bar-separated values with ${TABLE}` },
  '.dxf': { name: 'Dxf', description: 'AutoCAD DXF' },
  '.dgn': { name: 'Dgn', description: 'MicroStation DGN, before version 8' },
};

/** Vector files that an import takes, by the ending of their names. */
export const IMPORT_FORMATS: Readonly<Record<string, ImportFormat>> = {
  ...SINGLE,
  '.gpkg': { name: 'GeoPackage', description: 'OGC GeoPackage' },
  '.parquet': { name: 'GeoParquet', description: 'GeoParquet' },
  '.geoparquet': { name: 'GeoParquet', description: 'GeoParquet' },
  '.xlsx': { name: 'Xlsx', description: 'Sheet with longitude and latitude columns' },
  '.ods': { name: 'Ods', description: 'Sheet with longitude and latitude columns' },
  '.wkt': { name: 'Wkt', description: 'WKT geometries, one after another, without attributes' },
  '.wkb': { name: 'Wkb', description: 'One WKB geometry, or lines of hexadecimal WKB, without attributes' },
  '.zip': {
    name: 'Shapefile',
    description:
      'ZIP archive of one shapefile, file geodatabase (FileGdb), MapInfo table or other vector file of this list',
  },
  '.shz': { name: 'Shapefile', description: 'Zipped shapefile' },
  '.kmz': { name: 'Kml', description: 'Zipped KML' },
  ...Object.fromEntries(
    Object.entries(SINGLE).map(([ending, { name, description }]) => [
      `${ending}.gz`,
      { name, description: `${description}, compressed by gzip` },
    ]),
  ),
};

/** The format of a file by its extension. */
export function findImportFormat(path: string): ImportFormat | undefined {
  const [ending] = /(\.[^.]+\.gz|\.[^.]+)$/.exec(basename(path).toLowerCase()) ?? [];
  if (ending === undefined) return undefined;
  return IMPORT_FORMATS[ending] ?? OF_SEVERAL_FILES[ending];
}

/** Reasons for files that are parts of a format of several files, by extension. */
const PARTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['.shp', '.shx', '.dbf', '.prj', '.cpg'].map((extension) => [
      extension,
      'A shapefile is several files. Send a ZIP archive of its .shp, .shx and .dbf files, with .prj and .cpg if they exist.',
    ]),
  ),
  ...Object.fromEntries(
    ['.tab', '.dat', '.map', '.id', '.mif', '.mid'].map((extension) => [
      extension,
      'A MapInfo table is several files. Send a ZIP archive of all of them.',
    ]),
  ),
};

/** Reason why a file with this name cannot be imported, if it has one. */
export function findUploadRefusal(name: string): string | undefined {
  return PARTS[/\.[^.]+$/.exec(name.toLowerCase())?.[0] ?? ''] ?? reasonNotRead(name);
}

/** Formats of several files, which can be in an archive. */
const OF_SEVERAL_FILES: Readonly<Record<string, ImportFormat>> = {
  '.shp': IMPORT_FORMATS['.shz']!,
  '.gdb': { name: 'FileGdb', description: 'File geodatabase' },
  '.tab': { name: 'MapInfo', description: 'MapInfo table' },
  '.mif': { name: 'MapInfo', description: 'MapInfo interchange file' },
};
