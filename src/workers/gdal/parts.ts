/** Names of the files that a translation writes: without GDAL, which the process that starts translations never loads. */

import { rm } from 'node:fs/promises';
import { extname } from 'node:path';

/**
 * Returns the path of the incomplete file of a translation. It contains the id of the process, so that a second
 * attempt never meets the remains of the first.
 */
export function partPath(output: string, pid: number): string {
  return `${output}.part-${pid}${extname(output)}`;
}

/** A copy that is only read to write the part. */
export function copyPath(part: string): string {
  return `${part}${COPY}`;
}
const COPY = '.copy.gpkg';

/** The same of a raster. */
export function rasterCopyPath(part: string): string {
  return `${part}${RASTER_COPY}`;
}
const RASTER_COPY = '.copy.tif';

/** The same of a raster whose integers are split into two bands. */
export function splitPath(part: string): string {
  return `${part}${SPLIT}`;
}
const SPLIT = '.split.tif';

/** Removes the file or folder and the additional files that SQLite or the COG driver created. */
export async function removePart(part: string): Promise<void> {
  const suffixes = [
    '',
    '-journal',
    '-wal',
    '-shm',
    '.ovr.tmp',
    '.msk.tmp',
    '.msk.ovr.tmp',
    COPY,
    RASTER_COPY,
    SPLIT,
  ];
  await Promise.all(
    suffixes.map((suffix) => rm(part + suffix, { force: true, recursive: true }).catch(() => {})),
  );
}
