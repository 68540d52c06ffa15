import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Box } from '../../src/core/geometry/box.js';
import type { GeoPackageSource } from '../../src/core/sources/vector-source.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { load } from '../../src/workers/tiles/load.js';

/**
 * SYNTHETIC data: building-like polygons, one in every cell of a square grid, the same in every run. A building is a
 * turned rectangle with two to six notches in its walls: 13 to 29 positions, 21 in the mean, the closing one counted.
 * The store is made the way an import makes it: rows in Hilbert order, then the rtree.
 */

const FOLDER = '.cache/bench';
/** Raised when the data changes, so that old files are not taken for it. */
const VERSION = 1;
export const ZOOM = 14;
const HALF_WORLD = 20037508.342789244;
/** Side of a tile at ZOOM, metres. */
export const TILE_SIDE = (2 * HALF_WORLD) / 2 ** ZOOM;
/** Cells along a tile's side: 71 x 71 = 5041 buildings in a tile. */
const CELLS = 71;
const CELL = TILE_SIDE / CELLS;
/** Lower left corner of the data: the corner of a tile, near 9 degrees east, 48 degrees north. */
const ORIGIN_X = 410 * TILE_SIDE;
const ORIGIN_Y = 2490 * TILE_SIDE;
const RADIUS = 6378137;

const STREETS = [
  'Mill Lane',
  'Hauptstraße',
  'Rue de la Gare',
  'Station Road',
  'Via Roma',
  'Kungsgatan',
  'Church Row',
];
const KINDS = ['house', 'apartments', 'garage', 'shed', 'retail', 'industrial', 'school', 'farm'];

export type BuildingCrs = 3857 | 4326;

/** mulberry32: numbers from 0 to 1, the same in every run. */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Positions of a building around 0,0, counter-clockwise, not closed: flat x,y pairs in metres. */
function outline(random: () => number): number[] {
  const width = 6 + 8 * random();
  const height = 5 + 6 * random();
  const notches = 2 + Math.floor(5 * random());
  const corners = [-width, -height, width, -height, width, height, -width, height];
  const plain: number[] = [];
  for (let side = 0; side < 4; side++) {
    const [ax, ay] = [corners[2 * side]!, corners[2 * side + 1]!];
    const [bx, by] = [corners[(2 * side + 2) % 8]!, corners[(2 * side + 3) % 8]!];
    plain.push(ax, ay);
    const onSide = Math.floor(notches / 4) + (side < notches % 4 ? 1 : 0);
    const depth = 0.5 + 1.5 * random();
    const length = Math.hypot(bx - ax, by - ay);
    const [inX, inY] = [(-(by - ay) / length) * depth, ((bx - ax) / length) * depth];
    for (let n = 1; n <= onSide; n++) {
      const [from, to] = [(n - 0.3) / (onSide + 1), (n + 0.3) / (onSide + 1)];
      const [fx, fy] = [ax + (bx - ax) * from, ay + (by - ay) * from];
      const [tx, ty] = [ax + (bx - ax) * to, ay + (by - ay) * to];
      plain.push(fx, fy, fx + inX, fy + inY, tx + inX, ty + inY, tx, ty);
    }
  }
  const angle = Math.PI * random();
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const turned: number[] = [];
  for (let i = 0; i < plain.length; i += 2) {
    turned.push(plain[i]! * cos - plain[i + 1]! * sin, plain[i]! * sin + plain[i + 1]! * cos);
  }
  return turned;
}

function toDegrees(xy: number[]): void {
  for (let i = 0; i < xy.length; i += 2) {
    xy[i] = (xy[i]! / RADIUS) * (180 / Math.PI);
    xy[i + 1] = Math.atan(Math.sinh(xy[i + 1]! / RADIUS)) * (180 / Math.PI);
  }
}

