/** Container formats of gridded data, and GDAL dataset names of their variables and slices. */

import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { plainFile, plainFolder } from '../../../gdal/gdal.js';
import { stampText } from '../file.js';

/** A container format. It puts the slice of a variable either into the dataset name or into the band number. */
export interface GridFormat {
  title: string;
  driver: string;
  /** Name of the complete file for GDAL's multidimensional interface. */
  rootName(path: string): string;
  /** Name of the dataset with a slice. `slice` has the indices of the axes before y and x. */
  sliceName(path: string, variable: string, slice: readonly number[]): string;
  /** Band of the slice in the dataset that `sliceName` names. `sizes` are the lengths of the axes. */
  sliceBand(slice: readonly number[], sizes: readonly number[]): number;
}

/** All netCDF versions, and HDF5 files that GDAL's netCDF driver reads. The driver returns rows from north to south. */
const NETCDF: GridFormat = {
  title: 'netCDF or HDF5 file',
  driver: 'netCDF',
  rootName: (path) => `NETCDF:"${path}"`,
  sliceName: (path, variable) => `NETCDF:"${path}":${variable.includes('/') ? `/${variable}` : variable}`,
  sliceBand: (slice, sizes) => slice.reduce((band, index, axis) => band * sizes[axis]! + index, 0) + 1,
};

const ZARR: GridFormat = {
  title: 'Zarr store of version 2',
  driver: 'Zarr',
  rootName: (path) => `ZARR:"${path}"`,
  sliceName: (path, variable, slice) => `ZARR:"${path}":/${[variable, ...slice].join(':')}`,
  sliceBand: () => 1,
};

/**
 * Returns the container format of a file or folder, and a stamp that changes when its data changes. Fails with
 * `invalid-input`, `source-missing` or `source-unreadable`.
 */
export async function detectGridFormat(path: string): Promise<{ format: GridFormat; stamp: string }> {
  if (path.includes('"')) throw new TaskFailure('source-unreadable', 'Paths with quotes are not supported.');
  if (/\.zarr\/?$/i.test(path)) return { format: ZARR, stamp: await zarrStamp(path) };
  const stamp = stampText(await plainFile(path));
  const magic = await firstBytes(path, 8);
  const isGrid = magic.startsWith('CDF') || magic === '\x89HDF\r\n\x1a\n';
  if (!isGrid)
    throw new TaskFailure(
      'source-unreadable',
      'The file is neither netCDF nor HDF5. Copy it again, or give it the extension of its format.',
    );
  return { format: NETCDF, stamp };
}

async function firstBytes(path: string, count: number): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * A stamp of the metadata and the root folder of a store. Assumes that writers change one of them whenever they change
 * data: a full scan of all chunks would be too slow.
 */
async function zarrStamp(path: string): Promise<string> {
  await plainFolder(path);
  // The empty name is the folder itself.
  const names = ['', '.zmetadata', '.zgroup'];
  const stats = await Promise.all(names.map((name) => stat(join(path, name)).catch(() => undefined)));
  return stats.map((stat) => (stat ? stampText(stat) : '-')).join(' ');
}
