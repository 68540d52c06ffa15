/** Limits for the values in a header, checked before memory is allocated for them or another file is opened. */

import { dirname } from 'node:path';

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../core/errors/failure.js';
import type { Dataset } from './gdal.js';

/** More bands than this are refused: no imagery has them, but a hostile header can claim them. */
const MAX_BANDS = 1024;
/**
 * Maximum bytes of a block. GDAL reads complete blocks, and larger ones would not leave enough memory for the engine.
 */
const MAX_BLOCK_BYTES = 256 << 20;
/** The widest sample type, complex double. */
const MAX_SAMPLE_BYTES = 16;
/** Maximum decoded bytes of a block, which includes the samples of all bands. */
const MAX_DECODED_BYTES = 512 << 20;

/** Fails with `source-unreadable` or `too-large`. */
export function checkShape(dataset: Dataset, maxBands = MAX_BANDS): void {
  // GDAL would open them at the first access to overviews.
  if (dataset.getMetadata('OVERVIEWS')?.OVERVIEW_FILE !== undefined)
    throw new TaskFailure(
      'source-unreadable',
      'The metadata of the raster names another file for its overviews (OVERVIEW_FILE). Only overviews in the file itself, or in a file of its name with .ovr, are read.',
    );
  const { bands } = dataset;
  const count = bands.count();
  if (count === 0) throw new TaskFailure('source-unreadable', 'The file has no raster bands.');
  if (count > maxBands) throw new TaskFailure('too-large', 'The raster has too many bands.');
  const first = bands.get(1);
  checkBlock(first, isInterleaved(dataset) ? count : 1);
  checkBlock(first.getMaskBand(), 1);
  for (let index = 0; index < first.overviews.count(); index++) {
    const overview = first.overviews.get(index);
    // Each has a separate block layout, which GDAL does not expose.
    checkBlock(overview, count);
    checkBlock(overview.getMaskBand(), 1);
  }
}

/** The dataset, which is closed where its shape is refused. */
export function requireShape(dataset: Dataset): Dataset {
  try {
    checkShape(dataset);
    return dataset;
  } catch (error) {
    dataset.close();
    throw error;
  }
}

/**
 * Fails with `source-unreadable` for a raster, such as an ERDAS Imagine raster, whose parts are in another folder.
 */
export function requireNear(dataset: Dataset, path: string): Dataset {
  const folder = dirname(path);
  if (dataset.getFileList().every((file) => dirname(file) === folder)) return dataset;
  dataset.close();
  throw new TaskFailure(
    'source-unreadable',
    'The raster refers to a file in another folder. All files of a raster must be in one folder.',
  );
}

const isInterleaved = (dataset: Dataset) => dataset.getMetadata('IMAGE_STRUCTURE')?.INTERLEAVE === 'PIXEL';

function checkBlock(band: RasterBand | null, samples: number): void {
  if (!band) return;
  const { blockSize, dataType } = band;
  const pixels = blockSize.x * blockSize.y;
  if (
    pixels * MAX_SAMPLE_BYTES > MAX_BLOCK_BYTES ||
    pixels * samples * parseBytes(dataType) > MAX_DECODED_BYTES
  )
    throw new TaskFailure('too-large', 'The blocks of the raster are too large.');
}

/** Byte, Int16, CFloat64 ... */
function parseBytes(type: string | null): number {
  const bits = Number(/\d+/.exec(type ?? '')?.[0] ?? 8);
  return (bits / 8) * (type?.startsWith('C') ? 2 : 1);
}
