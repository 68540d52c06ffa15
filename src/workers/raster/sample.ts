import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { OgrPreview } from '../../core/ogr.js';
import { driverOfDataset } from './dataset-notes.js';
import { unreadable } from './gdal.js';
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
    const feature = dataset.layers.get(layer).features.first();
    const text = JSON.stringify(feature?.fields.toObject() ?? {}, writable);
    return { sample: text, driver: driverOfDataset(dataset) };
  } catch (error) {
    throw unreadable('The vector file could not be read: it is damaged or incomplete.', error);
  } finally {
    dataset.close();
  }
}

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
