import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { GriddedRaster, RasterInfo, RasterLayers } from '../../../core/rasters/rasters.js';
import { isRemote } from '../../../core/sources/sources.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { type FoundObject, findLocal, type ObjectPlace, type UrlOf } from '../../storage/places.js';
import { INSPECT_DEADLINE_MS } from '../publish/source.js';
import { convertRasterError } from './registered-rasters.js';

/** Result of the scan of a multidimensional file or store. */
export interface GridScan {
  /** Empty when there is no reader for it. */
  parts: RasterInfo[];
  /** Names of the variables of the grid that is published, and how many there are on all grids. */
  variables: string[];
  variableCount: number;
  problems: string[];
}

/** Result for a file or store without a reader. */
export const NOT_READ: GridScan = { parts: [], variables: [], variableCount: 0, problems: [] };

export interface GridDeps {
  pools: Pools;
  urlOf: UrlOf;
  /** Published folders, which a Local registration can name. */
  folders(): readonly string[];
}

/** Finds a file or store. Throws as `findLocal` does, and `invalid-request` for a bucket that does not have a URL. */
export async function findObject(
  { provider, bucket, key: stated }: ObjectPlace,
  { folders, urlOf }: GridDeps,
): Promise<FoundObject> {
  // A store is a folder.
  const key = stated.replace(/\/$/, '');
  if (provider === 'Local') return findLocal(folders(), { bucket, key });
  return { path: urlOf(provider, bucket, key), container: urlOf(provider, bucket, '') };
}

/**
 * Reads the variables, and the grid that contains the requested ones (default: all of the first grid). Throws
 * `invalid-request` for unreadable data, and for variables that do not exist or are on different grids.
 */
export async function scanGrid(
  path: string,
  names: readonly string[],
  { pools }: GridDeps,
): Promise<GridScan> {
  try {
    const options = { deadlineMs: INSPECT_DEADLINE_MS };
    const layers = await pools.run('raster.layers', { path }, options);
    const source = gridSource(layers, names);
    const raster = await pools.run('raster.inspect', { source }, options);
    return {
      parts: [raster],
      variables: source.variables,
      variableCount: listGrids(layers).reduce((sum, { variables }) => sum + variables.length, 0),
      problems: layers.problems.map(({ layer, reason }) => `${layer}: ${reason}`),
    };
  } catch (error) {
    // Grids are read from files; a reader for those in buckets would take the URL.
    if (isRemote(path) && error instanceof TaskFailure && error.code === 'invalid-input') return NOT_READ;
    throw convertRasterError(error);
  }
}

const listGrids = ({ layers }: RasterLayers): GriddedRaster[] =>
  layers.map(({ source }) => source).filter((source) => source.kind === 'gridded');

function gridSource(layers: RasterLayers, names: readonly string[]): GriddedRaster {
  const grids = listGrids(layers);
  const [first] = grids;
  if (!first)
    throw new ApiError('invalid-request', layers.problems[0]?.reason ?? 'The file has no gridded variable.');
  if (names.length === 0) return first;
  const missing = names.find((name) => !grids.some(({ variables }) => variables.includes(name)));
  if (missing !== undefined)
    throw new ApiError(
      'invalid-request',
      `variables: there is no gridded variable '${missing.slice(0, 100)}'.`,
    );
  const grid = grids.find(({ variables }) => names.every((name) => variables.includes(name)));
  if (!grid)
    throw new ApiError(
      'invalid-request',
      'variables: are on different grids. Register each grid separately.',
    );
  return { ...grid, variables: [...names] };
}
