import { rmSync } from 'node:fs';
import type { TileLayer, VectorTileTask } from '../../../core/tasks/vector-tasks.js';
import { TILE_LIMITS } from '../../../core/tiles/limits.js';
import Database from '../../../native/sqlite.js';
import type { EncodedLayer } from '../../providers/feature-store.js';
import { statement } from '../../providers/geopackage/connection.js';
import { tileLayer } from '../../providers/geopackage/tile.js';
import {
  findOverview,
  levelLayer,
  type Overview,
  type OverviewLevel,
  overviewPath,
} from '../../providers/overviews/file.js';
import { tileWindow } from '../../providers/window.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { CELLS_PER_TILE } from './build.js';
import { follow } from './follow.js';
import { computeTileResolution } from './resolution.js';

const DAMAGED = /^SQLITE_(CORRUPT|NOTADB|IOERR)/;

/** Layer of a tile from an overview. */
export interface OverviewLayer extends EncodedLayer {
  /** Whether the overview no longer matches the table and must be rebuilt. */
  stale: boolean;
}

/**
 * Returns a layer from the overview of its table. Undefined if the table itself must be read: there is no overview,
 * the tile is finer than its levels, or rows are filtered. Also undefined if the overview can no longer follow the
 * changes of the table.
 */
export async function fromOverview(
  task: VectorTileTask,
  layer: TileLayer,
  cancellation?: Cancellation,
): Promise<OverviewLayer | undefined> {
  if (layer.filter !== undefined) return undefined;
  try {
    return await read(task, layer, cancellation);
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || !DAMAGED.test(error.code)) throw error;
    // The system crashed while the file was written. No data is lost.
    rmSync(overviewPath(layer.source, layer.version!)!, { force: true });
    return undefined;
  }
}

async function read(
  task: VectorTileTask,
  layer: TileLayer,
  cancellation?: Cancellation,
): Promise<OverviewLayer | undefined> {
  const overview = findOverview(layer);
  const level = overview && chooseLevel(overview, layer, task);
  if (!overview || !level) return undefined;
  const followed = await follow(overview, layer, cancellation);
  if (followed === 'lost') return undefined;
  const { path } = overview;
  const encoded = tileLayer(task, levelLayer(layer, path, level.level));
  const dropped = encoded.dropped + leftOut(overview, level, tileWindow(layer.source, task));
  return { ...encoded, dropped, stale: followed === 'stale' };
}

/** The coarsest level that shows all that the tile can show. */
function chooseLevel(overview: Overview, layer: TileLayer, task: VectorTileTask): OverviewLevel | undefined {
  if (overview.levels.length === 0) return undefined;
  const resolution = computeTileResolution(layer.source.crs, task);
  return resolution === undefined ? undefined : overview.levels.find((one) => one.resolution <= resolution);
}

/** Returns the number of features in a window that the level omits. */
function leftOut(
  { path, minx, miny, side }: Overview,
  { level }: OverviewLevel,
  window: readonly [number, number, number, number],
): number {
  const cells = CELLS_PER_TILE * 2 ** level;
  const cell = (value: number, low: number) => Math.floor(((value - low) / side) * cells);
  const sql = `SELECT total(features) FROM graticule_left_out
    WHERE level = ? AND x BETWEEN ? AND ? AND y BETWEEN ? AND ?`;
  return statement(path, sql)
    .pluck()
    .get(
      level,
      cell(window[0], minx),
      cell(window[2], minx),
      cell(window[1], miny),
      cell(window[3], miny),
    ) as number;
}

/** Whether a layer was so much to read that an overview of its table is worth its while. */
export function deservesOverview(layer: TileLayer, encoded: EncodedLayer): boolean {
  return layer.version !== undefined && layer.filter === undefined && encoded.work > TILE_LIMITS.tileWork;
}
