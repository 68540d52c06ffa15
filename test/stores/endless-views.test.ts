import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, expect, it } from 'vitest';
import { inspect, otherTables } from '../../src/workers/providers/geopackage/inspect.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-endless-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('reads the other tables of a GeoPackage, and names its endless views', () => {
  const path = join(folder, 'endless.gpkg');
  copyFileSync('demo/data/world_map.gpkg', path);
  const db = new Database(path);
  db.exec(`
    CREATE VIEW endless AS
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
      SELECT n AS fid, geom FROM numbers, countries WHERE n < 0;
    CREATE VIEW plain AS SELECT fid FROM endless;
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('endless', 'features', 'endless', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('endless', 'geom', 'GEOMETRY', 4326, 0, 0);`);
  const tables = db
    .prepare(
      "SELECT table_name FROM gpkg_contents WHERE table_name NOT IN ('endless', 'layer_styles') ORDER BY 1",
    )
    .pluck()
    .all();
  db.close();
  const inspected = inspect(path).map(({ source }) => source.table);
  expect(inspected).toEqual(tables);
  const { problems, plain } = otherTables(path, inspected);
  expect(problems).toEqual([
    { layer: 'endless', reason: expect.stringContaining('takes longer than 5 seconds') },
  ]);
  expect(plain).not.toContain('plain');
});
