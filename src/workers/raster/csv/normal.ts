/** CSV files that OGR's driver cannot read as they are, written anew for it. */

import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gdal } from '../gdal.js';
import { pointOf } from './columns.js';
import type { CsvReading } from './reading.js';
import { recordsOf } from './text.js';

/** Writes the file as UTF-8 with commas between values, decimal points and geometries as WKT. */
export async function writeNormal(reading: CsvReading, path: string): Promise<void> {
  await pipeline(Readable.from(linesOf(reading)), createWriteStream(path, { flags: 'wx' }));
}

async function* linesOf(reading: CsvReading): AsyncGenerator<string> {
  const { columns, commas, geometry } = reading;
  const decimals = commas.map((column) => columns.indexOf(column));
  const place = geometry && 'column' in geometry ? columns.indexOf(geometry.column) : -1;
  let isHead = true;
  for await (const record of recordsOf(reading)) {
    if (!isHead) {
      for (const i of decimals) if (record[i]) record[i] = record[i].replace(',', '.').trim();
      if (record[place]) record[place] = wktOf(record[place]);
    }
    isHead = false;
    yield `${record.map(quote).join(',')}\n`;
  }
}

function wktOf(value: string): string {
  if (value.trimStart().startsWith('{')) return wktOfGeoJson(value);
  const point = pointOf(value);
  return point ? `POINT(${point.join(' ')})` : value;
}

/** Nothing for what is no geometry: the row is published without a place. */
function wktOfGeoJson(value: string): string {
  try {
    const geometry: unknown = JSON.parse(value);
    return gdal.Geometry.fromGeoJson(geometry as object).toWKT();
  } catch {
    return '';
  }
}

const quote = (value: string) => `"${value.replaceAll('"', '""')}"`;
