import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { previewFile } from '../../../src/services/exchange/import-preview.js';
import { inspectGeoPackage, otherTables } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { findSlowViews } from '../../../src/workers/providers/geopackage/schema/slow-views.js';
import { isFullRun } from '../../support/soak.js';

/** A brief run has one endless view of each kind: among the tables, and in the place of a table of the standard. */
const IS_FULL = isFullRun(import.meta.url);
const full = it.runIf(IS_FULL);
const folder = mkdtempSync(join(tmpdir(), 'graticule-endless-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function makeEndless(): string {
  const path = join(folder, 'endless.gpkg');
  if (existsSync(path)) return path;
  copyFileSync('demo/data/world_map.gpkg', path);
  const db = new Database(path);
  db.exec(`
    CREATE VIEW endless AS
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
      SELECT n AS fid, geom FROM numbers, countries WHERE n < 0;
    CREATE VIEW plain AS SELECT fid FROM endless;
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('endless', 'features', 'endless', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('endless', 'geom', 'GEOMETRY', 4326, 0, 0);`);
  db.close();
  return path;
}

it('reads the other tables of a GeoPackage, and names its endless views', () => {
  const path = makeEndless();
  const db = new Database(path, { readonly: true });
  const tables = db
    .prepare(
      "SELECT table_name FROM gpkg_contents WHERE table_name NOT IN ('endless', 'layer_styles') ORDER BY 1",
    )
    .pluck()
    .all();
  db.close();
  const inspected = inspectGeoPackage(path).map(({ source }) => source.table);
  expect(inspected).toEqual(tables);
  const { problems, plain } = otherTables(path, inspected);
  expect(problems).toEqual([
    { layer: 'endless', reason: expect.stringContaining('takes longer than 5 seconds') },
  ]);
  expect(plain).not.toContain('plain');
});

full('tells the views that do not end from others', async () => {
  expect(await findSlowViews({ path: makeEndless() })).toEqual(['endless', 'plain']);
  expect(await findSlowViews({ path: 'demo/data/world_map.gpkg' })).toEqual([]);
  const text = join(folder, 'a.geojson');
  writeFileSync(text, '{}');
  expect(await findSlowViews({ path: text })).toEqual([]);
});

full('says in a preview that was not ready in time which views are the reason', async () => {
  const late = new TaskFailure(
    'deadline-exceeded',
    'The request took too long. Request less, or retry later.',
  );
  const deadlines: (number | undefined)[] = [];
  const preview = (path: string) => {
    const run = async (name: string, input: { path: string }, options: { deadlineMs?: number }) => {
      deadlines.push(options.deadlineMs);
      if (name === 'vector.slowViews') return findSlowViews(input);
      throw late;
    };
    const pools = { run } as unknown as Pools;
    return previewFile({ path, fileName: 'a.gpkg' }, folder, pools, { deadlineMs: 30_000 });
  };
  await expect(preview(makeEndless())).rejects.toMatchObject({
    code: 'too-large',
    message: expect.stringContaining('do not end or take too long: endless, plain.'),
  });
  expect(deadlines).toEqual([25_000, 5000]);
  await expect(preview('demo/data/world_map.gpkg')).rejects.toBe(late);
});

const REPLACED = ['gpkg_contents', 'gpkg_geometry_columns', 'gpkg_spatial_ref_sys', 'layer_styles'];
describe.each(REPLACED)('%s', (table) => {
  const run = it.runIf(IS_FULL || table === 'gpkg_contents');
  run('is an endless view: the reading of the file ends', () => {
    const path = join(folder, `${table}.gpkg`);
    copyFileSync('demo/data/world_map.gpkg', path);
    const db = new Database(path);
    db.exec(`PRAGMA legacy_alter_table = ON; ALTER TABLE ${table} RENAME TO kept;
    CREATE VIEW ${table} AS SELECT kept.* FROM
      (WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r) n, kept WHERE n.i < 0`);
    db.close();
    const read = () => inspectGeoPackage(path).map(({ source }) => source.table);
    // It is not read at all: its tables have the styles of the server.
    if (table === 'layer_styles')
      expect(read()).toEqual(['countries', 'disputed_borders', 'states_provinces']);
    else expect(read).toThrow(/takes too long/);
    expect(() => otherTables(path, [])).not.toThrow(/never/);
  });
});
