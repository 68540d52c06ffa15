import type { Layer } from 'gdal-async';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { OgrPreview } from '../../../core/exchange/ogr.js';
import { getDatasetDriver } from '../../gdal/dataset-notes.js';
import { type Dataset, unreadable } from '../../gdal/gdal.js';
import { withoutMark } from '../geojson/values.js';
import { isParquet, withParquet } from '../parquet/file.js';
import { inspectLayers, openVector } from './ogr.js';

/** Task `ogr.preview`. Values that JSON does not support are strings. */
export async function preview({ path }: { path: string }): Promise<OgrPreview> {
  const layers = await inspectLayers({ path });
  const layer = layers.find(({ hasGeometry }) => hasGeometry !== false) ?? layers[0];
  if (!layer) return { layers, sample: '{}' };
  return { layers, layer, ...(await sample(path, layer.name)) };
}

async function sample(path: string, layer: string): Promise<Pick<OgrPreview, 'sample' | 'driver'>> {
  if (isParquet(path)) return { sample: await sampleOfParquet(path) };
  const dataset = await openVector(path);
  try {
    const first = dataset.layers.get(layer);
    const fields = first.features.first()?.fields.toObject() ?? {};
    const text = JSON.stringify({ ...fields, ...(await exactValues(dataset, first, fields)) }, writable);
    return { sample: text, driver: getDatasetDriver(dataset) };
  } catch (error) {
    throw unreadable('The vector file could not be read: it is damaged or incomplete.', error);
  } finally {
    dataset.close();
  }
}

/** Integers of the first feature that a JavaScript number rounds, and times, which gdal-async has without their milliseconds: as text. */
async function exactValues(
  dataset: Dataset,
  layer: Layer,
  fields: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const names = layer.fields
    .map((field) => field)
    .filter(
      ({ name, type }) => /^datetime$/i.test(type) || (/^integer64$/i.test(type) && isLarge(fields[name])),
    )
    .map(({ name }) => name);
  if (names.length === 0) return {};
  const quote = (name: string) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const columns = names.map((name) => `CAST(${quote(name)} AS character(${LONGEST})) AS ${quote(name)}`);
  const sql = `SELECT ${columns.join(', ')} FROM ${quote(layer.name)}`;
  const result = await dataset.executeSQLAsync(sql, undefined, 'OGRSQL');
  const texts: Record<string, unknown> = result.features.first()?.fields.toObject() ?? {};
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, typeof text === 'string' ? parseTime(text) : text]),
  );
}

/** Characters of a time as GDAL writes it. */
const LONGEST = 40;
const GDAL_TIME = /^(-?\d+)\/(\d\d)\/(\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d):?(\d\d)?)?$/;

/** A time of GDAL in ISO 8601; other texts are returned unchanged. */
function parseTime(text: string): string {
  const [, year, month, day, clock, hours = '+00', minutes = '00'] = GDAL_TIME.exec(text) ?? [];
  if (year === undefined) return text;
  const zone = hours === '+00' && minutes === '00' ? 'Z' : `${hours}:${minutes}`;
  return `${year}-${month}-${day}T${clock}${zone}`;
}

const isLarge = (value: unknown) => typeof value === 'number' && !Number.isSafeInteger(value);

function sampleOfParquet(path: string): Promise<string> {
  return withParquet(path, async ({ buffer: file, metadata, geometry }) => {
    const places = new Set(geometry ? [geometry.name, ...geometry.derived] : []);
    const [row = {}] = await parquetReadObjects({ file, metadata, compressors, rowStart: 0, rowEnd: 1 });
    return JSON.stringify(
      Object.fromEntries(Object.entries(row).filter(([name]) => !places.has(name))),
      writable,
    );
  });
}

function writable(name: string, value: unknown): unknown {
  // The row itself, whose fields may have names of parts of times.
  if (name === '') return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'string') return withoutMark(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return isMoment(value) ? momentText(value) : value;
}

/** Date, time of day or both in the form of gdal-async: members that are 0 are absent. */
type Moment = Partial<Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'timezone', number>>;

const PARTS = new Set(['year', 'month', 'day', 'hour', 'minute', 'second', 'timezone']);

function isMoment(value: unknown): value is Moment {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const names = Object.keys(value);
  return names.length > 0 && names.every((name) => PARTS.has(name));
}

function momentText(moment: Moment): string {
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = moment;
  const two = (number: number) => String(number).padStart(2, '0');
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
  const clock = `${two(hour)}:${two(minute)}:${two(second)}`;
  return month === 0 ? clock : date;
}
