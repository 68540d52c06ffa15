import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Box } from '../../src/core/geometry/box.js';
import type { GeoPackageSource } from '../../src/core/sources/vector-source.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';

/**
 * SYNTHETIC data: points in Web Mercator, one per cell of a square grid of 50 metres, rows along a Z-order curve, so that
 * neighbours share pages. A table of more rows covers more ground: at the same zoom a tile inside it holds the same.
 */
const FOLDER = '.cache/bench';
const CELL = 50;
export const PLACES_ORIGIN: readonly [number, number] = [1_000_000, 6_000_000];

/** Every second bit of a number, from bit 0. */
function everySecondBit(value: number): number {
  let result = 0;
  for (let bit = 0; bit < 14; bit++) if (Math.floor(value / 4 ** bit) % 2 === 1) result += 2 ** bit;
  return result;
}

export function places(rows: number): GeoPackageSource {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `places-1-${rows}.gpkg`);
  if (!existsSync(path)) {
    const part = `${path}.part`;
    rmSync(part, { force: true });
    console.error(`making ${path} (synthetic)`);
    write(part, rows);
    renameSync(part, path);
  }
  return inspectGeoPackage(path)[0]!.source as GeoPackageSource;
}

function write(path: string, rows: number): void {
  const db = connect(path, false);
  prepareStore(db);
  db.pragma('synchronous = OFF');
  db.exec(`INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES ('WGS 84 / Pseudo-Mercator', 3857, 'EPSG', 3857, 'undefined', NULL);
    CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT, name TEXT, kind TEXT, rank INTEGER);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('places', 'features', 'places', 3857);
    INSERT INTO gpkg_geometry_columns VALUES ('places', 'geom', 'POINT', 3857, 0, 0);`);
  const insert = db.prepare('INSERT INTO places (geom, name, kind, rank) VALUES (?, ?, ?, ?)');
  const blob = Buffer.alloc(29);
  blob.write('GP');
  blob[3] = 1;
  blob.writeInt32LE(3857, 4);
  blob[8] = 1;
  blob.writeUInt32LE(1, 9);
  db.transaction(() => {
    for (let i = 0; i < rows; i++) {
      const jitter = (Math.imul(i, 2_654_435_761) >>> 0) / 2 ** 32;
      blob.writeDoubleLE(PLACES_ORIGIN[0] + (everySecondBit(i) + jitter) * CELL, 13);
      blob.writeDoubleLE(PLACES_ORIGIN[1] + (everySecondBit(Math.floor(i / 2)) + jitter) * CELL, 21);
      insert.run(blob, `place ${i % 5000}`, `kind ${i % 12}`, BigInt(i % 100));
    }
    createSpatialIndex(db, 'places', 'geom', 'fid');
  })();
  db.close();
}

const HALF_WORLD = 20037508.342789244;

/** The tile of a zoom that holds a place some way into the data. */
export function tileOver(zoom: number, x: number, y: number): Box {
  const side = (2 * HALF_WORLD) / 2 ** zoom;
  const minx = Math.floor((x + HALF_WORLD) / side) * side - HALF_WORLD;
  const miny = Math.floor((y + HALF_WORLD) / side) * side - HALF_WORLD;
  return [minx, miny, minx + side, miny + side];
}
