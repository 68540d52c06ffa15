/** Vector files through OGR: task `ogr.inspect`, and opening for the translation. */

import { open, rm } from 'node:fs/promises';
import type { FieldDefn, Layer } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { OgrLayerInfo } from '../../../core/exchange/ogr.js';
import { exists } from '../../../core/files/exists.js';
import type { Box } from '../../../core/geometry/box.js';
import type { Field, FieldType, GeometryType } from '../../../core/sources/vector-source.js';
import { isCsv } from '../../../core/values/csv.js';
import { readDatasetCrs } from '../../gdal/crs.js';
import { isInNamedDegrees } from '../../gdal/dataset-notes.js';
import { type Dataset, gdal, openWith, plainFile, plainFolder, unreadable } from '../../gdal/gdal.js';
import { requireOwnFiles, requireOwnSidecars } from '../../gdal/sidecars.js';
import { vectorDrivers } from '../../gdal/vector-drivers.js';
import { openCsv } from '../csv/open.js';
import { openEsriJson } from '../geojson/esri.js';
import { openJson } from '../geojson/open.js';
import type { ValueReadOptions } from '../geojson/values.js';
import { isParquet } from '../parquet/file.js';
import { inspectParquet } from '../parquet/translate.js';
import { requirePlainDefinitions } from './crs-definitions.js';
import { keepGeoPackageValues } from './formats/geopackage-values.js';
import { guessPath, keepGmlDigits } from './formats/gml.js';
import { openKml } from './formats/kml.js';
import { openShapefile } from './formats/shapefile.js';
import {
  findSheetCoordinates,
  openSpreadsheet,
  sheetNamesDegrees,
  spreadsheetDriver,
} from './formats/spreadsheet.js';
import { requireNoDocumentType } from './formats/xml-prolog.js';
import { describeUnreadable, requireJsonText } from './unreadable.js';

/** Options for reading a file. */
interface VectorReadOptions extends ValueReadOptions {
  /** Layer to read. Default: any layer. */
  readonly layer?: string | undefined;
}

/** Opens a vector file read-only with the allowed formats. Archives are refused: a zip bomb would unpack inside GDAL. */
export async function openVector(path: string, reading: VectorReadOptions = {}): Promise<Dataset> {
  if (GEODATABASE.test(path)) return openGeodatabase(path);
  await plainFile(path);
  const spreadsheet = spreadsheetDriver(path);
  if (spreadsheet !== undefined) return openSpreadsheet(path, spreadsheet);
  await refuseArchive(path);
  await requireOwnSidecars(path);
  try {
    if (isCsv(path)) return await openCsv(path, reading);
    if (SHAPEFILE.test(path)) return await openShapefile(path);
    await requireJsonText(path);
    await requireNoDocumentType(path);
    if (KML.test(path)) return await openKml(path);
    await requirePlainDefinitions(path);
    const drivers = await vectorDrivers(path);
    if (drivers[0] === 'ESRIJSON') return await openEsriJson(path, reading);
    if (JSON_DRIVERS.has(drivers[0]!)) return await openJson(path, drivers, reading);
    const dataset = await withoutSchema(path, async () => openWith(path, drivers));
    return await keepGeoPackageValues(await keepGmlDigits(dataset, path, reading), path, reading.layer);
  } catch (error) {
    throw await describeUnreadable(path, error);
  }
}

/** Opens a GML file without GDAL's schema file, which GDAL would write next to the data. */
async function withoutSchema(path: string, work: () => Promise<Dataset>): Promise<Dataset> {
  const schema = guessPath(path);
  if (await exists(schema)) return work();
  try {
    return await work();
  } finally {
    await rm(schema, { force: true });
  }
}

/** Drivers that read properties of features from JSON. */
const JSON_DRIVERS = new Set(['GeoJSON', 'GeoJSONSeq', 'TopoJSON']);
const SHAPEFILE = /\.shp$/i;
const KML = /\.kml$/i;

/** A file geodatabase is a folder. */
const GEODATABASE = /\.gdb$/i;

async function openGeodatabase(path: string): Promise<Dataset> {
  await plainFolder(path);
  await requireOwnFiles(path);
  try {
    return await gdal.openAsync(path, 'r', ['OpenFileGDB']);
  } catch (error) {
    throw unreadable(
      'The file geodatabase is damaged, or of a version that is not supported. Copy the complete folder again, or export it as GeoPackage.',
      error,
    );
  }
}

