import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bboxFilter } from '../../../src/core/cql2/index.js';
import type { Box } from '../../../src/core/geometry/box.js';
import type { GeoPackageSource } from '../../../src/core/sources/vector-source.js';
import { closeAll, connect, statement } from '../../../src/workers/providers/geopackage/connection.js';
import { passingInOrder } from '../../../src/workers/providers/geopackage/queries/filter.js';
import { items } from '../../../src/workers/providers/geopackage/queries/items.js';
import { walkIsShorter } from '../../../src/workers/providers/geopackage/queries/window.js';
import { createSpatialIndex, prepareStore } from '../../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { geoPackageBlob, randomSource, wkb } from '../../native/support.js';

/** A page of a window that holds much of a table is found by walking through it, not by the index. */

const ROWS = 20_000;
const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
let source: GeoPackageSource;

beforeAll(() => {
  const path = join(folder, 'points.gpkg');
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE points (fid INTEGER PRIMARY KEY, geom GEOMETRY);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id, min_x, min_y, max_x, max_y)
      VALUES ('points', 'features', 'points', 4326, 0, 0, 50, 50);
    INSERT INTO gpkg_geometry_columns VALUES ('points', 'geom', 'GEOMETRY', 4326, 0, 0)`);
  const insert = db.prepare('INSERT INTO points VALUES (?, ?)');
  const random = randomSource(9);
  db.transaction(() => {
    for (let i = 1; i <= ROWS; i++) {
      const [x, y] = [50 * random(), 50 * random()];
      const line = {
        type: 'LineString' as const,
        coordinates: [
          [x, y],
          [x + 1, y + 1],
        ],
      };
      insert.run(i, i % 50 === 0 ? null : geoPackageBlob(wkb(line)));
    }
  })();
  createSpatialIndex(db, 'points', 'geom', 'fid');
  db.close();
  source = inspectGeoPackage(path)[0]!.source as GeoPackageSource;
});

afterAll(() => {
  closeAll();
  rmSync(folder, { recursive: true });
});

const found = (box: Box, count: number = ROWS) => {
  const { sql, values } = passingInOrder(source, bboxFilter('geom', box, 'OGC:CRS84'), count);
  return statement(source.path, `SELECT row FROM (${sql}) ORDER BY row`)
    .pluck()
    .all(...values) as number[];
};

it('is taken for wide windows and short pages only', () => {
  expect(walkIsShorter(source, [[0, 0, 50, 50]], 1001)).toBe(true);
  expect(walkIsShorter(source, [[0, 0, 40, 45]], 1001)).toBe(true);
  expect(walkIsShorter(source, [[0, 0, 50, 50]], ROWS)).toBe(false);
  expect(walkIsShorter(source, [[0, 0, 10, 10]], 11)).toBe(false);
  expect(walkIsShorter({ ...source, hasIndex: false }, [[0, 0, 50, 50]], 11)).toBe(false);
});

it('finds what the index finds', () => {
  const boxes: Box[] = [
    [-180, -90, 180, 90],
    [0, 0, 40, 45],
    [10.5, 0.25, 49, 50],
    [20, 20, 21, 21],
  ];
  for (const box of boxes) {
    const all = found(box);
    expect(all.length).toBeGreaterThan(5);
    expect(found(box, 10)).toEqual(all);
  }
});

it('gives every feature once, page by page', () => {
  const box: Box = [5, 0, 50, 50];
  const ids: number[] = [];
  for (let after: string | undefined, more = true; more; ) {
    const page = items({
      source,
      format: 'geojson',
      limit: 1500,
      offset: 0,
      crs: 'OGC:CRS84',
      swapAxes: false,
      precision: 7,
      filter: bboxFilter('geom', box, 'OGC:CRS84'),
      ...(after === undefined ? {} : { after: { values: [], id: after } }),
    });
    const features = JSON.parse(`[${Buffer.from(page.features).toString()}]`) as { id: number }[];
    ids.push(...features.map(({ id }) => id));
    after = page.last?.id;
    more = page.more;
  }
  expect(ids).toEqual(found(box));
});
