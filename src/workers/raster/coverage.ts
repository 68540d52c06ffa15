/** Task `raster.coverage`. */

import type { CoverageResult, CoverageTask } from '../../core/rasters.js';
import { type Box, TaskFailure } from '../../core/tasks.js';
import type { Cancellation } from '../cancellation.js';
import { type Crs, checkedBox, crsOf, intersection, sameCrs, transformBox } from './crs.js';
import { encodeImage, MEDIA_TYPES } from './encode.js';
import { type Dataset, gdal, scratchPath } from './gdal.js';
import { type Georeference, georeferenceOf } from './georeference.js';
import { type RasterHandle, withRaster } from './handles.js';
import { checkSize } from './image.js';
import { renderingOf } from './palette.js';
import { readPicture } from './picture.js';
import { warpFailure } from './warp.js';

const MAX_BANDS = 256;
/** Fraction of a pixel within which an edge counts as lying on the grid. */
const SNAP = 1e-6;

/** What will be read and written. */
interface Plan {
  bands: number[];
  crs: Crs;
  /** Output box in `crs`. */
  box: Box;
  width: number;
  height: number;
  /** Pixel window of the source (column, row, columns, rows) when no reprojection is needed. */
  source?: [number, number, number, number];
}

/**
 * Values of a window of the raster. The window is cut to the raster's extent; `no-data` when nothing is left.
 * Fails with `too-large` before anything is read.
 */
export function coverage(task: CoverageTask, cancellation: Cancellation): Promise<CoverageResult> {
  if (task.format !== 'geotiff' && task.format !== 'png')
    throw new TaskFailure('invalid-input', 'Unknown coverage format.');
  return withRaster(
    task.source,
    async (handle) => {
      const plan = await planOf(task, handle);
      const data =
        task.format === 'png'
          ? await writePng(handle, plan, task.bands, cancellation)
          : await writeGeoTiff(handle, plan, cancellation);
      const { width, height, box } = plan;
      return {
        data,
        mediaType: task.format === 'png' ? MEDIA_TYPES.png : MEDIA_TYPES.tiff,
        width,
        height,
        bbox: box,
      };
    },
    task.at,
  );
}

async function planOf(task: CoverageTask, handle: RasterHandle): Promise<Plan> {
  const { dataset } = handle;
  const bands = checkedBands(task.bands, dataset.bands.count());
  const place = georeferenceOf(dataset);
  const crs = crsOf(task.crs);
  const wanted = task.bbox ? windowIn(crs, checkedBox(task.bbox), crsOf(task.bboxCrs ?? task.crs)) : null;
  const plan =
    sameCrs(crs, place.crs) && place.northUp
      ? cropPlan(task, dataset, place, wanted)
      : await warpPlan(task, dataset, place, crs, wanted);
  checkSize(plan.width, plan.height, task.maxSize);
  return { bands, crs, ...plan };
}

function checkedBands(bands: number[] | undefined, count: number): number[] {
  const numbers = bands ?? Array.from({ length: count }, (_, index) => index + 1);
  if (numbers.length === 0 || numbers.length > MAX_BANDS)
    throw new TaskFailure('invalid-input', 'Unusable number of bands.');
  for (const band of numbers) {
    if (!Number.isInteger(band) || band < 1 || band > count) {
      throw new TaskFailure('invalid-input', `There is no band ${band}: the raster has ${count}.`);
    }
  }
  return numbers;
}

function windowIn(crs: Crs, box: Box, boxCrs: Crs): Box {
  const moved = transformBox(box, boxCrs, crs);
  if (!moved)
    throw new TaskFailure('invalid-input', 'The bounding box has no place in the output reference system.');
  return moved;
}

function noData(): TaskFailure {
  return new TaskFailure('no-data', 'The bounding box does not touch the coverage.');
}

type Size = [number, number] | undefined;

/** A window on the raster's own grid: whole pixels, unless the request fixes the output size. */
function cropPlan(
  task: CoverageTask,
  dataset: Dataset,
  place: Georeference,
  wanted: Box | null,
): Omit<Plan, 'bands' | 'crs'> {
  const [x0, dx, , y0, , dy] = place.geoTransform;
  const { x: columns, y: rows } = dataset.rasterSize;
  const box = wanted ? intersection(wanted, place.extent) : place.extent;
  if (!box) throw noData();
  let [left, top, right, bottom] = [
    (box[0] - x0) / dx,
    (box[3] - y0) / dy,
    (box[2] - x0) / dx,
    (box[1] - y0) / dy,
  ];
  if (!task.size) {
    left = Math.max(0, Math.floor(left + SNAP));
    top = Math.max(0, Math.floor(top + SNAP));
    right = Math.min(columns, Math.max(left + 1, Math.ceil(right - SNAP)));
    bottom = Math.min(rows, Math.max(top + 1, Math.ceil(bottom - SNAP)));
  }
  const [width, height] = (task.size as Size) ?? [right - left, bottom - top];
  return {
    box: [x0 + left * dx, y0 + bottom * dy, x0 + right * dx, y0 + top * dy],
    width,
    height,
    source: [left, top, right - left, bottom - top],
  };
}

