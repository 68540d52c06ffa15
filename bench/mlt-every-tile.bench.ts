import { isDeepStrictEqual } from 'node:util';
import { gunzip } from '../src/native/index.js';
import { closeAll } from '../src/workers/providers/geopackage/connection.js';
import { mltReader, readMvt } from '../test/tiles/mlt/support.js';
import { publish } from './support/report.js';
import { encode, SERIES, worldTiles } from './support/tile-series.js';

/**
 * Every tile of zooms 0 to 8 of six collections, as a vector tile and as a MapLibre Tile: readers that nobody here wrote,
 * `@mapbox/vector-tile` and `@maplibre/mlt`, must find the same features, attributes and vertices. The tests do so with a
 * part of them; this takes minutes. Ends with the first tile that differs.
 */
const ZOOMS = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const MOST = 64 << 20;

const readMlt = await mltReader();
const plain = (tile: Uint8Array) => (tile.length > 0 ? gunzip(tile, MOST) : tile);
const places = worldTiles(ZOOMS, Infinity);

const figures = [];
for (const { name, source } of SERIES) {
  let [tiles, features] = [0, 0];
  for (const bbox of places) {
    const mvt = plain((await encode(source, bbox, 'mvt')).data);
    const mlt = plain((await encode(source, bbox, 'mlt')).data);
    if (mvt.length === 0 && mlt.length === 0) continue;
    const expected = readMvt(mvt);
    if (!isDeepStrictEqual(readMlt(mlt), expected))
      throw new Error(`${name}: tile ${bbox.join(' ')} differs`);
    tiles++;
    features += Object.values(expected).reduce((sum, layer) => sum + layer.features.length, 0);
  }
  figures.push({ name, rounds: { tiles: [tiles], features: [features] } });
  console.log(`${name}: ${tiles} tiles, ${features} features, equal`);
}
closeAll();
publish({
  bench: 'mlt-every-tile',
  command: './run bench mlt-every-tile',
  about: `All ${places.length} tiles of zooms 0 to 8 of six collections, three of Natural Earth, the time zones of OpenStreetMap and two SYNTHETIC ones, encoded as vector tiles and as MapLibre Tiles: how many hold something, and the features in them, which @mapbox/vector-tile and @maplibre/mlt read alike, with their attributes, ids and vertices. Nothing is timed.`,
  figures,
  ratios: [],
  notes: [],
});
