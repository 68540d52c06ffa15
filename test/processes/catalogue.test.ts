import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FeatureProcessResult, ProcessFeatures } from '../../src/core/feature-processes.js';
import { describeCrs } from '../../src/native/index.js';
import Database from '../../src/native/sqlite.js';
import { PROCESSES } from '../../src/services/processes/catalogue/index.js';
import { processFeatures } from '../../src/workers/process/features.js';
import { inspect } from '../../src/workers/providers/geopackage/inspect.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

/** Every process of features against PostGIS, on countries and their provinces. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-catalogue-'));
const COUNTRIES = join(folder, 'countries.gpkg');
const PROVINCES = join(folder, 'provinces.gpkg');

let postgres: TestPostgres;
let sql: pg.Client;

beforeAll(async () => {
  const take = (layer: string, where: string, file: string) =>
    execFileSync('ogr2ogr', [
      '-q',
      '-nln',
      'layer',
      '-where',
      where,
      file,
      'demo/data/world_map.gpkg',
      layer,
    ]);
  take('countries', "iso_a2 IN ('CH','AT','IT','BE','DK','LU')", COUNTRIES);
  take('states_provinces', "iso_a2 IN ('CH','AT')", PROVINCES);
  postgres = await startPostgres();
  sql = new pg.Client({ connectionString: postgres.url });
  await sql.connect();
  await sql.query('CREATE EXTENSION IF NOT EXISTS postgis');
  await load('countries', COUNTRIES);
  await load('provinces', PROVINCES);
  await sql.query('CREATE TABLE ours (id serial, geom geometry)');
});
afterAll(async () => {
  await sql?.end();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A GeoPackage blob as hexadecimal WKB. */
function wkbOf(blob: Buffer): string {
  const envelope = [0, 32, 48, 48, 64][(blob[3]! >> 1) & 7]!;
  return blob.subarray(8 + envelope).toString('hex');
}

function rowsOf(path: string): { geometry: string; row: Record<string, unknown> }[] {
  const { source } = inspect(path)[0]!;
  const db = new Database(path, { readonly: true });
  const rows = db.prepare(`SELECT * FROM "${source.table}" ORDER BY 1`).all() as Record<string, unknown>[];
  db.close();
  return rows.map((row) => ({ geometry: wkbOf(row[source.geometryColumn] as Buffer), row }));
}

async function load(table: string, path: string): Promise<void> {
  await sql.query(`CREATE TABLE ${table} (id int, code text, geom geometry)`);
  for (const { geometry, row } of rowsOf(path))
    await sql.query(`INSERT INTO ${table} VALUES ($1, $2, ST_SetSRID($3::geometry, 4326))`, [
      ...[row['fid'], row['iso_a2'], geometry],
    ]);
}

function featuresOf(path: string): ProcessFeatures {
  const { source } = inspect(path)[0]!;
  return { source, fields: source.fields.map(({ name }) => name) };
}

let runs = 0;

/** Does a process to countries; its rows are in the table `ours` then. */
async function run(
  id: string,
  values: Record<string, unknown>,
  input = COUNTRIES,
): Promise<{ result: FeatureProcessResult; rows: Record<string, unknown>[] }> {
  const { work } = PROCESSES.get(id)!;
  if (work.kind !== 'features') throw new Error(`${id} is not of features`);
  const features = featuresOf(input);
  const { isGeographic, metresPerUnit } = describeCrs(features.source.crs);
  const facts = { source: features.source, fields: features.fields, crs: { isGeographic, metresPerUnit } };
  const { process, fields } = work.plan(values, facts);
  const output = join(folder, `result-${runs++}.gpkg`);
  const result = await processFeatures({
    ...{ process, output, count: new SharedArrayBuffer(4) },
    input: { ...features, ...(fields ? { fields: [...fields] } : {}) },
    ...(work.overlay ? { overlay: featuresOf(PROVINCES) } : {}),
  });
  const rows = result.features === 0 ? [] : rowsOf(output);
  await sql.query('TRUNCATE ours RESTART IDENTITY');
  for (const { geometry } of rows)
    await sql.query('INSERT INTO ours (geom) VALUES ($1::geometry)', [geometry]);
  return { result, rows: rows.map(({ row }) => row) };
}

