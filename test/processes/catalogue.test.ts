import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROCESS_LIMITS } from '../../src/core/processes/limits.js';
import { note, Reference, underLimits } from './reference.js';

/** Every process of features against PostGIS, on countries and their provinces. */

let reference: Reference;

beforeAll(async () => {
  reference = await Reference.start();
});
afterAll(() => reference?.stop());

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

it.each(CASES)('%s %j is what PostGIS makes', async (id, values, query, most) => {
  await reference.run(id, values);
  const { theirs, us, deviation } = await reference.deviationFrom(query);
  note(id, deviation);
  expect(us).toBe(theirs);
  expect(deviation).toBeLessThanOrEqual(most);
});

/** What two sets of areas cover alone, as a share of what the second covers. */
async function shareApart(areas: string): Promise<number> {
  const query = `WITH theirs AS (SELECT ST_Union(ST_SetSRID(geom, 0)) AS geom FROM (${areas}) t),
      us AS (SELECT ST_Union(ST_SetSRID(geom, 0)) AS geom FROM ours)
    SELECT ST_Area(ST_SymDifference(us.geom, theirs.geom)) / ST_Area(theirs.geom) AS share FROM us, theirs`;
  return (await reference.sql.query(query)).rows[0].share;
}

const LEFT = 'SELECT ST_Difference(c.geom, (SELECT ST_Union(geom) FROM provinces)) AS geom FROM countries c';
const RIGHT = 'SELECT ST_Difference(p.geom, (SELECT ST_Union(geom) FROM countries)) AS geom FROM provinces p';
const SHARED =
  'SELECT ST_Intersection(c.geom, p.geom) AS geom FROM countries c, provinces p WHERE ST_Intersects(c.geom, p.geom)';
const AREAS = (query: string) => `SELECT geom FROM (${query}) q WHERE ST_Area(geom) > 0`;

const OVERLAYS = [
  [
    'geometry.clip',
    'SELECT ST_Intersection(c.geom, (SELECT ST_Union(geom) FROM provinces)) AS geom FROM countries c',
  ],
  ['geometry.difference', LEFT],
  ['geometry.intersect', SHARED],
  ['geometry.symmetric-difference', `${LEFT} UNION ALL ${RIGHT}`],
  ['geometry.union-overlay', `${SHARED} UNION ALL ${LEFT} UNION ALL ${RIGHT}`],
] as const;

/** Bytes of the countries and of the provinces lie on both sides of the last one. */
const HELD = [
  ['in memory', PROCESS_LIMITS.processHeldBytes],
  ['in files', 0],
  ['of which one is too large', 160_000],
] as const;

it.each(HELD.flatMap(([where, bytes]) => OVERLAYS.map(([id, query]) => [id, where, bytes, query] as const)))(
  '%s of countries and provinces %s is what PostGIS makes',
  (id, _, processHeldBytes, query) =>
    underLimits({ processHeldBytes }, async () => {
      const { rows } = await reference.run(id, {});
      const share = await shareApart(AREAS(query));
      note(id, share);
      expect(share).toBeLessThan(1e-9);
      const { rows: theirs } = await reference.sql.query(
        `SELECT count(*)::int AS n, sum(ST_Area(geom)) AS area FROM (${AREAS(query)}) a`,
      );
      const { rows: ours } = await reference.sql.query('SELECT sum(ST_Area(geom)) AS area FROM ours');
      expect(rows).toHaveLength(theirs[0].n);
      expect(ours[0].area / theirs[0].area).toBeCloseTo(1, 9);
    }),
);

it('an overlay has the attributes of both', async () => {
  const { rows } = await reference.run('geometry.intersect', {});
  const pairs = await reference.sql.query(
    'SELECT DISTINCT c.code AS a, p.code AS b FROM countries c, provinces p WHERE ST_Area(ST_Intersection(c.geom, p.geom)) > 0',
  );
  const ours = new Set(rows.map((row) => `${row['iso_a2']} ${row['iso_a2_']}`));
  expect([...ours].sort()).toEqual(pairs.rows.map(({ a, b }) => `${a} ${b}`).sort());
});

it('analytics.spatial-join counts, and carries attributes', async () => {
  const { rows: counts } = await reference.run('analytics.spatial-join', { mode: 'count' });
  const theirs = await reference.sql.query(
    'SELECT count(p.id)::int AS n FROM countries c LEFT JOIN provinces p ON ST_Intersects(c.geom, p.geom) GROUP BY c.id',
  );
  const sorted = (numbers: unknown[]) => numbers.map(Number).sort((a, b) => a - b);
  expect(sorted(counts.map(({ matchCount }) => matchCount))).toEqual(sorted(theirs.rows.map(({ n }) => n)));
  const { rows: pairs } = await reference.run('analytics.spatial-join', { mode: 'each', innerOnly: true });
  const all = await reference.sql.query(
    'SELECT c.code AS a, p.code AS b, count(*)::int AS n FROM countries c JOIN provinces p ON ST_Intersects(c.geom, p.geom) GROUP BY 1, 2 ORDER BY 1, 2',
  );
  const ours = new Map<string, number>();
  for (const row of pairs) {
    const key = `${row['iso_a2']} ${row['iso_a2_']}`;
    ours.set(key, (ours.get(key) ?? 0) + 1);
  }
  expect([...ours].sort()).toEqual(all.rows.map(({ a, b, n }) => [`${a} ${b}`, n]));
  const { rows: first } = await reference.run('analytics.spatial-join', {});
  expect(first).toHaveLength(6);
});

