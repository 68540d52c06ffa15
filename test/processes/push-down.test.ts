import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shownField } from '../../src/core/access/field-masks.js';
import { and, check, type Expression, parseText } from '../../src/core/cql2/index.js';
import type { FeatureProcessResult, ProcessFeatures } from '../../src/core/processes/feature-processes.js';
import type { PostgisSource } from '../../src/core/sources/vector-source.js';
import { describeCrs } from '../../src/native/index.js';
import Database from '../../src/native/sqlite.js';
import { PROCESSES } from '../../src/services/processes/catalogue/index.js';
import type { FeaturesFacts } from '../../src/services/processes/definition.js';
import { planPushDown } from '../../src/services/processes/push-down.js';
import { processFeatures } from '../../src/workers/processes/features.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { batches, closeAll } from '../../src/workers/providers/postgis/connections/database.js';
import { boundStatements } from '../../src/workers/providers/postgis/connections/session.js';
import { discoverTables } from '../../src/workers/providers/postgis/schema/discover.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { rowsOf, underLimits } from './reference.js';

/** Processes that PostGIS computes, beside the same ones that we compute of the same tables. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-push-'));
let postgres: TestPostgres;
let sql: pg.Client;
let areas: ProcessFeatures;
let places: ProcessFeatures;

/** Areas that overlap, one in eight invalid, some missing and empty; values of all types, some missing. */
const TABLES = `CREATE EXTENSION IF NOT EXISTS postgis;

  CREATE TABLE areas (id int PRIMARY KEY, geom geometry(Geometry, 3857), zone text, secret text, lanes int, big bigint,
    width float8, thin real, price numeric(10, 2), open boolean, since date, seen timestamptz, code uuid);
  INSERT INTO areas SELECT i, ST_SetSRID(CASE
      WHEN i % 50 = 0 THEN NULL WHEN i % 51 = 0 THEN 'POLYGON EMPTY'::geometry
      WHEN i % 8 = 0 THEN format('POLYGON((%1$s %2$s, %3$s %4$s, %3$s %2$s, %1$s %4$s, %1$s %2$s))', x, y, x + 9, y + 9)::geometry
      WHEN i % 7 = 0 THEN ST_MakeLine(ST_Point(x, y), ST_Point(x + 12, y + 5))
      ELSE ST_Buffer(ST_Point(x, y), 5 + i % 6, 'quad_segs=4') END, 3857),
    nullif('zone ' || i % 5, 'zone 4'), 'secret ' || i % 9, nullif(i % 11, 3), 9007199254740993 + i, i / 7.0, i * 0.37,
    nullif(i % 13, 5) + 0.25, nullif(i % 3, 1) = 0, date '2020-02-28' + i % 40, timestamptz '2021-03-04 05:06:07.89Z' + i * interval '1 hour',
    md5(i::text)::uuid
  FROM generate_series(1, 400) i, LATERAL (SELECT i * 7.31 % 211 AS x, i * 3.77 % 193 AS y) p;
  UPDATE areas SET width = 'NaN' WHERE id % 20 = 1;
  UPDATE areas SET width = 'Infinity', since = 'infinity' WHERE id % 20 = 2;
  UPDATE areas SET thin = '-Infinity', seen = '-infinity' WHERE id % 20 = 3;
  CREATE INDEX ON areas USING gist (geom);
  CREATE TABLE places (id uuid PRIMARY KEY, geom geometry(Point, 3857), name text, rank int, weight float8);
  INSERT INTO places SELECT md5(i::text)::uuid, ST_SetSRID(ST_Point(i * 1.618034 % 220, i * 2.718282 % 200), 3857),
    'place ' || i, i % 17, sqrt(i) FROM generate_series(1, 900) i;
  INSERT INTO places VALUES (md5('none')::uuid, NULL, 'nowhere', 1, 1), (md5('empty')::uuid, 'SRID=3857;POINT EMPTY', 'empty', 1, 1);
  CREATE INDEX ON places USING gist (geom);
  CREATE TABLE bare AS SELECT * FROM places WHERE geom IS NOT NULL;
  ALTER TABLE bare ADD PRIMARY KEY (id);
  CREATE TABLE degrees (id int PRIMARY KEY, geom geometry(Point, 4326));
  INSERT INTO degrees SELECT i, ST_SetSRID(ST_Point(i % 20, i % 7), 4326) FROM generate_series(1, 60) i;
  CREATE INDEX ON degrees USING gist (geom);
  CREATE TABLE heights (id int PRIMARY KEY, geom geometry(PointZ, 3857));
  CREATE TABLE globe (id int PRIMARY KEY, geom geography(Point, 4326));`;

