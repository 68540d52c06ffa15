/** Task `raster.layers`. */

import { extname } from 'node:path';
import type { RasterLayers } from '../../core/rasters.js';
import { TaskFailure, type TaskInput } from '../../core/tasks.js';
import { gdal, plainFile, unreadable } from './gdal.js';
import { gridLayout } from './sources/gridded/open.js';
import { TILE_INDEX, tileIndex } from './tile-index.js';

/** Lists the rasters of a file or folder that may hold several: tables of tiles, grids. */
export async function layers({ path }: TaskInput<'raster.layers'>): Promise<RasterLayers> {
  if (TILE_INDEX.test(path)) return tileIndex(path);
  return extname(path).toLowerCase() === '.gpkg' ? tileTables(path) : grids(path);
}

async function tileTables(path: string): Promise<RasterLayers> {
  await plainFile(path);
  // A file of several tables has no bands of its own.
  const dataset = await gdal.openAsync(path, 'r', ['GPKG']).catch((error: unknown) => {
    throw unreadable('The file is not a GeoPackage, or is damaged.', error);
  });
  try {
    const names = Object.entries(dataset.getMetadata('SUBDATASETS') as Record<string, string>)
      .filter(([key]) => key.endsWith('_NAME'))
      .map(([, name]) => name.slice(`GPKG:${path}:`.length));
    // A single table is not listed: it is what the file itself opens as.
    if (names.length === 0 && dataset.bands.count() === 0)
      throw new TaskFailure('source-unreadable', 'The file has no table of tiles.');
    if (names.length === 0) return { layers: [{ source: { kind: 'file', path } }], problems: [] };
    return {
      layers: names.map((table) => ({ name: table, source: { kind: 'file', path, table } })),
      problems: [],
    };
  } finally {
    dataset.close();
  }
}

async function grids(path: string): Promise<RasterLayers> {
  const { grids, problems } = await gridLayout(path);
  if (grids.length + problems.length === 0)
    throw new TaskFailure('source-unreadable', 'The source holds no variable on a regular grid.');
  return {
    layers: grids.map(({ variables }) => ({
      ...(grids.length > 1 && { name: variables[0]!.name.replaceAll('/', '_') }),
      source: { kind: 'gridded', path, variables: variables.map(({ name }) => name) },
    })),
    problems: problems.map(({ variable, reason }) => ({ layer: variable, reason })),
  };
}