/** The largest deviation of rows, one by one: of areas the share that only one covers, else the Hausdorff distance. */
const DEVIATION = `
  WITH theirs AS (SELECT row_number() OVER () AS n, ST_SetSRID(geom, 0) AS geom FROM (%s) t),
    us AS (SELECT row_number() OVER (ORDER BY id) AS n, ST_SetSRID(geom, 0) AS geom FROM ours)
  SELECT (SELECT count(*) FROM theirs)::int AS theirs, (SELECT count(*) FROM us)::int AS us,
    max(CASE WHEN ST_OrderingEquals(us.geom, theirs.geom) THEN 0
      WHEN ST_Dimension(theirs.geom) = 2 THEN
        ST_Area(ST_SymDifference(ST_MakeValid(us.geom), ST_MakeValid(theirs.geom))) / greatest(1e-30, ST_Area(theirs.geom))
      ELSE ST_HausdorffDistance(us.geom, theirs.geom) END) AS deviation
  FROM us JOIN theirs USING (n)`;

async function deviationFrom(query: string): Promise<{ theirs: number; us: number; deviation: number }> {
  return (await sql.query(DEVIATION.replace('%s', query))).rows[0];
}

const each = (expression: string) => `SELECT ${expression} AS geom FROM countries ORDER BY id`;

/** Id, inputs, the reference, and the largest deviation that is let through. */
const CASES: [id: string, values: Record<string, unknown>, reference: string, most: number][] = [
  ['geometry.buffer', { distance: 0.2, unit: 'crs' }, each('ST_Buffer(geom, 0.2)'), 0],
  ['geometry.buffer', { distance: -0.05, unit: 'crs' }, each('ST_Buffer(geom, -0.05)'), 0],
  [
    'geometry.buffer',
    { distance: 0.2, unit: 'crs', cap: 'flat', join: 'mitre', segments: 4 },
    each("ST_Buffer(geom, 0.2, 'quad_segs=4 endcap=flat join=mitre')"),
    0,
  ],
  [
    'geometry.buffer',
    { distance: 5, unit: 'kilometre' },
    each('ST_Buffer(geom::geography, 5000)::geometry'),
    0.002,
  ],
  ['geometry.simplify', { tolerance: 0.1, unit: 'crs' }, each('ST_SimplifyPreserveTopology(geom, 0.1)'), 0],
  ['geometry.densify', { segmentLength: 0.05, unit: 'crs' }, each('ST_Segmentize(geom, 0.05)'), 1e-9],
  ['geometry.smooth', { iterations: 1 }, each('ST_ChaikinSmoothing(geom, 1)'), 1e-3],
  ['geometry.convex-hull', {}, each('ST_ConvexHull(geom)'), 0],
  ['geometry.concave-hull', { ratio: 0.4 }, each('ST_ConcaveHull(ST_Points(geom), 0.4, false)'), 1e-9],
  ['geometry.centroid', {}, each('ST_Centroid(geom)'), 1e-9],
  ['geometry.point-on-surface', {}, each('ST_PointOnSurface(geom)'), 0],
  ['geometry.boundary', {}, each('ST_Boundary(geom)'), 0],
  ['geometry.envelope', {}, each('ST_Envelope(geom)'), 1e-12],
  ['geometry.oriented-box', {}, each('ST_OrientedEnvelope(geom)'), 1e-9],
  ['geometry.bounding-circle', {}, each('ST_MinimumBoundingCircle(geom)'), 0.01],
  ['geometry.make-valid', {}, each("ST_MakeValid(geom, 'method=structure keepcollapsed=false')"), 0],
  ['geometry.snap', { cellSize: 0.1, unit: 'crs' }, each('ST_ReducePrecision(geom, 0.1)'), 0],
  ['geometry.project', { targetCrs: 'EPSG:3035' }, each('ST_Transform(geom, 3035)'), 1e-9],
  [
    'geometry.multipart-to-singlepart',
    {},
    'SELECT (ST_Dump(geom)).geom AS geom FROM countries ORDER BY id',
    0,
  ],
  ['geometry.union', {}, 'SELECT ST_Union(geom) AS geom FROM countries', 1e-12],
  ['geometry.layer-convex-hull', {}, 'SELECT ST_ConvexHull(ST_Collect(geom)) AS geom FROM countries', 0],
  [
    'geometry.layer-concave-hull',
    { ratio: 0.2 },
    'SELECT ST_ConcaveHull(ST_Collect(geom), 0.2, false) AS geom FROM countries',
    1e-9,
  ],
];

