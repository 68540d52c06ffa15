/** Values of a window as a cloud optimized GeoTIFF. */

import type { CoverageResult, CoverageTask, Resampling } from '../../core/rasters.js';
import { TaskFailure } from '../../core/tasks.js';
import type { Cancellation } from '../cancellation.js';
import { bandTexts, described, writeCog } from './cog.js';
import type { Grid } from './coverage-grid.js';
import { MEDIA_TYPES } from './encode.js';
import { type Dataset, gdal } from './gdal.js';
import { Scratch } from './scratch.js';
import { isCovered, warpFailure } from './warp.js';

/** Answers of more bytes than this before compression are written on disk, and are not held in memory. */
const MEMORY_BYTES = 32 << 20;

export interface Reading {
  /** The raster as published. */
  raster: Dataset;
  /** 1-based bands in output order. */
  bands: number[];
  /** What is read: those bands, repeated where the window needs it. */
  view: Dataset;
  repeated: boolean;
  grid: Grid;
}

type Answer = Pick<CoverageResult, 'data' | 'mediaType' | 'file'>;

/**
 * Writes the window. Nodata values, colour tables, descriptions, units, scales and offsets of the bands are kept; where
 * a reprojected raster has no nodata value, a mask tells what lies outside of it.
 */
export async function writeGeoTiff(
  task: CoverageTask,
  reading: Reading,
  cancellation: Cancellation,
): Promise<Answer> {
  const bytes = rawBytes(reading);
  if (bytes > task.maxBytes)
    throw new TaskFailure(
      'too-large',
      `The answer would be ${bytes} bytes before compression; at most ${task.maxBytes} are allowed. Ask for fewer pixels or bands.`,
    );
  const scratch = new Scratch(bytes > MEMORY_BYTES);
  const opened: Dataset[] = [];
  try {
    const path = await write(task, reading, scratch, opened, cancellation);
    const mediaType = MEDIA_TYPES.tiff;
    if (scratch.onDisk) return { data: new Uint8Array(), file: scratch.keep(path), mediaType };
    return { data: gdal.vsimem.release(scratch.keep(path)), mediaType };
  } finally {
    for (const dataset of opened.reverse()) dataset.close();
    await scratch.discard();
  }
}

const SAMPLE_BYTES: Record<string, number> = {
  Byte: 1,
  Int8: 1,
  UInt16: 2,
  Int16: 2,
  CInt16: 4,
  Float64: 8,
  CInt32: 8,
  CFloat32: 8,
  CFloat64: 16,
};

function rawBytes({ raster, bands, grid }: Reading): number {
  const sample = bands.map((band) => SAMPLE_BYTES[raster.bands.get(band).dataType ?? ''] ?? 4);
  return grid.width * grid.height * sample.reduce((sum, size) => sum + size, 0);
}

async function write(
  task: CoverageTask,
  reading: Reading,
  scratch: Scratch,
  opened: Dataset[],
  cancellation: Cancellation,
): Promise<string> {
  const { grid, view, raster, bands } = reading;
  const method = task.resampling ?? defaultResampling(raster, bands);
  const { width, height } = grid;
  const ownOverviews = grid.window !== undefined && isUnscaled(grid);
  const cog = { width, height, nearest: method === 'nearest', ownOverviews };
  const texts = bandTexts(raster, bands);
  const named = texts.some(({ description, unit, categories }) => description || unit || categories.length);
  // GDAL forgets the unit of a band of which it writes a part, and more where rasters are put together.
  const forgets = reading.repeated ? named : texts.some(({ unit }) => unit !== '');
  // Statistics of a whole raster would be taken of the raster itself, and GDAL would write them beside its file.
  if (grid.window && !isWhole(reading) && !forgets) {
    return writeCog({ ...cog, dataset: view, selection: cropArguments(grid, method) }, scratch, cancellation);
  }
  const output = named || scratch.onDisk ? scratch.path('.raw.tif') : null;
  const pixels = grid.window
    ? await crop(view, grid, method, output)
    : await warp(view, grid, method, output, opened);
  opened.push(pixels);
  cancellation.check();
  const selection = await validBands(pixels, bands.length);
  if (!named) return writeCog({ ...cog, dataset: pixels, selection }, scratch, cancellation);
  const dataset = await described(pixels, selection, texts, scratch);
  opened.push(dataset);
  return writeCog({ ...cog, dataset, selection: [] }, scratch, cancellation);
}

/** Values that are names cannot be averaged; others are interpolated. */
function defaultResampling(raster: Dataset, bands: readonly number[]): Resampling {
  const names = bands.some((number) => {
    const { colorTable, categoryNames } = raster.bands.get(number);
    return Boolean(colorTable) || ((categoryNames as string[] | null) ?? []).length > 0;
  });
  return names ? 'nearest' : 'bilinear';
}

function isWhole({ view, grid }: Reading): boolean {
  const { x, y } = view.rasterSize;
  return grid.window!.join() === [0, 0, x, y].join() && isUnscaled(grid);
}

/** Arguments of gdal_translate for a window on the raster's own grid. */
function cropArguments(grid: Grid, method: Resampling): string[] {
  const { window, width, height } = grid;
  const cut = ['-srcwin', ...window!.map(String)];
  if (isUnscaled(grid)) return cut;
  return [...cut, '-outsize', String(width), String(height), '-r', gdalName(method)];
}

function isUnscaled({ window, width, height }: Grid): boolean {
  return window![2] === width && window![3] === height;
}

function gdalName(method: Resampling): string {
  return method === 'nearest' ? 'near' : method;
}

/** Where raw pixels go: to a file when something must read them by name, or when they are many. */
function outputArguments(output: string | null): string[] {
  return output === null
    ? ['-of', 'MEM']
    : ['-of', 'GTiff', '-co', 'BIGTIFF=IF_SAFER', '-co', 'INTERLEAVE=BAND', '-co', 'TILED=YES'];
}

function crop(view: Dataset, grid: Grid, method: Resampling, output: string | null): Promise<Dataset> {
  return gdal.translateAsync(output ?? '', view, [
    ...outputArguments(output),
    ...cropArguments(grid, method),
  ]);
}

async function warp(
  view: Dataset,
  grid: Grid,
  method: Resampling,
  output: string | null,
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
        ...['-r', gdalName(method), '-ovr', 'AUTO', '-et', '0.125'],
        ...(saysWhatIsValid(source) || isCovered(source, grid) ? [] : ['-dstalpha']),
      ],
    );
  } catch (error) {
    throw warpFailure(error);
  }
}

/** The raster at another size, made as it is read. */
function scaled(view: Dataset, [width, height]: [number, number], method: Resampling): Promise<Dataset> {
  const size = ['-outsize', String(width), String(height)];
  return gdal.translateAsync('', view, ['-of', 'VRT', ...size, '-r', gdalName(method)]);
}

function saysWhatIsValid(raster: Dataset): boolean {
  const bands = Array.from({ length: raster.bands.count() }, (_, index) => raster.bands.get(index + 1));
  return (
    bands.some(({ noDataValue }) => noDataValue !== null) || bands.at(-1)!.colorInterpretation === 'Alpha'
  );
}

/** The bands asked for; what the warper added as transparency becomes a mask, unless everything is valid. */
async function validBands(pixels: Dataset, count: number): Promise<string[]> {
  if (pixels.bands.count() === count) return [];
  const added = pixels.bands.get(count + 1);
  const { min } = await added.computeStatisticsAsync(false);
  const bands = Array.from({ length: count }, (_, index) => ['-b', String(index + 1)]).flat();
  return min > 0 ? bands : [...bands, '-mask', String(count + 1)];
}
