import type { Layer } from 'gdal-async';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { OgrPreview } from '../../core/ogr.js';
import { driverOfDataset } from './dataset-notes.js';
import { type Dataset, unreadable } from './gdal.js';
import { inspectLayers, openVector } from './ogr.js';
import { isParquet, withParquet } from './parquet/file.js';

/** Body of task `ogr.preview`. Values that JSON does not have are texts. */
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
    const text = JSON.stringify({ ...fields, ...(await largeIntegers(dataset, first, fields)) }, writable);
    return { sample: text, driver: driverOfDataset(dataset) };
  } catch (error) {
    throw unreadable('The vector file could not be read: it is damaged or incomplete.', error);
  } finally {
    dataset.close();
  }
}

/** Integers of the first feature that a JavaScript number rounds, as text. */
async function largeIntegers(
  dataset: Dataset,
  layer: Layer,
  fields: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const names = layer.fields
    .map((field) => field)
    .filter(({ name, type }) => type.toLowerCase() === 'integer64' && isLarge(fields[name]))
    .map(({ name }) => name);
  if (names.length === 0) return {};
  const quote = (name: string) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const columns = names.map((name) => `CAST(${quote(name)} AS character(20)) AS ${quote(name)}`);
  const sql = `SELECT ${columns.join(', ')} FROM ${quote(layer.name)}`;
  const result = await dataset.executeSQLAsync(sql, undefined, 'OGRSQL');
  return result.features.first()?.fields.toObject() ?? {};
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

function writable(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
}
