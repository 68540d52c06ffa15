/**
 * Only module that loads and configures GDAL. Only one thread of a process can load gdal-async, once: import this
 * file only from that thread.
 */

import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Dataset } from 'gdal-async';
import { TaskFailure } from '../../core/errors/failure.js';
import { storageFailure } from '../../core/errors/storage-faults.js';
import type { Resampling } from '../../core/rasters/rasters.js';
import { requirePlainPath } from '../files/plain-path.js';
import gdal from './gdal-library.js';
import { requireNear, requireShape } from './shape.js';
import { requireOwnSidecars, requirePlainPrj } from './sidecars.js';
import { findRasterFault } from './unreadable-raster.js';

const CONFIGURATION: Record<string, string> = {
  // Parallelism comes from several parallel tasks.
  GDAL_NUM_THREADS: '1',
  // Megabytes shared by all open datasets; the default, 5 % of the machine, would outgrow the engine's RSS cap.
  GDAL_CACHEMAX: '256',
  // No file may make GDAL use the network. All its requests go through a proxy, which initially does not exist. The
  // HTTP file system opens only files that the proxy of sources/remote serves. A GML file can name a schema that GDAL
  // would request from any host.
  GML_DOWNLOAD_WFS_SCHEMA: 'NO',
  CPL_VSIL_CURL_ALLOWED_EXTENSIONS: '.remote',
  GDAL_HTTP_PROXY: 'http://127.0.0.1:9',
  GDAL_HTTPS_PROXY: 'http://127.0.0.1:9',
  GDAL_HTTP_CONNECTTIMEOUT: '5',
  GDAL_HTTP_TIMEOUT: '30',
  GDAL_HTTP_MAX_RETRY: '0',
  PROJ_NETWORK: 'OFF',
  // Sources of virtual rasters are opened for each handle, so that two tasks never share a dataset.
  VRT_SHARED_SOURCE: '0',
  GML_DOWNLOAD_SCHEMA: 'NO',
  GML_SKIP_RESOLVE_ELEMS: 'ALL',
};
for (const [name, value] of Object.entries(CONFIGURATION)) gdal.config.set(name, value);

/** Raster formats that are pure data: none of them names another file or a server to read from. */
const RASTER_DRIVERS = [
  'GTiff',
  'PNG',
  'JPEG',
  'JP2OpenJPEG',
  'GPKG',
  'HFA',
  'AAIGrid',
  'SRTMHGT',
  'DTED',
  'WEBP',
  'GIF',
];

/** State of a file when it was checked. A changed stamp means that handles of the file are stale. */
export interface FileStamp {
  size: number;
  mtimeMs: number;
}

/**
 * Checks that a path names a plain local file, so that GDAL cannot take it for a connection string.
 * Fails with `invalid-input` or `source-missing`.
 */
export async function plainFile(path: string): Promise<FileStamp> {
  const stat = await statLocal(path);
  if (!stat.isFile()) throw new TaskFailure('invalid-input', 'The source is not a file.');
  if (stat.size === 0)
    throw new TaskFailure('source-unreadable', 'The file is empty (0 bytes). Copy or export it again.');
  return { size: stat.size, mtimeMs: stat.mtimeMs };
}

/** Checks that a path names a plain local folder. Fails as `plainFile` does. */
export async function plainFolder(path: string): Promise<void> {
  if (!(await statLocal(path)).isDirectory())
    throw new TaskFailure('invalid-input', 'The source is not a folder.');
}

async function statLocal(path: string): Promise<Stats> {
  if (typeof path !== 'string' || !isAbsolute(path) || /^\/+vsi/i.test(path) || path.includes('\0')) {
    throw new TaskFailure('invalid-input', 'The source is not an absolute path of a local file.');
  }
  requirePlainPath(path);
  try {
    return await stat(path);
  } catch (error) {
    throw new TaskFailure(
      'source-missing',
      'The source file does not exist or cannot be reached.',
      String(error),
    );
  }
}

/** Failure for a GDAL error during a read. The message describes the file, but can contain paths of the server. */
export function unreadable(what: string, error: unknown): TaskFailure {
  const failure = error instanceof TaskFailure ? error : storageFailure(error);
  if (failure) return failure;
  return new TaskFailure('source-unreadable', what, error instanceof Error ? error.message : String(error));
}

async function describeUnreadableRaster(path: string, error: unknown): Promise<TaskFailure> {
  const fault = await findRasterFault(path).catch(() => undefined);
  return unreadable(
    fault ?? 'The file is not a raster of a supported format, or is damaged. Export it again as GeoTIFF.',
    error,
  );
}

/**
 * Opens a file read-only with the first of these drivers that takes it. gdal-async would try them side by side, and any
 * that takes it could win.
 */
export async function openWith(path: string, drivers: readonly string[]): Promise<Dataset> {
  let failure: unknown;
  for (const driver of drivers) {
    try {
      return await gdal.openAsync(path, 'r', [driver]);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** GDAL's GMF_ALL_VALID: neither nodata nor mask nor alpha. */
export const ALL_VALID = 1;
/** GDAL's GMF_PER_DATASET without other flags: a mask of all bands. */
export const BY_MASK = 2;
/** GDAL's GMF_PER_DATASET and GMF_ALPHA: an alpha band. */
export const BY_ALPHA = 6;
/** GDAL's GMF_NODATA without other flags: the band's nodata value defines the mask. */
export const BY_NODATA = 8;

/** GDAL's name of a way to find values between pixels. */
export function resamplingName(resampling: Resampling): string {
  return resampling === 'nearest' ? 'near' : resampling;
}

/** GDAL's name of a raster file, or of a table in it. */
export function rasterName(path: string, table?: string): string {
  return table === undefined ? path : `GPKG:"${path}":"${table}"`;
}

/** Opens a raster file read-only with the allowed formats only; of a GeoPackage the table of tiles, or the first one. */
export async function openRaster(path: string, table?: string): Promise<Dataset> {
  if (table !== undefined && `${path}${table}`.includes('"'))
    throw new TaskFailure('source-unreadable', 'Names with quotes are not supported.');
  await requireOwnSidecars(path);
  if (/\.asc$/i.test(path)) await requirePlainPrj(path);
  let dataset: Dataset;
  try {
    dataset =
      table === undefined
        ? await openWith(path, RASTER_DRIVERS)
        : await gdal.openAsync(rasterName(path, table), 'r', ['GPKG']);
  } catch (error) {
    throw await describeUnreadableRaster(path, error);
  }
  return table === undefined ? requireNear(requireShape(dataset), path) : requireShape(dataset);
}

let scratchCount = 0;

/** A fresh name in GDAL's in-memory file system. */
export function scratchPath(extension: string): string {
  scratchCount += 1;
  return `/vsimem/scratch-${process.pid}-${scratchCount}${extension}`;
}

export type { Dataset };
export { gdal };