beforeAll(async () => {
  postgres = await startPostgres();
  sql = new pg.Client({ connectionString: postgres.url });
  await sql.connect();
  await sql.query(TABLES);
  areas = await table('areas');
  places = await table('places');
});
afterAll(async () => {
  closeAll();
  await sql?.end();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function table(name: string): Promise<ProcessFeatures> {
  const { layers } = await discoverTables({ database: postgres.url });
  const { source } = layers.find((layer) => layer.source.table === name)!;
  return { source, filter: undefined, fields: source.fields.map((field) => field.name) };
}

/** The features that a caller sees who has a mask for a field, a rule for rows, and a filter of the caller's own. */
function masked(features: ProcessFeatures): ProcessFeatures {
  const mask = { treatment: 'hash', key: '07'.repeat(32) } as const;
  const source = features.source as PostgisSource;
  const fields = source.fields.map((field) => (field.name === 'secret' ? { ...field, mask } : field));
  return { ...features, source: { ...source, fields } as PostgisSource };
}

function filtered(features: ProcessFeatures, ...texts: string[]): ProcessFeatures {
  const filters = texts.map((text) =>
    check(parseText(text), { ...features.source, filterCrs: features.source.crs } as never),
  );
  const filter = filters.reduce<Expression | undefined>((all, one) => and(all, one as Expression), undefined);
  return { ...features, filter: filter! };
}

function factsOf({ source }: ProcessFeatures): FeaturesFacts {
  const { isGeographic, metresPerUnit } = describeCrs(source.crs);
  const fields = source.fields
    .map((field) => (field.mask ? shownField(field) : field))
    .filter(({ isMasked }) => !isMasked);
  return {
    source: { ...source, fields },
    fields: fields.map(({ name }) => name),
    crs: { isGeographic, metresPerUnit },
  };
}

function taskOf(
  id: string,
  values: Record<string, unknown>,
  input: ProcessFeatures,
  overlay: ProcessFeatures,
) {
  const { work } = PROCESSES.get(id)!;
  if (work.kind !== 'features') throw new Error(`${id} is not of features`);
  const other = work.overlay ? overlay : undefined;
  const { process, fields } = work.plan(values, factsOf(input), other && factsOf(other));
  return {
    ...{ process, count: new SharedArrayBuffer(4) },
    input: { ...input, ...(fields ? { fields: [...fields] } : {}) },
    ...(other ? { overlay: other } : {}),
  };
}

interface Outcome {
  result: FeatureProcessResult;
  rows: Record<string, unknown>[];
  /** WKB in hexadecimal digits, by row. */
  geometries: (string | null)[];
}

let runs = 0;

async function outcomeOf(task: ReturnType<typeof taskOf>, pushDown: boolean): Promise<Outcome> {
  const output = join(folder, `result-${runs++}.gpkg`);
  const result = await processFeatures({ ...task, pushDown, output });
  const all = result.features === 0 ? [] : rowsOf(output);
  const rows = all.map(({ row }) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'geom')),
  );
  return { result, rows, geometries: all.map(({ geometry }) => geometry) };
}

/** Decisions and both outcomes. */
async function bothWays(id: string, values: Record<string, unknown>, input = areas, overlay = places) {
  const task = taskOf(id, values, input, overlay);
  const decision = planPushDown(task.process, task.input, task.overlay, 'all');
  const [theirs, ours] = [await outcomeOf(task, true), await outcomeOf(task, false)];
  expect(theirs.result.pushDownFault).toBeUndefined();
  return { decision, theirs, ours };
}

