/** Open read-only raster datasets, kept for the next task. */

import type { RasterSource } from '../../core/rasters.js';
import { TaskFailure } from '../../core/tasks.js';
import { type Dataset, type FileStamp, gdal, openRaster, plainFile, unreadable } from './gdal.js';

/** Idle handles on one file: GDAL runs one call at a time per dataset, so each of the parallel tasks needs its own. */
const IDLE_PER_FILE = 8;
const IDLE_TOTAL = 64;

/** One open dataset, used by one task at a time. */
export class RasterHandle {
  readonly #views = new Map<string, Dataset>();

  constructor(
    readonly path: string,
    readonly stamp: FileStamp,
    readonly dataset: Dataset,
  ) {}

  /**
   * The dataset with only these 1-based bands, in this order. It reads through the handle's dataset, overviews
   * included, and lives as long as the handle.
   */
  async bands(numbers: readonly number[]): Promise<Dataset> {
    const count = this.dataset.bands.count();
    if (numbers.length === count && numbers.every((band, index) => band === index + 1)) return this.dataset;
    const key = numbers.join(',');
    const known = this.#views.get(key);
    if (known) return known;
    const selection = numbers.flatMap((band) => ['-b', String(band)]);
    const view = await gdal.translateAsync('', this.dataset, ['-of', 'VRT', ...selection]);
    this.#views.set(key, view);
    return view;
  }

  close(): void {
    // Views first: they read from the dataset, and GDAL crashes at exit when they outlive it.
    this.closeViews();
    this.dataset.close();
  }

  closeViews(): void {
    for (const view of this.#views.values()) view.close();
    this.#views.clear();
  }
}

/** Least recently used handles are at the front. */
const idle: RasterHandle[] = [];

/**
 * Runs `use` with a handle that no other task uses meanwhile. A handle whose file was replaced is reopened.
 * Errors of GDAL that `use` lets through become `source-unreadable`.
 */
export async function withRaster<T>(
  source: RasterSource,
  use: (handle: RasterHandle) => Promise<T>,
): Promise<T> {
  if (source.kind !== 'file') throw new TaskFailure('invalid-input', 'Rasters of this kind are not read.');
  const { path } = source;
  const stamp = await plainFile(path);
  const handle = takeIdle(path, stamp) ?? new RasterHandle(path, stamp, await openRaster(path));
  try {
    const result = await use(handle);
    giveBack(handle);
    return result;
  } catch (error) {
    // After a failed read the driver's state is not to be trusted, and a file that misses something may get it (a world file).
    const usable = error instanceof TaskFailure && error.code !== 'source-unreadable';
    if (usable) giveBack(handle);
    else handle.close();
    throw unreadable('The raster could not be read: the file is damaged or incomplete.', error);
  }
}

function takeIdle(path: string, stamp: FileStamp): RasterHandle | undefined {
  for (let index = idle.length - 1; index >= 0; index--) {
    const handle = idle[index]!;
    if (handle.path !== path) continue;
    idle.splice(index, 1);
    if (handle.stamp.size === stamp.size && handle.stamp.mtimeMs === stamp.mtimeMs) return handle;
    handle.close();
  }
  return undefined;
}

function giveBack(handle: RasterHandle): void {
  const sameFile = idle.filter((other) => other.path === handle.path).length;
  if (sameFile >= IDLE_PER_FILE) {
    handle.close();
    return;
  }
  idle.push(handle);
  if (idle.length > IDLE_TOTAL) idle.shift()!.close();
}

/** Closes what no task uses; to be called when no more tasks come, because GDAL crashes at exit over open views. */
export function closeIdleRasters(): void {
  for (const handle of idle.splice(0)) handle.close();
}
