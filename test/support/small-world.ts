import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { RUN_VARIABLE } from './run.js';

/**
 * The world of the demo with a seventh of its positions, as `world_map.gpkg` in this folder: for browsers that draw
 * without a graphics card, where every triangle takes its time. The first file of a run makes it, others copy it.
 */
export function smallWorld(
  folder: string,
  layers = ['states_provinces', 'countries', 'disputed_borders'],
): string {
  const template = join(process.env[RUN_VARIABLE]!, `world-${layers.join('-')}.gpkg`);
  const file = join(folder, 'world_map.gpkg');
  if (!existsSync(template)) {
    makeSmallWorld(file, layers);
    // Complete when it is there.
    copyFileSync(file, `${template}.${process.pid}`);
    renameSync(`${template}.${process.pid}`, template);
  } else copyFileSync(template, file);
  return file;
}

function makeSmallWorld(file: string, layers: string[]): void {
  execFileSync('ogr2ogr', [
    ...['-f', 'GPKG', file, 'demo/data/world_map.gpkg'],
    ...['-simplify', '0.2', '-skipfailures', '-nlt', 'PROMOTE_TO_MULTI'],
    ...layers,
  ]);
}