/** DEVIATIONS names a file that what was found is appended to, for the table in docs/processes.md. */
function note(id: string, deviation: number): void {
  const file = process.env['DEVIATIONS'];
  if (file) appendFileSync(file, `${id} ${deviation.toPrecision(2)}\n`);
}

it.each(CASES)('%s %j is what PostGIS makes', async (id, values, reference, most) => {
  await run(id, values);
  const { theirs, us, deviation } = await deviationFrom(reference);
  note(id, deviation);
  expect(us).toBe(theirs);
  expect(deviation).toBeLessThanOrEqual(most);
});

/** What two sets of areas cover alone, as a share of what the second covers. */
async function shareApart(reference: string): Promise<number> {
  const query = `WITH theirs AS (SELECT ST_Union(ST_SetSRID(geom, 0)) AS geom FROM (${reference}) t),
      us AS (SELECT ST_Union(ST_SetSRID(geom, 0)) AS geom FROM ours)
    SELECT ST_Area(ST_SymDifference(us.geom, theirs.geom)) / ST_Area(theirs.geom) AS share FROM us, theirs`;
  return (await sql.query(query)).rows[0].share;
}

const LEFT = 'SELECT ST_Difference(c.geom, (SELECT ST_Union(geom) FROM provinces)) AS geom FROM countries c';
const RIGHT = 'SELECT ST_Difference(p.geom, (SELECT ST_Union(geom) FROM countries)) AS geom FROM provinces p';
const SHARED =
  'SELECT ST_Intersection(c.geom, p.geom) AS geom FROM countries c, provinces p WHERE ST_Intersects(c.geom, p.geom)';
const AREAS = (query: string) => `SELECT geom FROM (${query}) q WHERE ST_Area(geom) > 0`;

it.each([
  [
    'geometry.clip',
    'SELECT ST_Intersection(c.geom, (SELECT ST_Union(geom) FROM provinces)) AS geom FROM countries c',
  ],
  ['geometry.difference', LEFT],
  ['geometry.intersect', SHARED],
  ['geometry.symmetric-difference', `${LEFT} UNION ALL ${RIGHT}`],
  ['geometry.union-overlay', `${SHARED} UNION ALL ${LEFT} UNION ALL ${RIGHT}`],
])('%s of countries and provinces is what PostGIS makes', async (id, reference) => {
  const { rows } = await run(id, {});
  const share = await shareApart(AREAS(reference));
  note(id, share);
  expect(share).toBeLessThan(1e-9);
  const { rows: theirs } = await sql.query(
    `SELECT count(*)::int AS n, sum(ST_Area(geom)) AS area FROM (${AREAS(reference)}) a`,
  );
  const { rows: ours } = await sql.query('SELECT sum(ST_Area(geom)) AS area FROM ours');
  expect(rows).toHaveLength(theirs[0].n);
  expect(ours[0].area / theirs[0].area).toBeCloseTo(1, 9);
});

it('an overlay has the attributes of both', async () => {
  const { rows } = await run('geometry.intersect', {});
  const pairs = await sql.query(
    'SELECT DISTINCT c.code AS a, p.code AS b FROM countries c, provinces p WHERE ST_Area(ST_Intersection(c.geom, p.geom)) > 0',
  );
  const ours = new Set(rows.map((row) => `${row['iso_a2']} ${row['iso_a2_']}`));
  expect([...ours].sort()).toEqual(pairs.rows.map(({ a, b }) => `${a} ${b}`).sort());
});

