import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * The world of the demo with a seventh of its positions, as `world_map.gpkg` in this folder: for browsers that draw
 * without a graphics card, where every triangle takes its time.
 */
export function smallWorld(
  folder: string,
  layers = ['states_provinces', 'countries', 'disputed_borders'],
): string {
  const file = join(folder, 'world_map.gpkg');
  execFileSync('ogr2ogr', [
    ...['-f', 'GPKG', file, 'demo/data/world_map.gpkg'],
    ...['-simplify', '0.2', '-skipfailures', '-nlt', 'PROMOTE_TO_MULTI'],
    ...layers,
  ]);
  return file;
}
