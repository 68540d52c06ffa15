import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { GeoPackageSource } from '../../../src/core/sources/vector-source.js';
import { closeAll, connect } from '../../../src/workers/providers/geopackage/connection.js';
import { losses } from '../../../src/workers/providers/geopackage/queries/losses.js';
import { prepareStore } from '../../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { geoPackageBlob } from '../../native/support.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));

afterAll(() => {
  closeAll();
  rmSync(folder, { recursive: true, force: true });
});

/** WKB of a point with these ordinates, or of an arc. */
function wkbOf(code: number, ordinates: readonly number[], positions?: number): Buffer {
  const head = Buffer.alloc(positions === undefined ? 5 : 9);
  head.writeUInt8(1);
  head.writeUInt32LE(code, 1);
  if (positions !== undefined) head.writeUInt32LE(positions, 5);
  return Buffer.concat([head, Buffer.from(new Float64Array(ordinates).buffer)]);
}

it('counts infinite values and what features lose of geometries', () => {
  const path = join(folder, 'lossy.gpkg');
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE lossy (fid INTEGER PRIMARY KEY, geom GEOMETRY, a REAL, b REAL, "c d" INTEGER, t TEXT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('lossy', 'features', 'lossy', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('lossy', 'geom', 'GEOMETRY', 4326, 2, 2)`);
  const insert = db.prepare('INSERT INTO lossy (geom, a, b, "c d", t) VALUES (?, ?, ?, ?, ?)');
  const { POSITIVE_INFINITY: Infinite, NEGATIVE_INFINITY, NaN: none } = Number;
  insert.run(geoPackageBlob(wkbOf(1, [1, 2])), Infinite, 1, Infinite, 'Infinity');
  insert.run(geoPackageBlob(wkbOf(2001, [1, 2, 3])), NEGATIVE_INFINITY, 1, 2, null);
  insert.run(geoPackageBlob(wkbOf(8, [0, 0, 1, 1, 2, 0], 3)), 0, 1e308, 2, null);
  insert.run(geoPackageBlob(wkbOf(1, [1, Infinite])), none, -1e308, 2, null);
  insert.run(null, 0, null, 2, null);
  insert.run(Buffer.from('no geometry'), 0, null, 2, null);
  db.close();
  const source = inspectGeoPackage(path)[0]!.source as GeoPackageSource;
  const fields = source.fields.map(({ name }) => name);
  expect(losses({ source, filter: undefined, fields })).toEqual({
    notFinite: { a: 2, 'c d': 1 },
    geometries: { arcs: 1, measures: 1, coordinates: 1, unreadable: 1 },
  });
  const filter = { op: '=' as const, args: [{ property: 'fid' }, 2] as const };
  expect(losses({ source, filter: filter as never, fields: ['b', 'a'] })).toEqual({
    notFinite: { a: 1 },
    geometries: { measures: 1 },
  });
});