/** Values of attributes, in any order, without the ids that results get. */
function contents({ rows }: Outcome, keepsIds: boolean): string[] {
  const text = (value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(9)) : String(value));
  return rows
    .map((row) =>
      Object.entries(row)
        .filter(([name]) => keepsIds || name !== 'fid')
        .map(([name, value]) => `${name}=${text(value)}`)
        .join('; '),
    )
    .sort();
}

/** The largest difference of areas, as a share of them, and the largest distance, between geometries one by one. */
async function apart(theirs: Outcome, ours: Outcome): Promise<{ area: number; distance: number }> {
  const { rows } = await sql.query(
    `SELECT coalesce(max(abs(ST_Area(a) - ST_Area(b)) / greatest(1e-30, ST_Area(b))), 0) AS area,
      coalesce(max(ST_HausdorffDistance(a, b)), 0) AS distance
      FROM (SELECT a::geometry AS a, b::geometry AS b FROM unnest($1::text[], $2::text[]) AS u (a, b)) g`,
    [theirs.geometries, ours.geometries],
  );
  return rows[0];
}

const FEATURES: [id: string, values: Record<string, unknown>, statement: string][] = [
  ['geometry.buffer', { distance: 3, unit: 'crs' }, 'ST_Buffer'],
  ['geometry.buffer', { distance: -1, unit: 'crs' }, 'ST_Buffer'],
  ['geometry.buffer', { distance: 2, segments: 3, cap: 'flat', join: 'mitre', mitreLimit: 2.5 }, 'ST_Buffer'],
  ['geometry.centroid', {}, 'ST_Centroid'],
  ['geometry.convex-hull', {}, 'ST_ConvexHull'],
  ['geometry.simplify', { tolerance: 1, unit: 'crs' }, 'ST_SimplifyPreserveTopology'],
];

it.each(FEATURES)('%s %j is the same', async (id, values, statement) => {
  for (const input of [areas, filtered(masked(areas), "zone <> 'zone 2'", 'lanes > 4')]) {
    const { decision, theirs, ours } = await bothWays(id, values, input);
    expect(decision).toEqual({ statement });
    expect(ours.result.features).toBeGreaterThan(50);
    expect(contents(theirs, true)).toEqual(contents(ours, true));
    const { area, distance } = await apart(theirs, ours);
    expect([area < 1e-9, distance < 1e-9]).toEqual([true, true]);
    if (input !== areas)
      expect(theirs.rows.every(({ secret }) => /^[0-9a-f]{16}$/.test(`${secret}`))).toBe(true);
  }
});

it('a buffer of one side is the same', async () => {
  const values = { distance: -2, unit: 'crs', singleSided: true };
  const { theirs, ours } = await bothWays(
    'geometry.buffer',
    values,
    filtered(areas, 'id = 7 OR id = 14 OR id = 21'),
  );
  expect(ours.result.features).toBe(3);
  expect((await apart(theirs, ours)).area).toBeLessThan(1e-9);
});

const STATISTICS = [
  ...['count', 'sum', 'min', 'max', 'avg', 'stddev', 'var'].flatMap((type) =>
    ['lanes', 'width', 'thin', 'price'].map((field) => ({ type, field })),
  ),
  { type: 'sum', field: 'big' },
  ...['min', 'max', 'count'].flatMap((type) =>
    ['zone', 'since', 'seen', 'big', 'code'].map((field) => ({ type, field })),
  ),
  { type: 'median', field: 'width' },
  { type: 'percentile', percentile: 90, field: 'price' },
];

