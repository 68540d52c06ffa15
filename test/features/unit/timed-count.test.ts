import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { equals } from '../../../src/core/cql2/index.js';
import type { VectorSource } from '../../../src/core/sources/vector-source.js';
import { countWithin } from '../../../src/workers/features/timed-count.js';
import { closeAll } from '../../../src/workers/providers/geopackage/connection.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';

/** Counts that end with their time. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-count-'));
let source: VectorSource;

beforeAll(() => {
  const path = join(folder, 'world.gpkg');
  copyFileSync('demo/data/world_map.gpkg', path);
  source = inspectGeoPackage(path).find(({ source: one }) => one.table === 'countries')!.source;
  const db = new Database(path);
  const columns = source.fields.map(({ name }) => `NULL AS "${name}"`).join(', ');
  db.exec(`CREATE VIEW endless AS
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
    SELECT n AS ${source.idColumn}, NULL AS ${source.geometryColumn}, ${columns} FROM numbers`);
  db.close();
});
afterAll(() => {
  closeAll();
  rmSync(folder, { recursive: true, force: true });
});

it('are exact where the time suffices', async () => {
  expect(await countWithin({ source, filter: undefined, withinMs: 60_000 })).toEqual({
    count: 240,
    isExact: true,
  });
  const filter = equals(source.idColumn, 8);
  expect(await countWithin({ source, filter, withinMs: 60_000 })).toEqual({ count: 1, isExact: true });
});

it('say how many there are at least where it does not, and leave the connection usable', async () => {
  const endless = { ...source, table: 'endless', hasIndex: false };
  const { count, isExact } = await countWithin({ source: endless, filter: undefined, withinMs: 500 });
  expect(isExact).toBe(false);
  expect(count % 1000).toBe(0);
  const none = equals(source.idColumn, -1);
  expect(await countWithin({ source: endless, filter: none, withinMs: 50 })).toEqual({
    count: 0,
    isExact: false,
  });
  expect(await countWithin({ source, filter: undefined, withinMs: 60_000 })).toEqual({
    count: 240,
    isExact: true,
  });
});
