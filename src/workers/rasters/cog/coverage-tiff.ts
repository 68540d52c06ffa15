/** Values of a window as a cloud optimized GeoTIFF. */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { CoverageResult, CoverageTask, Resampling } from '../../../core/rasters/rasters.js';
import type { Samples } from '../../../native/index.js';
import { type Dataset, gdal, resamplingName } from '../../gdal/gdal.js';
import { Scratch } from '../../gdal/scratch.js';
import type { Cancellation } from '../../threads/cancellation.js';
import type { AreaGrid } from '../coverage-grid.js';
import { getGeoreference } from '../georeference.js';
import { canWriteBands, isMasked, writeCogInMemory } from '../geotiff/index.js';
import type { BandTraits, RasterTraits } from '../geotiff/traits.js';
import { isBeyondDoubles, isWide } from '../pixels/wide-integers.js';
import { isCovered, warpFailure } from '../warp.js';
import { addBandTexts, needsOverviews, tileSide, writeCog } from './cog.js';
import { MEDIA_TYPES } from './encode.js';

/** Bytes before compression above which a response is written to the disk instead of memory. */
const MEMORY_BYTES = 32 << 20;

export interface CoverageSource {
  /** Traits of the published raster. */
  traits: RasterTraits;
  /** In output order. */
  bands: BandTraits[];
  /** Dataset that is read: the requested bands, repeated if the window needs it. */
  view: Dataset;
  repeated: boolean;
  grid: AreaGrid;
}

type Answer = Pick<CoverageResult, 'data' | 'mediaType' | 'file'>;

/**
 * Writes the window. Nodata values, colour tables, descriptions, units, scales and offsets of the bands are kept. If
 * a reprojected raster does not have a nodata value, a mask marks the pixels outside it.
 */
export async function writeGeoTiff(
  task: CoverageTask,
  reading: CoverageSource,
  cancellation: Cancellation,
): Promise<Answer> {
  const bytes = rawBytes(reading);
  if (bytes > task.maxBytes)
    throw new TaskFailure(
      'too-large',
      `The response would have ${bytes} bytes before compression. The limit is ${task.maxBytes} bytes. Request fewer pixels or bands.`,
    );
  const { bands, view, grid } = reading;
  const mediaType = MEDIA_TYPES.tiff;
  const method = task.resampling ?? defaultResampling(bands);
  const inMemory = bytes <= MEMORY_BYTES;
  const plan = {
    method,
    isPlain: inMemory && isPlain(reading),
    isMosaic: task.source.kind === 'mosaic',
  };
  if (plan.isPlain && isOnPixels(grid)) {
    const samples = await readBands(view, grid.window!, bands.length);
    cancellation.check();
    return { data: await encode(reading, method, samples), mediaType };
  }
  const scratch = new Scratch(!inMemory);
  const opened: Dataset[] = [];
  try {
    const file = await write(plan, reading, scratch, opened, cancellation);
    if (typeof file !== 'string') return { data: file, mediaType };
    if (scratch.onDisk) return { data: new Uint8Array(), file: scratch.keep(file), mediaType };
    return { data: gdal.vsimem.release(scratch.keep(file)), mediaType };
  } finally {
    for (const dataset of opened.reverse()) dataset.close();
    await scratch.discard();
  }
}

/** Whether the server can write the response itself, unless a mask must mark the valid pixels. */
function isPlain({ bands, grid }: CoverageSource): boolean {
  return canWriteBands(bands) && !(grid.window && isMasked(bands));
}

/** Whether each pixel is one of the raster. */
function isOnPixels(grid: AreaGrid): boolean {
  return grid.window !== undefined && isUnscaled(grid) && grid.window.every(Number.isInteger);
}

async function readBands(
  dataset: Dataset,
  window: [number, number, number, number],
  count: number,
): Promise<Samples[]> {
  const samples: Samples[] = [];
  for (let band = 1; band <= count; band++)
    samples.push((await dataset.bands.get(band).pixels.readAsync(...window)) as Samples);
  return samples;
}