it.each([
  [[]],
  [['zone']],
  [['zone', 'open', 'lanes']],
  [['price']],
  [['since']],
  [['seen']],
  [['thin']],
  [['code']],
  [['width']],
])('a summary by %j is the same', async (groupBy) => {
  for (const input of [areas, filtered(masked(areas), "zone <> 'zone 2'", 'lanes > 4')]) {
    const { decision, theirs, ours } = await bothWays(
      'analytics.summary-statistics',
      { groupBy, statistics: STATISTICS },
      input,
    );
    expect(decision).toEqual({ statement: 'GROUP BY' });
    expect(ours.result.features).toBeGreaterThan(0);
    // In the order of the first features, too.
    expect(theirs.rows.map((row) => contents({ ...theirs, rows: [row] }, true))).toEqual(
      ours.rows.map((row) => contents({ ...ours, rows: [row] }, true)),
    );
  }
});

describe('sums of integers', () => {
  /** Sums as SQLite stores them: a `bigint` has all its digits. */
  const sumsIn = (path: string, name: string): unknown[] => {
    const db = new Database(path, { readonly: true });
    try {
      const { table } = inspectGeoPackage(path)[0]!.source as { table: string };
      return db.prepare(`SELECT "${name}" FROM "${table}" ORDER BY 1`).pluck().safeIntegers().all();
    } finally {
      db.close();
    }
  };
  const both = async (
    id: string,
    values: Record<string, unknown>,
    name: string,
    input = areas,
    overlay = areas,
  ) => {
    const task = taskOf(id, values, input, overlay);
    const outputs: unknown[][] = [];
    for (const pushDown of [true, false]) {
      const output = join(folder, `sums-${runs++}.gpkg`);
      await processFeatures({ ...task, pushDown, output });
      outputs.push(sumsIn(output, name));
    }
    return outputs;
  };
  const sums = async (text: string) =>
    (await sql.query(`SELECT n::text FROM (${text}) AS t (n) ORDER BY t.n`)).rows.map(({ n }) => BigInt(n));

  it('keep all digits of 64 bits in summaries, joins, dissolved areas and cells', async () => {
    const statistics = [{ type: 'sum', field: 'big', name: 'total' }];
    const byZone = await sums('SELECT sum(big) FROM areas GROUP BY zone');
    expect(byZone.some((sum) => BigInt(Number(sum)) !== sum)).toBe(true);
    for (const id of ['analytics.summary-statistics', 'geometry.dissolve'])
      for (const outcome of await both(id, { groupBy: ['zone'], statistics }, 'total'))
        expect([id, outcome]).toEqual([id, byZone]);
    const joined =
      await sums(`SELECT coalesce(sum(b.big), -1) FROM places a LEFT JOIN areas b ON ST_Intersects(a.geom, b.geom)
      WHERE NOT ST_IsEmpty(a.geom) GROUP BY a.id`);
    const counted = await both(
      'analytics.spatial-join',
      { mode: 'count', statistics },
      'total',
      places,
      areas,
    );
    expect(counted.map((outcome) => outcome.map((sum) => sum ?? -1n))).toEqual([joined, joined]);
  });

  it('are as exact where they pass 0, and the nearest double beyond 64 bits', async () => {
    await sql.query(`CREATE TABLE huge (id int PRIMARY KEY, geom geometry(Point, 3857), kind text, n bigint);
      INSERT INTO huge SELECT i, ST_SetSRID(ST_Point(i, i), 3857), k, n FROM (VALUES
        (1, 'a', 1152921504606846979), (2, 'a', -1152921504606846976), (3, 'b', 9223372036854775807), (4, 'b', 9223372036854775807)
      ) AS v (i, k, n)`);
    const values = { groupBy: ['kind'], statistics: [{ type: 'sum', field: 'n', name: 'total' }] };
    const huge = await table('huge');
    for (const outcome of await both('analytics.summary-statistics', values, 'total', huge, huge))
      expect(outcome).toEqual([3n, 2 ** 64]);
  });
});

it('a summary of nothing is nothing', async () => {
  const values = { statistics: [{ type: 'sum', field: 'lanes' }] };
  const { theirs, ours } = await bothWays(
    'analytics.summary-statistics',
    values,
    filtered(areas, 'lanes > 99'),
  );
  expect([theirs.result.features, ours.result.features]).toEqual([0, 0]);
});

