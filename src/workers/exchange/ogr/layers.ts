/** Task `raster.layers`. */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { RasterLayers } from '../../../core/rasters/rasters.js';
import { TILE_INDEX } from '../../../core/sources/sources.js';
import type { TaskInput } from '../../../core/tasks/tasks.js';
import { gridLayout } from '../../rasters/sources/gridded/open.js';
import { tileIndex } from './tile-index.js';

/** Returns the rasters of a file or folder that can contain several: the mosaic of a tile index, grids. */
export async function listRasterLayers({ path }: TaskInput<'raster.layers'>): Promise<RasterLayers> {
  return TILE_INDEX.test(path) ? tileIndex(path) : grids(path);
}

async function grids(path: string): Promise<RasterLayers> {
  const { grids, problems } = await gridLayout(path);
  if (grids.length + problems.length === 0)
    throw new TaskFailure('source-unreadable', 'The source has no variable with two or more axes.');
  return {
    layers: grids.map(({ variables }) => ({
      ...(grids.length > 1 && { name: variables[0]!.name.replaceAll('/', '_') }),
      source: { kind: 'gridded', path, variables: variables.map(({ name }) => name) },
    })),
    problems: problems.map(({ variable, reason }) => ({ layer: variable, reason })),
  };
}