/** Writes a GeoTIFF without GDAL's driver. */
function encode(
  { traits, bands, view, grid }: CoverageSource,
  method: Resampling,
  samples: Samples[],
): Promise<Uint8Array> {
  const { width, height, box } = grid;
  const place = getGeoreference(view);
  const [, dx, , , , dy] = place.geoTransform;
  return writeCogInMemory({
    samples,
    width,
    height,
    crs: grid.window ? place.crs : grid.crs,
    origin: [box[0], box[3]],
    pixel: isOnPixels(grid) ? [dx, -dy] : [(box[2] - box[0]) / width, (box[3] - box[1]) / height],
    bands,
    traits,
    side: tileSide(width, height),
    overviews: needsOverviews(width, height) ? (method === 'nearest' ? 'nearest' : 'average') : 'none',
  });
}

export const SAMPLE_BYTES: Record<string, number> = {
  Byte: 1,
  Int8: 1,
  UInt16: 2,
  Int16: 2,
  CInt16: 4,
  Float64: 8,
  Int64: 8,
  UInt64: 8,
  CInt32: 8,
  CFloat32: 8,
  CFloat64: 16,
};

function rawBytes({ bands, grid }: CoverageSource): number {
  const sample = bands.map(({ type }) => SAMPLE_BYTES[type ?? ''] ?? 4);
  return grid.width * grid.height * sample.reduce((sum, size) => sum + size, 0);
}

interface Plan {
  method: Resampling;
  isPlain: boolean;
  isMosaic: boolean;
}

/** Returns the bytes, or the path of the file that GDAL wrote. */
async function write(
  { method, isPlain, isMosaic }: Plan,
  reading: CoverageSource,
  scratch: Scratch,
  opened: Dataset[],
  cancellation: Cancellation,
): Promise<string | Uint8Array> {
  const { grid, view, bands } = reading;
  const { width, height } = grid;
  const ownOverviews = grid.window !== undefined && isUnscaled(grid);
  const cog = { width, height, nearest: method === 'nearest', ownOverviews };
  const named = bands.some(({ description, unit, categories }) => description || unit || categories.length);
  // GDAL loses the unit of a band of which it writes a part, and more metadata if rasters are combined.
  const forgets = reading.repeated ? named : bands.some(({ unit }) => unit !== '');
  // GDAL would compute the statistics of an entire raster from the raster itself and write them to a file next to it.
  // GDAL computes with doubles unless it copies pixels.
  const mayRound =
    bands.some(({ type }) => isWide({ dataType: type })) &&
    (!grid.window || reading.repeated || isMosaic || (!isUnscaled(grid) && method !== 'nearest'));
  if (!isPlain && grid.window && !isWhole(reading) && !forgets && !mayRound) {
    return writeCog({ ...cog, dataset: view, selection: cropArguments(grid, method) }, scratch, cancellation);
  }
  const addsAlpha = !grid.window && !saysWhatIsValid(view) && !isCovered(view, grid);
  // If GDAL inserts the band names, it must read the pixels by name.
  const needsName = named && (addsAlpha || !isPlain);
  const output = needsName || scratch.onDisk ? scratch.path('.raw.tif') : null;
  const pixels = grid.window
    ? await crop(view, grid, method, output)
    : await warp(view, grid, method, output, addsAlpha, opened);
  opened.push(pixels);
  cancellation.check();
  if (mayRound) await requireDoubles(pixels);
  const selection = await validBands(pixels, bands.length);
  if (isPlain && !selection.includes('-mask'))
    return encode(reading, method, await readBands(pixels, [0, 0, width, height], bands.length));
  if (!named) return writeCog({ ...cog, dataset: pixels, selection }, scratch, cancellation);
  const dataset = await addBandTexts(pixels, selection, bands, scratch);
  opened.push(dataset);
  return writeCog({ ...cog, dataset, selection: [] }, scratch, cancellation);
}

