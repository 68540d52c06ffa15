/**
 * Values of a window as LERC, which does not have a georeference. The blob always covers the complete window, also
 * beyond the raster.
 */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { CoverageResult, CoverageTask } from '../../../core/rasters/rasters.js';
import { type Dataset, gdal, resamplingName, scratchPath } from '../../gdal/gdal.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { defaultResampling, SAMPLE_BYTES } from '../cog/coverage-tiff.js';
import { type Area, computeCoverageGrid } from '../coverage-grid.js';
import type { BandTraits } from '../geotiff/traits.js';
import { warpFailure } from '../warp.js';

const LERC_MEDIA_TYPE = 'application/octet-stream';

const TYPES = ['Byte', 'Int16', 'UInt16', 'Int32', 'UInt32', 'Float32', 'Float64'];
/** Minimum 32-bit float, which marks missing values before the conversion to LERC1. LERC1 uses a mask instead. */
const NO_DATA = -3.4028234663852886e38;

/** One blob behind another for each band, as LERC has it. Fails with `too-large` and `invalid-input`. */
export async function writeLerc(
  task: CoverageTask,
  { view, bands, area }: { view: Dataset; bands: BandTraits[]; area: Area },
  cancellation: Cancellation,
): Promise<CoverageResult> {
  const { bbox, size } = task;
  if (!bbox || !size || size.some((side) => side < 1 || side > task.maxSize))
    throw new TaskFailure('invalid-input', 'LERC needs a window and a size.');
  const [width, height] = size;
  const bytes = width * height * bands.reduce((sum, { type }) => sum + (SAMPLE_BYTES[type ?? ''] ?? 4), 0);
  if (bytes > task.maxBytes)
    throw new TaskFailure(
      'too-large',
      `The values have ${bytes} bytes. The limit is ${task.maxBytes} bytes.`,
    );
  await computeCoverageGrid(task, area, view);
  const pixels = await loadWindow(task, view, bands, area);
  try {
    const values = await Promise.all(bands.map((_, i) => loadValues(pixels, i + 1, bands.length)));
    cancellation.check();
    const isMasked = task.lercVersion === 1 || values.some(({ isWhole }) => !isWhole);
    const isValid = (_: number, i: number) => values.every((band) => band.isValid(band.values[i]!, i));
    const blobs: Buffer[] = [];
    for (const band of values)
      blobs.push(
        await loadBlob(isMasked ? asFloats({ ...band, isValid }) : band, size, {
          isMasked,
          tolerance: task.tolerance ?? 0,
        }),
      );
    if (isMasked) blobs.splice(1, Infinity, ...blobs.slice(1).map(withoutMask));
    return { data: Buffer.concat(blobs), mediaType: LERC_MEDIA_TYPE, width, height, bbox };
  } finally {
    pixels.close();
  }
}

interface Values {
  readonly type: string;
  readonly values: Float64Array | Float32Array;
  readonly isValid: (value: number, i: number) => boolean;
  readonly isWhole: boolean;
}

const asFloats = ({ values, isValid, isWhole }: Values): Values => ({
  type: 'Float32',
  isValid,
  isWhole,
  values: Float32Array.from(values, (value, i) => (isValid(value, i) ? value : NO_DATA)),
});

/** Returns the window in memory. If bands have no nodata value, an additional alpha band marks the valid pixels. */
async function loadWindow(
  { bbox, size, resampling }: CoverageTask,
  view: Dataset,
  bands: readonly BandTraits[],
  { crs }: Area,
): Promise<Dataset> {
  const numbers = bands.map((_, i) => view.bands.get(i + 1));
  const isMarked = numbers.every(({ noDataValue }) => noDataValue !== null);
  const hasAlpha = numbers.some(({ colorInterpretation }) => colorInterpretation === 'Alpha');
  try {
    return await gdal.warpAsync(
      'lerc',
      null,
      [view],
      [
        ...['-of', 'MEM', '-t_srs', crs.text, '-te', ...bbox!.map(String), '-ts', ...size!.map(String)],
        ...['-r', resamplingName(resampling ?? defaultResampling(bands)), '-ovr', 'AUTO', '-et', '0.125'],
        ...(isMarked || hasAlpha ? [] : ['-dstalpha']),
      ],
    );
  } catch (error) {
    throw warpFailure(error);
  }
}

