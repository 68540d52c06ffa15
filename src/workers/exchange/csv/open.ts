import { basename, join } from 'node:path';
import { markNamedDegrees, noteDataset } from '../../gdal/dataset-notes.js';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import { openInScratch } from '../../gdal/scratch.js';
import type { ValueReadOptions } from '../geojson/values.js';
import { namesDegrees } from './columns.js';
import { type CsvLayout, isPlain, readCsvLayout } from './layout.js';
import { writeNormal } from './normal.js';

/**
 * Opens a CSV file. All columns are read as text, because OGR's driver would convert `007` to 7. A file that the
 * driver cannot read is rewritten into a folder that is removed with the dataset.
 */
export async function openCsv(path: string, exactness: ValueReadOptions): Promise<Dataset> {
  const reading = await readCsvLayout(path);
  const dataset = await openReading(path, reading, exactness);
  const { encoding, encodingReason, geometry, isGuess } = reading;
  if (geometry && namesDegrees(geometry)) markNamedDegrees(dataset);
  if (isGuess)
    noteDataset(
      dataset,
      `The file was read as ${encoding}, because ${encodingReason}. A .cpg file in the same folder can set another encoding.`,
    );
  return dataset;
}

async function openReading(path: string, reading: CsvLayout, exactness: ValueReadOptions): Promise<Dataset> {
  // Only the synchronous call hands open options on (gdal-async 3.12); for CSV it reads no more than the head.
  if (isPlain(reading) && !exactness.keepsValues)
    return gdal.drivers.get('CSV').open(path, 'r', collectOptions(reading));
  return openInScratch('csv', async (folder) => {
    const copy = join(folder, basename(path));
    await writeNormal(reading, copy, exactness);
    return gdal.drivers.get('CSV').open(copy, 'r', collectOptions(reading));
  });
}

function collectOptions({ geometry }: CsvLayout): Record<string, string> {
  const options = { AUTODETECT_TYPE: 'NO', KEEP_GEOM_COLUMNS: 'NO' };
  if (!geometry) return options;
  if (geometry.encoding !== 'coordinates') return { ...options, GEOM_POSSIBLE_NAMES: geometry.column };
  return { ...options, X_POSSIBLE_NAMES: geometry.x, Y_POSSIBLE_NAMES: geometry.y };
}
