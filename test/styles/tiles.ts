import { encodeLayer, type LayerOptions, type LayerRow } from '../../src/native/index.js';
import Database from '../../src/native/sqlite.js';
import { HALF_WORLD, randomSource, WORLD_MAP, wkb } from '../native/support.js';

/** Vector tiles for the tests of styles: tile 2/2/1 of WebMercatorQuad (zoom, column, row), Europe and Africa. */
export const PLACE = { zoom: 2, column: 2, row: 1 } as const;
const SIDE = (2 * HALF_WORLD) / 2 ** PLACE.zoom;
const WEST = -HALF_WORLD + PLACE.column * SIDE;
const NORTH = HALF_WORLD - PLACE.row * SIDE;

/** Longitude and latitude of the middle of the tile. */
export const MIDDLE: [number, number] = [45, (Math.atan(Math.sinh(Math.PI / 4)) * 180) / Math.PI];

const options = (layer: string, fields: string[], from: string): LayerOptions => ({
  layer,
  fields,
  from,
  to: 'EPSG:3857',
  bbox: [WEST, NORTH - SIDE, WEST + SIDE, NORTH],
  extent: 4096,
  buffer: 256,
});

/** Countries with `name` and `code`. */
export function countries(): Uint8Array {
  const db = new Database(WORLD_MAP, { readonly: true });
  const rows = db.prepare('SELECT fid, geom, "NAME", "ISO_A3" FROM countries').raw().all() as LayerRow[];
  db.close();
  return encodeLayer(options('countries', ['name', 'code'], 'EPSG:4326'), rows);
}

/** 60 points with `size` from 1 to 10, `kind` and `label`: the same in each run. */
export function points(): Uint8Array {
  const random = randomSource(7);
  const rows = Array.from({ length: 60 }, (_, i): LayerRow => {
    const at = [WEST + random() * SIDE, NORTH - random() * SIDE];
    return [i + 1, wkb({ type: 'Point', coordinates: at }), 1 + (i % 10), i % 3 ? 'town' : 'city', `P ${i}`];
  });
  return encodeLayer(options('points', ['size', 'kind', 'label'], 'EPSG:3857'), rows);
}

/** Ten zigzag lines with `rank` from 0 to 4. */
export function lines(): Uint8Array {
  const rows = Array.from({ length: 10 }, (_, i): LayerRow => {
    const y = NORTH - ((i + 0.5) / 10) * SIDE;
    const coordinates = Array.from({ length: 9 }, (_, k) => [
      WEST + (k / 8) * SIDE,
      y + (k % 2 ? 0.03 : -0.03) * SIDE,
    ]);
    return [i + 1, wkb({ type: 'LineString', coordinates }), i % 5];
  });
  return encodeLayer(options('lines', ['rank'], 'EPSG:3857'), rows);
}
