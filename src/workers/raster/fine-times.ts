/** Times with more than milliseconds: GDAL keeps seconds as 32-bit floats, and writes milliseconds. */

import { createReadStream } from 'node:fs';
import type { Layer } from 'gdal-async';
import { quote } from '../providers/geopackage/connection.js';
import type { Dataset } from './gdal.js';
import { TIME_MARK } from './geojson/values.js';

const NOTE = 'Times of the file have more digits than milliseconds: they are rounded to milliseconds.';

/** Formats that hold times as text, and that GDAL reads as its own times. */
const TEXT_TIMES = new Set(['FlatGeobuf', 'GML', 'KML', 'LIBKML', 'GPX', 'MapInfo File']);

const timesOf = (layer: Layer) =>
  layer.fields
    .map(({ name, type }) => ({ name, type }))
    .filter(({ type }) => type.toLowerCase() === 'datetime');

/** Columns of a GeoPackage whose times GDAL would round. */
export async function fineColumns(source: Dataset, layer: Layer): Promise<ReadonlySet<string>> {
  const times = timesOf(layer);
  if (source.driver.description !== 'GPKG' || times.length === 0) return new Set();
  const tests = times.map(({ name }) => `max(${quote(name)} GLOB '*.[0-9][0-9][0-9]*[1-9]*')`).join(', ');
  const result = await source.executeSQLAsync(`SELECT ${tests} FROM ${quote(layer.name)}`);
  const hits = result.features.first().fields.toArray();
  return new Set(times.flatMap(({ name }, i) => (hits[i] === 1 ? [name] : [])));
}

/** SQL of the rows of a layer of a GeoPackage: times are marked text, which becomes a time again. */
export function selectRows(layer: Layer, fine: ReadonlySet<string>): string {
  const columns = layer.fields.map(({ name }) =>
    fine.has(name) ? `'${TIME_MARK}' || ${quote(name)} AS ${quote(name)}` : quote(name),
  );
  const list = [layer.fidColumn, layer.geomColumn].filter((name) => name !== '').map(quote);
  return `SELECT ${[...list, ...columns].join(', ')} FROM ${quote(layer.name)}`;
}

const FINE_TIME = /[T ]\d\d:\d\d:\d\d\.\d{3}\d*[1-9]/;
/** Characters that a time may have before and after a border of chunks. */
const OVERLAP = 64;

/** What to say of times that are rounded; undefined where none is. */
export async function noteOfTimes(path: string, driver: string, layer: Layer): Promise<string | undefined> {
  if (!TEXT_TIMES.has(driver) || timesOf(layer).length === 0) return undefined;
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'latin1', highWaterMark: 1 << 20 })) {
    const text = rest + chunk;
    if (FINE_TIME.test(text)) return NOTE;
    rest = text.slice(-OVERLAP);
  }
  return undefined;
}