async function refuseArchive(path: string): Promise<void> {
  const file = await open(path);
  try {
    const head = Buffer.alloc(4);
    await file.read(head, 0, 4, 0);
    const zip = head[0] === 0x50 && head[1] === 0x4b && (head[2] === 3 || head[2] === 5 || head[2] === 7);
    const gzip = head[0] === 0x1f && head[1] === 0x8b;
    if (zip || gzip)
      throw new TaskFailure('invalid-input', 'Compressed archives are not supported. Unpack the file first.');
  } finally {
    await file.close();
  }
}

/** Describes every layer of a vector file. */
export async function inspectLayers({ path }: { path: string }): Promise<OgrLayerInfo[]> {
  if (isParquet(path)) return inspectParquet(path);
  const dataset = await openVector(path);
  try {
    const infos: OgrLayerInfo[] = [];
    const format = dataset.driver.description;
    for (const layer of await dataset.layers)
      infos.push(await describeLayer(layer, format, isInNamedDegrees(dataset)));
    if (infos.length === 0) throw new TaskFailure('source-unreadable', 'The file has no vector layer.');
    return infos;
  } catch (error) {
    throw unreadable('The vector file could not be read: it is damaged or incomplete.', error);
  } finally {
    dataset.close();
  }
}

/** Layer and table names that formats and programs use by default. */
const UNNAMED =
  /^(entities|elements|OGRGeoJSON|TopoJSON|(sheet|tabelle|feuil|feuille|hoja|foglio|blad|planilha)[ _]?\d*)$/i;
/** Formats whose layers have the same names in every file. */
const FIXED_LAYERS = new Set(['GPX']);

async function describeLayer(layer: Layer, format: string, isInDegrees: boolean): Promise<OgrLayerInfo> {
  const featureCount = await layer.features.countAsync(true);
  const coordinates = findSheetCoordinates(layer, format);
  const info: OgrLayerInfo = {
    name: layer.name,
    geometryType: coordinates ? 'Point' : convertGeometryType(layer.geomType),
    ...(hasNoGeometry(layer.geomType) && !coordinates ? { hasGeometry: false } : {}),
    ...(UNNAMED.test(layer.name) || FIXED_LAYERS.has(format) ? { isUnnamed: true } : {}),
    hasZ: hasZ(layer.geomType),
    featureCount,
    ...(isInDegrees || sheetNamesDegrees(coordinates) ? { namesDegrees: true } : {}),
    crs: readDatasetCrs(layer)?.text ?? null,
    fields: layer.fields.map(buildField),
  };
  const extent = featureCount > 0 ? findExtent(layer) : undefined;
  return extent ? { ...info, extent } : info;
}

function findExtent(layer: Layer): Box | undefined {
  try {
    const { minX, minY, maxX, maxY } = layer.getExtent(true);
    return [minX, minY, maxX, maxY].every(Number.isFinite) ? [minX, minY, maxX, maxY] : undefined;
  } catch {
    // Layers without geometry do not have a type.
    return undefined;
  }
}

const GEOMETRY_TYPES: Record<number, GeometryType> = {
  1: 'Point',
  2: 'LineString',
  3: 'Polygon',
  4: 'MultiPoint',
  5: 'MultiLineString',
  6: 'MultiPolygon',
  7: 'GeometryCollection',
  // Curves are read as lines, and surfaces as polygons.
  8: 'LineString',
  9: 'LineString',
  10: 'Polygon',
  11: 'MultiLineString',
  12: 'MultiPolygon',
  15: 'MultiPolygon',
  16: 'MultiPolygon',
  17: 'Polygon',
};

/** Base code of an OGR geometry type (OGC 06-103r4 table 7): ISO offsets are 1000 for Z, 2000 M, 3000 ZM; old 2.5D sets the top bit. */
export function baseGeometryCode(code: number): number {
  return (code >>> 0 >= 0x80000000 ? code & 0x7fffffff : code) % 1000;
}

/** True for tables without a geometry column (wkbNone). */
export function hasNoGeometry(code: number): boolean {
  return code === 100;
}

export function hasZ(code: number): boolean {
  if (code >>> 0 >= 0x80000000) return true;
  const dimension = Math.floor(code / 1000);
  return dimension === 1 || dimension === 3;
}

export function convertGeometryType(code: number): GeometryType {
  return GEOMETRY_TYPES[baseGeometryCode(code)] ?? 'Geometry';
}

const FIELD_TYPES: Record<string, FieldType> = {
  integer: 'integer',
  integer64: 'integer',
  real: 'number',
  string: 'string',
  date: 'date',
  datetime: 'date-time',
  time: 'string',
  binary: 'binary',
};

function buildField(field: FieldDefn): Field {
  // List types become JSON text in a GeoPackage.
  return { name: field.name, type: FIELD_TYPES[field.type.toLowerCase()] ?? 'json', nullable: true };
}