const COUNTS = [
  { type: 'sum', field: 'rank' },
  { type: 'avg', field: 'weight' },
  { type: 'max', field: 'name' },
];

const JOINS: [id: string, values: Record<string, unknown>, statement: string][] = [
  ['analytics.points-in-polygons', { statistics: COUNTS }, 'JOIN LATERAL with ST_Contains'],
  ['analytics.spatial-join', { mode: 'count', statistics: COUNTS }, 'JOIN LATERAL with ST_Intersects'],
  ['analytics.spatial-join', { mode: 'count', innerOnly: true }, 'JOIN LATERAL with ST_Intersects'],
  ['analytics.spatial-join', { mode: 'each' }, 'JOIN LATERAL with ST_Intersects'],
  ['analytics.spatial-join', { mode: 'each', innerOnly: true }, 'JOIN LATERAL with ST_Intersects'],
  [
    'analytics.spatial-join',
    { mode: 'count', predicate: 'dwithin', distance: 4, unit: 'crs' },
    'JOIN LATERAL with ST_DWithin',
  ],
  [
    'analytics.spatial-join',
    { mode: 'first', predicate: 'dwithin', distance: 4, unit: 'crs', innerOnly: true },
    'JOIN LATERAL with ST_DWithin',
  ],
  ['analytics.nearest', { count: 3, unit: 'crs' }, 'JOIN LATERAL, ordered by <->'],
  ['analytics.nearest', { count: 2, maxDistance: 2, unit: 'kilometre' }, 'JOIN LATERAL, ordered by <->'],
  [
    'analytics.nearest',
    { count: 2, maxDistance: 1, unit: 'crs', innerOnly: true },
    'JOIN LATERAL, ordered by <->',
  ],
];

describe.each(JOINS)('%s %j', (id, values, statement) => {
  it.each(['places', 'areas'])('is the same, of %s', async (name) => {
    const overlaid = name === 'places' ? places : areas;
    const [least, rule] = name === 'places' ? ['rank > 2', 'weight > 3'] : ['lanes > 2', "zone <> 'zone 2'"];
    const sides = [
      [areas, overlaid],
      [filtered(masked(areas), "zone <> 'zone 2'", 'lanes > 4'), filtered(masked(overlaid), rule!, least!)],
    ] as const;
    // The names of statistics are those of places.
    const own =
      name === 'places' ? values : { ...values, ...('statistics' in values ? { statistics: [] } : {}) };
    for (const [input, overlay] of sides) {
      const { decision, theirs, ours } = await bothWays(id, own, input, overlay);
      expect(decision).toEqual({ statement });
      expect(theirs.result.features).toBe(ours.result.features);
      expect(ours.result.features).toBeGreaterThan(20);
      // Of those at the same distance either comes first.
      const ties = id === 'analytics.nearest' || values['mode'] === 'first';
      const strip = (outcome: Outcome) =>
        ties ? { ...outcome, rows: outcome.rows.map(({ big, distance }) => ({ big, distance })) } : outcome;
      expect(contents(strip(theirs), false)).toEqual(contents(strip(ours), false));
    }
  });
});

it('a join of too many pairs is refused', () => {
  const task = taskOf('analytics.spatial-join', { mode: 'each' }, areas, areas);
  return underLimits({ processPairs: 10 }, async () => {
    for (const pushDown of [true, false])
      await expect(outcomeOf(task, pushDown)).rejects.toMatchObject({ code: 'too-large' });
  });
});

