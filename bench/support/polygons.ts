import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GeoPackageSource } from '../../src/core/sources/vector-source.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { load } from '../../src/workers/tiles/load.js';
import { blob, randomSource } from './buildings.js';

/** SYNTHETIC polygons in EPSG:3857, made once for all checkouts of this machine. */

const FOLDER = join(tmpdir(), 'graticule-bench-data');
/** Raised when the data changes. */
const VERSION = 2;
const CRS = 3857;
/** Side of a parcel in the mean, metres. */
const SIDE = 50;
/** Positions between two corners of a parcel. */
const BETWEEN = 3;

interface Layer {
  name: string;
  rows: number;
  ringOf(i: number): number[];
  groupOf(i: number): number;
  /** A store of rows in Hilbert order with an R-tree; else a bare table. */
  indexed: boolean;
}

function layer({ name, rows, ringOf, groupOf, indexed }: Layer): GeoPackageSource {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `${name}-${VERSION}-${rows}.gpkg`);
  if (existsSync(path)) return inspectGeoPackage(path)[0]!.source as GeoPackageSource;
  const [staging, part] = [`${path}.staging`, `${path}.part`];
  for (const file of [staging, part]) rmSync(file, { force: true });
  console.error(`making ${path} (synthetic)`);
  const db = connect(staging, false);
  prepareStore(db);
  db.pragma('synchronous = OFF');
  db.exec(`
    INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES ('WGS 84 / Pseudo-Mercator', ${CRS}, 'EPSG', ${CRS}, 'undefined', NULL);
    CREATE TABLE ${name} (fid INTEGER PRIMARY KEY, geom POLYGON, ${name}_group INTEGER, ${name}_size DOUBLE);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${name}', 'features', '${name}', ${CRS});
    INSERT INTO gpkg_geometry_columns VALUES ('${name}', 'geom', 'POLYGON', ${CRS}, 0, 0);`);
  const insert = db.prepare(`INSERT INTO ${name} VALUES (?, ?, ?, ?)`);
  db.transaction(() => {
    for (let i = 0; i < rows; i++) insert.run(i + 1, blob(ringOf(i), CRS), groupOf(i), (i * 7919) % 1000);
  })();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  if (indexed) load({ staging, stagingTable: name, store: part, table: name });
  else renameSync(staging, part);
  for (const file of [staging, `${staging}-wal`, `${staging}-shm`]) rmSync(file, { force: true });
  renameSync(part, path);
  return inspectGeoPackage(path)[0]!.source as GeoPackageSource;
}

/** A number from -0.5 to 0.5 that a place always has. */
function noise(x: number, y: number, salt: number): number {
  let h = Math.imul(x, 374_761_393) ^ Math.imul(y, 668_265_263) ^ Math.imul(salt, 974_634_543);
  h = Math.imul(h ^ (h >>> 13), 1_274_126_177);
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32 - 0.5;
}

/** Parcels that share their uneven edges, with no gap; `side` is how large they are. */
function parcelRing(column: number, row: number, side: number, salt: number): number[] {
  const corners = [
    [column, row],
    [column + 1, row],
    [column + 1, row + 1],
    [column, row + 1],
  ] as const;
  const ring: number[] = [];
  corners.forEach(([x, y], k) => {
    const [nextX, nextY] = corners[(k + 1) % 4]!;
    // Both parcels see the points of an edge in the same places.
    const ahead = nextX > x || nextY > y;
    const [fromX, fromY, toX, toY] = ahead ? [x, y, nextX, nextY] : [nextX, nextY, x, y];
    for (let i = 0; i <= BETWEEN; i++) {
      const at = ahead ? i : BETWEEN + 1 - i;
      const share = at / (BETWEEN + 1);
      const [fineX, fineY] = [fromX + (toX - fromX) * share, fromY + (toY - fromY) * share];
      const [nx, ny] = [Math.round(fineX * (BETWEEN + 1)), Math.round(fineY * (BETWEEN + 1))];
      ring.push(side * (fineX + 0.2 * noise(nx, ny, salt)), side * (fineY + 0.2 * noise(nx, ny, salt + 1)));
    }
  });
  return ring;
}

/** Parcels with an attribute that `groups` blocks of neighbours have in common; 17 positions each. */
export function parcels(rows: number, groups: number): GeoPackageSource {
  const across = Math.ceil(Math.sqrt(rows));
  const blocks = Math.ceil(Math.sqrt(groups));
  const block = (at: number) => Math.floor((at * blocks) / across);
  return layer({
    ...{ name: 'parcels', rows, indexed: true },
    ringOf: (i) => parcelRing(i % across, Math.floor(i / across), SIDE, 1),
    groupOf: (i) => (block(i % across) + blocks * block(Math.floor(i / across))) % groups,
  });
}

/** Larger parcels over the same ground, whose edges are others. */
export function zones(rows: number, parcelCount: number): GeoPackageSource {
  const across = Math.ceil(Math.sqrt(rows));
  const side = (SIDE * Math.ceil(Math.sqrt(parcelCount))) / across;
  return layer({
    ...{ name: 'zones', rows, indexed: true },
    ringOf: (i) => parcelRing(i % across, Math.floor(i / across), side, 7),
    groupOf: (i) => i,
  });
}

/** Small polygons of 13 positions, anywhere in the same square. */
export function sheds(name: string, rows: number): GeoPackageSource {
  const extent = SIDE * Math.sqrt(rows);
  const random = randomSource(name.length);
  return layer({
    ...{ name, rows, indexed: true },
    ringOf() {
      const [x, y, radius] = [random() * extent, random() * extent, 2 + 4 * random()];
      return Array.from({ length: 12 }, (_, k) => {
        const length = radius * (k % 2 ? 0.7 : 1);
        return [x + length * Math.cos((k * Math.PI) / 6), y + length * Math.sin((k * Math.PI) / 6)];
      }).flat();
    },
    groupOf: (i) => i,
  });
}

/** Squares side by side in a table without an index, as files of others are. */
export function squares(rows: number, groups: number): GeoPackageSource {
  const across = Math.ceil(Math.sqrt(rows));
  const perGroup = Math.ceil(rows / groups);
  return layer({
    ...{ name: 'squares', rows, indexed: false },
    ringOf(i) {
      const [x, y] = [SIDE * (i % across), SIDE * Math.floor(i / across)];
      return [x, y, x + SIDE, y, x + SIDE, y + SIDE, x, y + SIDE];
    },
    groupOf: (i) => Math.floor(i / perGroup),
  });
}