it('geometry.dissolve makes a feature for each group, with statistics', async () => {
  const statistics = [{ type: 'count', field: 'iso_a2', name: 'provinces' }];
  const { rows } = await reference.run(
    'geometry.dissolve',
    { groupBy: ['iso_a2'], statistics },
    reference.file('provinces'),
  );
  const { deviation } = await reference.deviationFrom(
    'SELECT ST_Union(geom) AS geom FROM provinces GROUP BY code ORDER BY min(id)',
  );
  note('geometry.dissolve', deviation);
  expect(deviation).toBeLessThan(1e-9);
  const counts = await reference.sql.query(
    'SELECT code, count(*)::int AS n FROM provinces GROUP BY code ORDER BY min(id)',
  );
  expect(rows.map((row) => [row['iso_a2'], row['featureCount'], row['provinces']])).toEqual(
    counts.rows.map(({ code, n }) => [code, n, n]),
  );
});

it('analytics.buffer-aggregate unites buffers by groups', async () => {
  const values = { distance: 0.1, unit: 'crs', groupBy: ['iso_a2'] };
  const { rows } = await reference.run('analytics.buffer-aggregate', values, reference.file('provinces'));
  const { theirs, us, deviation } = await reference.deviationFrom(
    'SELECT ST_Union(ST_Buffer(geom, 0.1)) AS geom FROM provinces GROUP BY code ORDER BY min(id)',
  );
  note('analytics.buffer-aggregate', deviation);
  expect([us, rows.map(({ iso_a2 }) => iso_a2)]).toEqual([theirs, expect.arrayContaining(['CH', 'AT'])]);
  expect(deviation).toBeLessThan(1e-9);
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
])('%s of the provinces has as many parts as in PostGIS, of the same area', async (id, query) => {
  const { rows } = await reference.run(id, {}, reference.file('provinces'));
  const { rows: theirs } = await reference.sql.query(
    `SELECT count(*)::int AS n, sum(ST_Area(geom)) AS area FROM (${query}) a`,
  );
  const { rows: ours } = await reference.sql.query('SELECT sum(ST_Area(geom)) AS area FROM ours');
  note(id, Math.abs(1 - ours[0].area / theirs[0].area));
  expect(rows).toHaveLength(theirs[0].n);
  expect(ours[0].area / theirs[0].area).toBeCloseTo(1, 9);
});

it('geometry.snap-to-layer moves vertices as ST_Snap does', async () => {
  const { path: coarse } = await reference.run('geometry.snap', { cellSize: 0.02, unit: 'crs' });
  await reference.sql.query('CREATE TABLE coarse AS SELECT id, ST_SetSRID(geom, 4326) AS geom FROM ours');
  // Of one feature the vertices have an order, which decides where several are near.
  const { path: whole } = await reference.run('geometry.union', {}, reference.file('provinces'));
  await reference.sql.query('CREATE TABLE whole AS SELECT ST_SetSRID(geom, 4326) AS geom FROM ours');
  await reference.run('geometry.snap-to-layer', { tolerance: 0.03, unit: 'crs' }, coarse, whole);
  const { rows } = await reference.sql.query(`WITH theirs AS (SELECT
        ST_MakeValid(ST_Snap(c.geom, (SELECT geom FROM whole), 0.03), 'method=structure') AS geom FROM coarse c),
      us AS (SELECT ST_SetSRID(geom, 4326) AS geom FROM ours)
    SELECT (SELECT count(*)::int FROM us) AS count,
      (SELECT max((SELECT min(ST_Area(ST_SymDifference(us.geom, t.geom)) / ST_Area(t.geom)) FROM theirs t)) FROM us) AS apart,
      (SELECT count(*)::int FROM us WHERE NOT EXISTS (SELECT FROM coarse c WHERE ST_OrderingEquals(c.geom, us.geom))) AS moved`);
  note('geometry.snap-to-layer', rows[0].apart);
  expect(rows[0].count).toBe(6);
  expect(rows[0].moved).toBeGreaterThan(1);
  expect(rows[0].apart).toBeLessThan(1e-9);
});

it('geometry.line-merge joins lines as PostGIS does', async () => {
  const { path: lines } = await reference.run('geometry.boundary', {});
  await reference.sql.query('CREATE TABLE boundaries AS SELECT * FROM ours');
  await reference.run('geometry.line-merge', {}, lines);
  const { us, theirs, deviation } = await reference.deviationFrom(
    'SELECT ST_LineMerge(geom) AS geom FROM boundaries ORDER BY id',
  );
  note('geometry.line-merge', deviation);
  expect([us, theirs, deviation]).toEqual([theirs, theirs, 0]);
});