/** A GeoPackage polygon of one ring with an XY envelope, as OGR writes it. */
export function blob(ring: readonly number[], srsId: number): Buffer {
  const count = ring.length / 2 + 1;
  const bytes = Buffer.alloc(40 + 13 + 16 * count);
  bytes.write('GP');
  bytes[3] = 0b11;
  bytes.writeInt32LE(srsId, 4);
  const xs = ring.filter((_, i) => i % 2 === 0);
  const ys = ring.filter((_, i) => i % 2 === 1);
  [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)].forEach((v, i) => {
    bytes.writeDoubleLE(v, 8 + 8 * i);
  });
  bytes[40] = 1;
  bytes.writeUInt32LE(3, 41);
  bytes.writeUInt32LE(1, 45);
  bytes.writeUInt32LE(count, 49);
  for (let i = 0; i < 2 * count; i++) bytes.writeDoubleLE(ring[i % ring.length]!, 53 + 8 * i);
  return bytes;
}

function writeStaging(path: string, rows: number, crs: BuildingCrs): void {
  const db = connect(path, false);
  prepareStore(db);
  db.pragma('synchronous = OFF');
  db.exec(`
    INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES ('WGS 84 / Pseudo-Mercator', 3857, 'EPSG', 3857, 'undefined', NULL);
    CREATE TABLE buildings (fid INTEGER PRIMARY KEY, geom POLYGON, name TEXT, kind TEXT, levels INTEGER, height DOUBLE);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('buildings', 'features', 'buildings', ${crs});
    INSERT INTO gpkg_geometry_columns VALUES ('buildings', 'geom', 'POLYGON', ${crs}, 0, 0);`);
  const insert = db.prepare(
    'INSERT INTO buildings (geom, name, kind, levels, height) VALUES (?, ?, ?, ?, ?)',
  );
  const random = randomSource(42);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const side = Math.ceil(Math.sqrt(rows));
  db.transaction(() => {
    for (let i = 0; i < rows; i++) {
      const ring = outline(random);
      const x = ORIGIN_X + ((i % side) + 0.5) * CELL;
      const y = ORIGIN_Y + (Math.floor(i / side) + 0.5) * CELL;
      for (let k = 0; k < ring.length; k += 2) {
        ring[k]! += x;
        ring[k + 1]! += y;
      }
      if (crs === 4326) toDegrees(ring);
      const levels = 1 + Math.floor(6 * random());
      const name = `${pick(STREETS)} ${1 + Math.floor(200 * random())}`;
      insert.run(blob(ring, crs), name, pick(KINDS), levels, Math.round(levels * (28 + 6 * random())) / 10);
    }
  })();
  db.close();
}

/** The store with `rows` buildings, made when it is not there yet. */
export function buildings(rows: number, crs: BuildingCrs = 3857): GeoPackageSource {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `buildings-${VERSION}-${rows}-${crs}.gpkg`);
  if (!existsSync(path)) {
    const [staging, part] = [`${path}.staging`, `${path}.part`];
    for (const file of [staging, part]) rmSync(file, { force: true });
    console.error(`making ${path} (synthetic)`);
    writeStaging(staging, rows, crs);
    load({ staging, stagingTable: 'buildings', store: part, table: 'buildings' });
    renameSync(part, path);
  }
  return inspectGeoPackage(path)[0]!.source as GeoPackageSource;
}

/** Different tiles of ZOOM that lie inside the data (their buffers perhaps not), `count` of them at the most. */
export function tilesInside(rows: number, count: number): Box[] {
  const whole = Math.floor(Math.ceil(Math.sqrt(rows)) / CELLS);
  const across = Math.min(whole, Math.ceil(Math.sqrt(count)));
  // Spread over the data, not all in one corner.
  const step = whole / across;
  const tiles: Box[] = [];
  for (let i = 0; i < across * across && tiles.length < count; i++) {
    const minx = ORIGIN_X + Math.floor((i % across) * step) * TILE_SIDE;
    const miny = ORIGIN_Y + Math.floor(Math.floor(i / across) * step) * TILE_SIDE;
    tiles.push([minx, miny, minx + TILE_SIDE, miny + TILE_SIDE]);
  }
  return tiles;
}
