import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A cloud optimized scene of so many pixels on a side, and a FlatGeobuf of 20 countries, as object stores hold them. */
export function sampleObjects(folder: string, side: number): { scene: Buffer; roads: Buffer } {
  const scene = join(folder, 'cog.tif');
  const size = ['-outsize', String(side), String(side), '-co', 'BLOCKSIZE=128'];
  execFileSync('gdal_translate', ['-q', '-of', 'COG', ...size, 'demo/data/L7_ETMs.tif', scene]);
  const roads = join(folder, 'roads.fgb');
  const table = ['demo/data/world_map.gpkg', 'countries'];
  execFileSync('ogr2ogr', ['-f', 'FlatGeobuf', '-limit', '20', roads, ...table]);
  return { scene: readFileSync(scene), roads: readFileSync(roads) };
}
