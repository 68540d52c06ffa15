/** CSV files that OGR's driver cannot read unchanged, rewritten for it. */

import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { PLACE_COLUMN } from '../../../core/edits/merges.js';
import { gdal } from '../../gdal/gdal.js';
import type { ValueReadOptions } from '../geojson/values.js';
import { parseLatitudeLongitude } from './columns.js';
import type { CsvLayout } from './layout.js';
import { readCsvRecords } from './text.js';

/**
 * Writes the file as UTF-8 with commas between values, decimal points and geometries as WKT. With `keepsValues` a further
 * column has the geometries as the file has them.
 */
export async function writeNormal(
  reading: CsvLayout,
  path: string,
  exactness: ValueReadOptions = {},
): Promise<void> {
  await pipeline(Readable.from(listLines(reading, exactness)), createWriteStream(path, { flags: 'wx' }));
}

async function* listLines(reading: CsvLayout, { keepsValues }: ValueReadOptions): AsyncGenerator<string> {
  const { columns, commas, geometry } = reading;
  const decimals = commas.map((column) => columns.indexOf(column));
  const place = geometry && 'column' in geometry ? columns.indexOf(geometry.column) : -1;
  const places = findPlaces(reading);
  let isHead = true;
  for await (const record of readCsvRecords(reading)) {
    const text = isHead ? PLACE_COLUMN : places?.map((i) => record[i] ?? '').join(', ');
    if (!isHead) {
      for (const i of decimals) if (record[i]) record[i] = record[i].replace(',', '.').trim();
      if (record[place]) record[place] = parseWkt(record[place]);
    }
    isHead = false;
    if (keepsValues && text !== undefined) {
      // A record may be shorter than the line of names.
      for (let i = record.length; i < columns.length; i++) record[i] = '';
      record[columns.length] = /^[\s,]*$/.test(text) ? '' : text;
    }
    yield `${record.map(quote).join(',')}\n`;
  }
}

/** Records that have something in the place of a geometry. */
export async function countPlaces(reading: CsvLayout): Promise<number> {
  const places = findPlaces(reading);
  if (!places) return 0;
  let count = -1;
  for await (const record of readCsvRecords(reading))
    if (count < 0 || places.some((i) => record[i]?.trim())) count++;
  return count;
}

/** Indexes of the columns that a geometry is in; undefined without one. */
function findPlaces({ columns, geometry }: CsvLayout): number[] | undefined {
  if (!geometry) return undefined;
  const names = 'column' in geometry ? [geometry.column] : [geometry.x, geometry.y];
  return names.map((name) => columns.indexOf(name));
}

function parseWkt(value: string): string {
  if (value.trimStart().startsWith('{')) return wktOfGeoJson(value);
  const point = parseLatitudeLongitude(value);
  return point ? `POINT(${point.join(' ')})` : value;
}

/** Returns an empty string for values that are not geometries. The row is published without a geometry. */
function wktOfGeoJson(value: string): string {
  try {
    const geometry: unknown = JSON.parse(value);
    return gdal.Geometry.fromGeoJson(geometry as object).toWKT();
  } catch {
    return '';
  }
}

const quote = (value: string) => `"${value.replaceAll('"', '""')}"`;