/** Fails with `invalid-input` for integers that a double rounded. */
async function requireDoubles({ bands }: Dataset): Promise<void> {
  for (const band of bands)
    if (await isBeyondDoubles(band))
      throw new TaskFailure(
        'invalid-input',
        'The values are 64-bit integers beyond 2^53, which the server would round. Request the pixels of the raster: in its own CRS, without scaling or with the resampling nearest, and not of a mosaic.',
      );
}

/** Returns the default resampling. Index values cannot be averaged; all other values are interpolated. */
export function defaultResampling(bands: readonly BandTraits[]): Resampling {
  return bands.some(({ isIndex }) => isIndex) ? 'nearest' : 'bilinear';
}

function isWhole({ view, grid }: CoverageSource): boolean {
  const { x, y } = view.rasterSize;
  return grid.window!.join() === [0, 0, x, y].join() && isUnscaled(grid);
}

/** Arguments of gdal_translate for a window on the raster's own grid. */
function cropArguments(grid: AreaGrid, method: Resampling): string[] {
  const { window, width, height } = grid;
  const cut = ['-srcwin', ...window!.map(String)];
  if (isUnscaled(grid)) return cut;
  return [...cut, '-outsize', String(width), String(height), '-r', resamplingName(method)];
}

function isUnscaled({ window, width, height }: AreaGrid): boolean {
  return window![2] === width && window![3] === height;
}

/** Destination of raw pixels: a file if they must be read by name or if there are many. */
function outputArguments(output: string | null): string[] {
  return output === null
    ? ['-of', 'MEM']
    : ['-of', 'GTiff', '-co', 'BIGTIFF=IF_SAFER', '-co', 'INTERLEAVE=BAND', '-co', 'TILED=YES'];
}

function crop(view: Dataset, grid: AreaGrid, method: Resampling, output: string | null): Promise<Dataset> {
  return gdal.translateAsync(output ?? '', view, [
    ...outputArguments(output),
    ...cropArguments(grid, method),
  ]);
}

async function warp(
  view: Dataset,
  grid: AreaGrid,
  method: Resampling,
  output: string | null,
  addsAlpha: boolean,
  opened: Dataset[],
): Promise<Dataset> {
  const source = grid.scaled ? await scaled(view, grid.scaled, method) : view;
  if (source !== view) opened.push(source);
  try {
    return await gdal.warpAsync(
      output ?? 'coverage',
      null,
      [source],
      [
        ...outputArguments(output),
        ...['-t_srs', grid.crs.text, '-te', ...grid.box.map(String)],
        ...['-ts', String(grid.width), String(grid.height)],
        ...['-r', resamplingName(method), '-ovr', 'AUTO', '-et', '0.125'],
        ...(addsAlpha ? ['-dstalpha'] : []),
      ],
    );
  } catch (error) {
    throw warpFailure(error);
  }
}

/** Returns the raster at another size, scaled during the read. */
function scaled(view: Dataset, [width, height]: [number, number], method: Resampling): Promise<Dataset> {
  const size = ['-outsize', String(width), String(height)];
  return gdal.translateAsync('', view, ['-of', 'VRT', ...size, '-r', resamplingName(method)]);
}

function saysWhatIsValid(raster: Dataset): boolean {
  const bands = Array.from({ length: raster.bands.count() }, (_, index) => raster.bands.get(index + 1));
  return (
    bands.some(({ noDataValue }) => noDataValue !== null) || bands.at(-1)!.colorInterpretation === 'Alpha'
  );
}

/**
 * Arguments that select the requested bands. An alpha band from the warper becomes a mask, unless all pixels are
 * valid.
 */
async function validBands(pixels: Dataset, count: number): Promise<string[]> {
  if (pixels.bands.count() === count) return [];
  const added = pixels.bands.get(count + 1);
  const { min } = await added.computeStatisticsAsync(false);
  const bands = Array.from({ length: count }, (_, index) => ['-b', String(index + 1)]).flat();
  return min > 0 ? bands : [...bands, '-mask', String(count + 1)];
}
