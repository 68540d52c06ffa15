import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AnalyticsResult } from '../../../src/core/features/analytics.js';
import type { VectorSource } from '../../../src/core/sources/vector-source.js';
import { computeBufferAggregate } from '../../../src/workers/features/analytics/buffer-aggregate.js';
import { computeClusters } from '../../../src/workers/features/analytics/clusters.js';
import { computeDensityCells } from '../../../src/workers/features/analytics/density.js';
import { computeH3Cells } from '../../../src/workers/features/analytics/h3.js';
import { computeSpatialJoin } from '../../../src/workers/features/analytics/spatial-join.js';
import * as geopackage from '../../../src/workers/providers/geopackage/connection.js';
import { createSpatialIndex, prepareStore } from '../../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import * as postgis from '../../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../../src/workers/providers/postgis/schema/discover.js';
import { geoPackageBlob, randomSource, wkb } from '../../native/support.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';

/** The same rows in both stores give the same answers. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
let postgres: TestPostgres;
let stores: { points: VectorSource; areas: VectorSource }[];

const random = randomSource(31);
const POINTS = Array.from({ length: 400 }, (_, i) => ({
  x: 11 + (i % 4) * 0.1 + random() * 0.02,
  y: 48 + random() * 0.03,
  kind: ['a', 'b', null][i % 3]!,
  size: i % 7 === 0 ? null : i / 4,
  count: i,
}));
const AREAS = [
  { x: 11, y: 48, side: 0.015, name: 'first' },
  { x: 11.1, y: 48, side: 0.2, name: 'second' },
];
const ringOf = ({ x, y, side }: (typeof AREAS)[number]) => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
  [x, y],
];

function writeGeoPackage(path: string): void {
  const db = geopackage.connect(path, false);
  prepareStore(db);
  for (const [table, type, columns] of [
    ['points', 'POINT', 'kind TEXT, size REAL, count INTEGER'],
    ['areas', 'POLYGON', 'name TEXT'],
  ])
    db.exec(`CREATE TABLE ${table} (id INTEGER PRIMARY KEY, geom ${type}, ${columns});
      INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${table}', 'features', '${table}', 4326);
      INSERT INTO gpkg_geometry_columns VALUES ('${table}', 'geom', '${type}', 4326, 0, 0)`);
  const point = db.prepare('INSERT INTO points VALUES (?, ?, ?, ?, ?)');
  for (const [i, { x, y, kind, size, count }] of POINTS.entries())
    point.run(i + 1, geoPackageBlob(wkb({ type: 'Point', coordinates: [x, y] })), kind, size, count);
  const area = db.prepare('INSERT INTO areas VALUES (?, ?, ?)');
  for (const [i, each] of AREAS.entries())
    area.run(i + 1, geoPackageBlob(wkb({ type: 'Polygon', coordinates: [ringOf(each)] })), each.name);
  for (const table of ['points', 'areas']) createSpatialIndex(db, table, 'geom', 'id');
  db.close();
}

async function fillDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE TABLE points (id integer PRIMARY KEY, geom geometry(Point, 4326), kind text, size float8, count integer);
    CREATE TABLE areas (id integer PRIMARY KEY, geom geometry(Polygon, 4326), name text)`);
  for (const [i, { x, y, kind, size, count }] of POINTS.entries())
    await client.query('INSERT INTO points VALUES ($1, ST_SetSRID(ST_MakePoint($2, $3), 4326), $4, $5, $6)', [
      i + 1,
      x,
      y,
      kind,
      size,
      count,
    ]);
  for (const [i, each] of AREAS.entries())
    await client.query('INSERT INTO areas VALUES ($1, ST_SetSRID(ST_GeomFromWKB($2), 4326), $3)', [
      i + 1,
      wkb({ type: 'Polygon', coordinates: [ringOf(each)] }),
      each.name,
    ]);
  await client.end();
}

beforeAll(async () => {
  const path = join(folder, 'store.gpkg');
  writeGeoPackage(path);
  postgres = await startPostgres();
  await fillDatabase(postgres.url);
  const { layers } = await discoverTables({ database: postgres.url });
  stores = [inspectGeoPackage(path), layers].map((found) => {
    const source = (table: string) => found.find((layer) => layer.source.table === table)!.source;
    return { points: source('points'), areas: source('areas') };
  });
});

afterAll(async () => {
  geopackage.closeAll();
  postgis.closeAll();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const parsed = (result: AnalyticsResult) => ({
  ...result,
  features: JSON.parse(`[${Buffer.from(result.features).toString()}]`) as unknown[],
});

async function both(run: (store: (typeof stores)[number]) => Promise<AnalyticsResult>) {
  const [a, b] = await Promise.all(stores.map(async (store) => parsed(await run(store))));
  expect(a!.features.length).toBeGreaterThan(0);
  expect(b).toEqual(a);
}

const statistics = [
  { type: 'avg', field: 'size', name: 'mean' },
  { type: 'max', field: 'kind', name: 'last' },
  { type: 'var', field: 'count', name: 'spread' },
] as const;
const filter = { op: '<', args: [{ property: 'count' }, 350] };

it('h3', () =>
  both(({ points }) =>
    computeH3Cells({ filter: undefined, source: points, resolution: 8, statistics: [...statistics] }),
  ));
it('clusters', () =>
  both(({ points }) =>
    computeClusters({
      source: points,
      filter,
      algorithm: { name: 'dbscan', eps: 400, minPoints: 4 },
      fields: ['kind', 'size', 'count'],
      hulls: false,
      statistics: [],
    }),
  ));
it('hulls', () =>
  both(({ points }) =>
    computeClusters({
      filter: undefined,
      source: points,
      algorithm: { name: 'kmeans', k: 4 },
      fields: [],
      hulls: true,
      statistics: [...statistics],
    }),
  ));
it('density', () =>
  both(({ points }) =>
    computeDensityCells({ filter: undefined, source: points, mode: 'hex', cellSize: 500, weight: 'size' }),
  ));
it('buffers', () =>
  both(({ points }) =>
    computeBufferAggregate({
      source: points,
      filter,
      distance: 300,
      dissolve: true,
      groupBy: ['kind'],
      statistics: [{ type: 'sum', field: 'count', name: 'total' }],
    }),
  ));
it('joins', () =>
  both(({ points, areas }) =>
    computeSpatialJoin({
      source: points,
      filter: undefined,
      fields: ['kind'],
      predicate: 'within',
      distance: 0,
      right: {
        source: areas,
        filter: undefined,
        carry: ['name'],
        statistics: [{ type: 'count', field: 'name', name: 'n' }],
      },
    }),
  ));