it('analytics.spatial-join counts, and carries attributes', async () => {
  const { rows: counts } = await run('analytics.spatial-join', { mode: 'count' });
  const theirs = await sql.query(
    'SELECT count(p.id)::int AS n FROM countries c LEFT JOIN provinces p ON ST_Intersects(c.geom, p.geom) GROUP BY c.id',
  );
  const sorted = (numbers: unknown[]) => numbers.map(Number).sort((a, b) => a - b);
  expect(sorted(counts.map(({ matchCount }) => matchCount))).toEqual(sorted(theirs.rows.map(({ n }) => n)));
  const { rows: pairs } = await run('analytics.spatial-join', { mode: 'each', innerOnly: true });
  const all = await sql.query(
    'SELECT c.code AS a, p.code AS b, count(*)::int AS n FROM countries c JOIN provinces p ON ST_Intersects(c.geom, p.geom) GROUP BY 1, 2 ORDER BY 1, 2',
  );
  const ours = new Map<string, number>();
  for (const row of pairs) {
    const key = `${row['iso_a2']} ${row['iso_a2_']}`;
    ours.set(key, (ours.get(key) ?? 0) + 1);
  }
  expect([...ours].sort()).toEqual(all.rows.map(({ a, b, n }) => [`${a} ${b}`, n]));
  const { rows: first } = await run('analytics.spatial-join', {});
  expect(first).toHaveLength(6);
});

it('geometry.dissolve makes a feature for each group, with statistics', async () => {
  const statistics = [{ type: 'count', field: 'iso_a2', name: 'provinces' }];
  const { rows } = await run('geometry.dissolve', { groupBy: ['iso_a2'], statistics }, PROVINCES);
  const reference = 'SELECT ST_Union(geom) AS geom FROM provinces GROUP BY code ORDER BY min(id)';
  const { deviation } = await deviationFrom(reference);
  note('geometry.dissolve', deviation);
  expect(deviation).toBeLessThan(1e-9);
  const counts = await sql.query(
    'SELECT code, count(*)::int AS n FROM provinces GROUP BY code ORDER BY min(id)',
  );
  expect(rows.map((row) => [row['iso_a2'], row['featureCount'], row['provinces']])).toEqual(
    counts.rows.map(({ code, n }) => [code, n, n]),
  );
});

it.each([
  ['geometry.voronoi', 'SELECT (ST_Dump(ST_VoronoiPolygons(ST_Collect(geom)))).geom AS geom FROM provinces'],
  [
    'geometry.delaunay',
    'SELECT (ST_Dump(ST_DelaunayTriangles(ST_Collect(geom)))).geom AS geom FROM provinces',
  ],
  [
    'geometry.polygonize',
    'SELECT (ST_Dump(ST_Polygonize(g))).geom AS geom FROM (SELECT ST_UnaryUnion(ST_Collect(geom)) AS g FROM provinces) p',
  ],
])('%s of the provinces has as many parts as in PostGIS, of the same area', async (id, reference) => {
  const { rows } = await run(id, {}, PROVINCES);
  const { rows: theirs } = await sql.query(
    `SELECT count(*)::int AS n, sum(ST_Area(geom)) AS area FROM (${reference}) a`,
  );
  const { rows: ours } = await sql.query('SELECT sum(ST_Area(geom)) AS area FROM ours');
  note(id, Math.abs(1 - ours[0].area / theirs[0].area));
  expect(rows).toHaveLength(theirs[0].n);
  expect(ours[0].area / theirs[0].area).toBeCloseTo(1, 9);
});

it('geometry.line-merge joins lines as PostGIS does', async () => {
  await run('geometry.boundary', {});
  const lines = join(folder, `result-${runs - 1}.gpkg`);
  await sql.query('CREATE TABLE boundaries AS SELECT * FROM ours');
  await run('geometry.line-merge', {}, lines);
  const { us, theirs, deviation } = await deviationFrom(
    'SELECT ST_LineMerge(geom) AS geom FROM boundaries ORDER BY id',
  );
  note('geometry.line-merge', deviation);
  expect([us, theirs, deviation]).toEqual([theirs, theirs, 0]);
});