/**
 * Returns the data file of a tiled MRF with one tile, which is that tile. GDAL 3.6 writes masks only in LERC1, whose
 * values have 32 bits, so other types have no mark for missing values.
 */
async function loadBlob(
  { type, values }: Values,
  [width, height]: readonly [number, number],
  { isMasked, tolerance }: { isMasked: boolean; tolerance: number },
): Promise<Buffer> {
  const memory = await gdal.drivers.get('MEM').createAsync('', width, height, 1, type);
  const stem = scratchPath('');
  try {
    await memory.bands.get(1).pixels.writeAsync(0, 0, width, height, values);
    if (isMasked) memory.bands.get(1).noDataValue = NO_DATA;
    const options = `OPTIONS=LERC_PREC:${tolerance}${isMasked ? ' V1:ON' : ' L2_VER:2'}`;
    const tile = ['COMPRESS=LERC', `BLOCKXSIZE=${width}`, `BLOCKYSIZE=${height}`, options];
    const creation = tile.flatMap((option) => ['-co', option]);
    (await gdal.translateAsync(`${stem}.mrf`, memory, ['-of', 'MRF', ...creation])).close();
    return trimmed(Buffer.from(gdal.vsimem.release(`${stem}.lrc`)));
  } finally {
    memory.close();
    for (const ending of ['.mrf', '.idx', '.mrf.aux.xml']) discard(`${stem}${ending}`);
  }
}

/**
 * Bytes before the two parts of LERC1 (mask and values), and before the data of each part. The headers state the size
 * of the data.
 */
const HEAD_BYTES = 34;
const PART_HEAD_BYTES = 16;
const PART_SIZE_AT = 8;
/** Offset of the size in LERC2 version 2, which GDAL writes. */
const SIZE_AT = 26;

/** Returns the blob without the uninitialised bytes that GDAL leaves behind it. */
function trimmed(file: Buffer): Buffer {
  if (file.toString('latin1', 0, 6) === 'Lerc2 ') return file.subarray(0, file.readInt32LE(SIZE_AT));
  return file.subarray(0, endOfPart(file, endOfPart(file, HEAD_BYTES)));
}

function endOfPart(blob: Buffer, start: number): number {
  return start + PART_HEAD_BYTES + blob.readInt32LE(start + PART_SIZE_AT);
}

/** A further band of LERC1, which has the mask of the first. */
function withoutMask(blob: Buffer): Buffer {
  return Buffer.concat([blob.subarray(0, HEAD_BYTES), blob.subarray(endOfPart(blob, HEAD_BYTES))]);
}

function discard(path: string): void {
  try {
    gdal.vsimem.release(path);
  } catch {
    // Not all of them are written always.
  }
}

async function loadValues(pixels: Dataset, number: number, count: number): Promise<Values> {
  const { x: width, y: height } = pixels.rasterSize;
  const band = pixels.bands.get(number);
  const type = band.dataType ?? '';
  if (!TYPES.includes(type))
    throw new TaskFailure('invalid-input', `LERC has no values of the type ${type}.`);
  const values = (await band.pixels.readAsync(0, 0, width, height)) as Float64Array;
  const alpha = await loadAlpha(pixels, count);
  const noData = band.noDataValue;
  const isValid = (value: number, i: number) =>
    alpha?.[i] !== 0 && value !== noData && Number.isFinite(value);
  return { type, values, isValid, isWhole: values.every(isValid) };
}

/** The alpha band behind the bands, or among them; undefined where there is none. */
async function loadAlpha(pixels: Dataset, count: number): Promise<ArrayLike<number> | undefined> {
  const { x: width, y: height } = pixels.rasterSize;
  const last = pixels.bands.get(pixels.bands.count());
  if (pixels.bands.count() === count && last.colorInterpretation !== 'Alpha') return undefined;
  return (await last.pixels.readAsync(0, 0, width, height)) as Float64Array;
}