const REASONS: [
  id: string,
  values: Record<string, unknown>,
  input: string,
  overlay: string,
  reason: RegExp,
][] = [
  ['geometry.simplify', { tolerance: 1, preserveTopology: false }, 'areas', 'places', /no statement/],
  ['geometry.project', { targetCrs: 'EPSG:3035' }, 'areas', 'places', /no statement/],
  ['geometry.buffer', { distance: 5 }, 'degrees', 'places', /over the ground/],
  ['geometry.centroid', {}, 'heights', 'places', /heights/],
  ['geometry.centroid', {}, 'globe', 'places', /geographies/],
  ['geometry.centroid', { invalidGeometries: 'skip' }, 'areas', 'places', /invalid/],
  ['geometry.dissolve', {}, 'areas', 'places', /less work/],
  ['geometry.clip', {}, 'areas', 'places', /less work/],
  ['geometry.grid', { cellSize: 50, unit: 'crs' }, 'areas', 'places', /no statement/],
  [
    'analytics.summary-statistics',
    { statistics: [{ type: 'max', field: 'open' }] },
    'areas',
    'places',
    /order/,
  ],
  ['analytics.spatial-join', { mode: 'count' }, 'areas', 'degrees', /different CRS/],
  ['analytics.spatial-join', { mode: 'count' }, 'areas', 'bare', /no spatial index/],
  ['analytics.spatial-join', {}, 'areas', 'places', /first/],
  ['analytics.nearest', {}, 'degrees', 'degrees', /over the ground/],
];

it.each(REASONS)('%s %j of %s and %s is computed here', async (id, values, input, overlay, reason) => {
  const task = taskOf(id, values, await table(input), await table(overlay));
  expect(planPushDown(task.process, task.input, task.overlay, 'all')).toEqual({
    reason: expect.stringMatching(reason),
  });
});

it.each([
  ['geometry.centroid', {}, 'it takes less work here'],
  ['analytics.spatial-join', { mode: 'each' }, 'it takes less work here'],
  ['analytics.spatial-join', { mode: 'count' }, undefined],
  ['analytics.nearest', { unit: 'crs' }, undefined],
  ['analytics.summary-statistics', {}, undefined],
])('%s %j goes by the setting', (id, values, reason) => {
  const { process, input, overlay } = taskOf(id, values, areas, places);
  const decision = planPushDown(process, input, overlay, 'measured');
  expect(decision).toEqual(reason === undefined ? { statement: expect.any(String) } : { reason });
  expect(planPushDown(process, input, overlay, 'none')).toEqual({ reason: 'the settings say so' });
});

it('says nothing of files, and does not mix databases', () => {
  const { process, input, overlay } = taskOf('analytics.nearest', { unit: 'crs' }, areas, places);
  const { database: _, ...file } = input.source;
  const inFile = { ...input, source: { ...file, path: 'a.gpkg' } };
  expect(planPushDown(process, inFile, inFile, 'all')).toBeUndefined();
  expect(planPushDown(process, inFile, overlay, 'all')).toEqual({
    reason: expect.stringContaining('same database'),
  });
});

it('computes here what the database cannot', async () => {
  await sql.query(`CREATE TABLE broken AS SELECT 1 AS id, 'SRID=3857;POINT(NaN 1)'::geometry(Point, 3857) AS geom, 1e308::float8 AS size
    UNION ALL SELECT 2, 'SRID=3857;POINT(1 1)', 1e308`);
  await sql.query('ALTER TABLE broken ADD PRIMARY KEY (id)');
  const task = taskOf(
    'analytics.summary-statistics',
    { statistics: [{ type: 'sum', field: 'size' }] },
    await table('broken'),
    places,
  );
  const { result, rows } = await outcomeOf(task, true);
  expect(result.pushDownFault).toMatch(/cannot evaluate/);
  expect(rows).toEqual([{ fid: 1, featureCount: 2, sum_size: Number.POSITIVE_INFINITY }]);
});

it('bounds statements as its thread is told', async () => {
  const sleep = () => batches(postgres.url, 'SELECT pg_sleep(2)', [], 1).next();
  closeAll();
  boundStatements(200, 2000);
  await expect(sleep()).rejects.toMatchObject({ code: 'deadline-exceeded' });
  closeAll();
  boundStatements(60_000, 2000);
  await expect(sleep()).resolves.toMatchObject({ done: false });
  closeAll();
});
