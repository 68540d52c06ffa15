/** Spreadsheet tables whose columns contain the coordinates of points. */

import { extname } from 'node:path';
import type { Layer } from 'gdal-async';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { type Dataset, gdal, unreadable } from '../../../gdal/gdal.js';
import { coordinateColumns, namesDegrees } from '../../csv/columns.js';
import { checkArchive } from '../unpack.js';

const DRIVERS: Readonly<Record<string, string>> = { '.xlsx': 'XLSX', '.ods': 'ODS' };

/** The driver for a spreadsheet; undefined for other files. */
export function spreadsheetDriver(path: string): string | undefined {
  return DRIVERS[extname(path).toLowerCase()];
}

/** Spreadsheets are ZIP archives, which GDAL unpacks itself: they are checked before. */
export async function openSpreadsheet(path: string, driver: string): Promise<Dataset> {
  await checkArchive(path, EXCHANGE_LIMITS.spreadsheetBytes);
  try {
    return await gdal.openAsync(path, 'r', [driver]);
  } catch (error) {
    throw unreadable('The spreadsheet is damaged.', error);
  }
}

/** Columns of the coordinates of a sheet. Undefined for other layers, and sheets without any. */
export function findSheetCoordinates(layer: Layer, driver: string): [x: string, y: string] | undefined {
  if (!Object.values(DRIVERS).includes(driver)) return undefined;
  return coordinateColumns(layer.fields.map(({ name }) => name));
}

/** Whether columns of coordinates have names of longitudes and latitudes. */
export function sheetNamesDegrees(coordinates: [x: string, y: string] | undefined): boolean {
  if (!coordinates) return false;
  const [x, y] = coordinates;
  return namesDegrees({ encoding: 'coordinates', x, y });
}

/** SQL of OGR's SQLite dialect: the rows of a sheet as points. Rows without numbers have no geometry. */
export function writePointQuery(layer: Layer, [x, y]: readonly [x: string, y: string]): string {
  const columns = layer.fields.map(({ name }) => name).filter((name) => name !== x && name !== y);
  const number = (name: string) => {
    const column = quote(name);
    return `CASE WHEN CAST(${column} AS REAL) = ${column} OR typeof(${column}) IN ('integer', 'real') THEN CAST(${column} AS REAL) END`;
  };
  const point = `MakePoint(${number(x)}, ${number(y)}) AS ${quote(geometryName(columns))}`;
  return `SELECT ${[...columns.map(quote), point].join(', ')} FROM ${quote(layer.name)}`;
}

/** Fails with `source-unreadable` when no row became a point. */
export function requirePlaces(points: Layer): void {
  try {
    points.getExtent(true);
  } catch {
    throw new TaskFailure('source-unreadable', 'No row has numbers in the columns of coordinates.');
  }
}

/** A name that no column has. */
function geometryName(columns: readonly string[]): string {
  const names = new Set(columns.map((name) => name.toLowerCase()));
  let name = 'geom';
  while (names.has(name)) name += '_';
  return name;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