/** A window in another CRS; without a size its pixels are as large as GDAL suggests for the whole raster. */
async function warpPlan(
  task: CoverageTask,
  dataset: Dataset,
  place: Georeference,
  crs: Crs,
  wanted: Box | null,
): Promise<Omit<Plan, 'bands' | 'crs'>> {
  const whole = transformBox(place.extent, place.crs, crs);
  if (!whole)
    throw new TaskFailure('invalid-input', 'The coverage has no place in the output reference system.');
  const box = wanted ? intersection(wanted, whole) : whole;
  if (!box) throw noData();
  if (task.size) return { box, width: task.size[0], height: task.size[1] };
  try {
    const suggested = await gdal.suggestedWarpOutputAsync({
      src: dataset,
      s_srs: place.crs.srs,
      t_srs: crs.srs,
    });
    const step = Math.abs(suggested.geoTransform[1]!);
    return { box, width: pixels(box[2] - box[0], step), height: pixels(box[3] - box[1], step) };
  } catch (error) {
    throw warpFailure(error);
  }
}

function pixels(length: number, step: number): number {
  return Math.max(1, Math.round(length / step));
}

async function writeGeoTiff(
  handle: RasterHandle,
  plan: Plan,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const view = await handle.bands(plan.bands);
  cancellation.check();
  if (plan.source) return translateToGeoTiff(view, [...cropArguments(handle, plan)]);
  const warped = await warpToMemory(handle, view, plan);
  try {
    cancellation.check();
    return await translateToGeoTiff(warped, []);
  } finally {
    warped.close();
  }
}

function cropArguments(handle: RasterHandle, plan: Plan): string[] {
  const source = plan.source!;
  const window = ['-srcwin', ...source.map(String)];
  if (plan.width === source[2] && plan.height === source[3]) return window;
  return [
    ...window,
    '-outsize',
    String(plan.width),
    String(plan.height),
    '-r',
    resamplingOf(handle, plan.bands),
  ];
}

/** Values of a palette are names, so that only whole ones can be taken. */
function resamplingOf(handle: RasterHandle, bands: number[]): string {
  return bands.some((band) => handle.dataset.bands.get(band).colorTable) ? 'near' : 'bilinear';
}

async function warpToMemory(handle: RasterHandle, view: Dataset, plan: Plan): Promise<Dataset> {
  try {
    return await gdal.warpAsync(
      'coverage',
      null,
      [view],
      [
        ...['-of', 'MEM', '-t_srs', plan.crs.text],
        ...['-te', ...plan.box.map(String)],
        ...['-ts', String(plan.width), String(plan.height)],
        ...['-r', resamplingOf(handle, plan.bands), '-ovr', 'AUTO', '-et', '0.125'],
      ],
    );
  } catch (error) {
    throw warpFailure(error);
  }
}

/** Writes a cloud optimized GeoTIFF in memory; nodata, colour table, descriptions and units of the bands are kept. */
async function translateToGeoTiff(source: Dataset, selection: string[]): Promise<Uint8Array> {
  const path = scratchPath('.tif');
  const layout = ['COMPRESS=DEFLATE', 'PREDICTOR=YES', 'OVERVIEWS=NONE', 'BIGTIFF=IF_SAFER'];
  try {
    const written = await gdal.translateAsync(path, source, [
      ...['-of', 'COG', ...layout.flatMap((option) => ['-co', option])],
      ...selection,
    ]);
    written.close();
    return gdal.vsimem.release(path);
  } catch (error) {
    discard(path);
    throw error;
  }
}

function discard(path: string): void {
  try {
    gdal.vsimem.release(path);
  } catch {
    // It was never created.
  }
}

async function writePng(
  handle: RasterHandle,
  plan: Plan,
  selection: number[] | undefined,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const { box, crs, width, height } = plan;
  const rendering = await renderingOf(handle, selection);
  const rgba = await readPicture(handle, rendering, { box, crs, width, height }, cancellation);
  cancellation.check();
  return encodeImage({ rgba, width, height }, 'png', { box, crs: crs.text });
}
