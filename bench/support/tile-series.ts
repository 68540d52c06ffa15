import { resolve } from 'node:path';
import type { Box } from '../../src/core/geometry/box.js';
import type { VectorSource } from '../../src/core/sources/vector-source.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { vectorTile } from '../../src/workers/tiles/tile.js';
import { buildings, tilesInside } from './buildings.js';
import { PLACES_ORIGIN, places, tileOver } from './places.js';
import { timeZones } from './time-zones.js';

/** Tiles of six collections, which encodings of vector tiles are compared by. */
const HALF_WORLD = 20037508.342789244;
const WORLD_MAP = resolve('demo/data/world_map.gpkg');

export interface Series {
  name: string;
  source: VectorSource;
  tiles: Box[];
}

/** Every tile of some zooms of Web Mercator, at most so many. */
export function worldTiles(zooms: readonly number[], most: number): Box[] {
  const all = zooms.flatMap((zoom) => {
    const side = (2 * HALF_WORLD) / 2 ** zoom;
    const count = 2 ** zoom;
    return Array.from({ length: count * count }, (_, i): Box => {
      const [x, y] = [i % count, Math.floor(i / count)];
      const [west, south] = [x * side - HALF_WORLD, y * side - HALF_WORLD];
      return [west, south, west + side, south + side];
    });
  });
  const step = Math.max(1, Math.floor(all.length / most));
  return all.filter((_, i) => i % step === 0).slice(0, most);
}

const table = (name: string) =>
  inspectGeoPackage(WORLD_MAP).find((layer) => layer.source.table === name)!.source;
export const SERIES: Series[] = [
  { name: 'countries', source: table('countries'), tiles: worldTiles([0, 1, 2, 3, 4], 200) },
  { name: 'states_provinces', source: table('states_provinces'), tiles: worldTiles([1, 2, 3, 4, 5], 200) },
  { name: 'disputed_borders', source: table('disputed_borders'), tiles: worldTiles([0, 1, 2, 3, 4], 200) },
  { name: 'time zones', source: timeZones(), tiles: worldTiles([5, 6, 7], 200) },
  { name: 'buildings (SYNTHETIC)', source: buildings(100_000), tiles: tilesInside(100_000, 16) },
  {
    name: 'places (SYNTHETIC)',
    source: places(100_000),
    tiles: Array.from({ length: 16 }, (_, i) =>
      tileOver(14, PLACES_ORIGIN[0] + 3000 * (i % 4), PLACES_ORIGIN[1] + 3000 * Math.floor(i / 4)),
    ),
  },
];

export type Encoding = 'mvt' | 'mlt';

export const encode = (source: VectorSource, bbox: Box, format: Encoding, gzipLevel?: number) =>
  vectorTile({
    layers: [{ filter: undefined, name: 'layer', source }],
    ...{ crs: 'EPSG:3857', bbox, extent: 4096, buffer: 64, simplify: 0.5 },
    ...{ encoding: 'gzip', format, ...(gzipLevel && { gzipLevel }) },
  });
