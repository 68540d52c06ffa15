import { latLngToCell } from 'h3-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROCESS_LIMITS } from '../../src/core/processes/limits.js';
import { randomNumbers } from '../support/random.js';
import { expectSame, note, numbers, Reference } from './reference.js';

/** Processes that look for patterns, against PostGIS, h3-js and their formulas in SQL. */

let reference: Reference;

beforeAll(async () => {
  reference = await Reference.start();
  const random = randomNumbers(17);
  // Heaps in a square of 10 km, and strays.
  const points = Array.from({ length: 1500 }, (_, i) => {
    const heap = i % 6;
    const [x, y] =
      heap === 5
        ? [random() * 10_000, random() * 10_000]
        : [heap * 2000 + random() * 400, (heap % 3) * 3000 + random() * 400];
    return { x, y, value: Math.round(random() * 40 + (heap === 2 ? 60 : 0)) };
  });
  await reference.points('places', 3857, points);
  await reference.points(
    'towns',
    4326,
    points.map(({ x, y, value }) => ({ x: 8 + x / 20_000, y: 47 + y / 20_000, value })),
  );
});
afterAll(() => reference?.stop());

const run = (id: string, values: Record<string, unknown>, file = 'places') =>
  reference.run(id, values, reference.file(file));

describe('geometry.grid', () => {
  it.each([
    ['square', 'ST_SquareGrid'],
    ['hexagon', 'ST_HexagonGrid'],
  ])('has the %ss of %s', async (shape, name) => {
    await run('geometry.grid', { cellSize: 0.7, unit: 'crs', shape }, 'provinces');
    const { rows } =
      await reference.sql.query(`WITH box AS (SELECT ST_Extent(geom)::geometry AS geom FROM provinces),
        theirs AS (SELECT g.geom FROM box, ${name}(0.7, ST_SetSRID(box.geom, 4326)) g
          WHERE ST_Area(ST_Intersection(g.geom, ST_SetSRID(box.geom, 4326))) > 1e-9)
      SELECT (SELECT count(*)::int FROM theirs) AS theirs, (SELECT count(*)::int FROM ours) AS ours,
        (SELECT count(*)::int FROM theirs t JOIN ours o
          ON ST_Area(ST_SymDifference(t.geom, ST_SetSRID(o.geom, 4326))) < 1e-9) AS same`);
    expect(rows[0].theirs).toBeGreaterThan(20);
    expect(rows[0]).toEqual({ theirs: rows[0].theirs, ours: rows[0].theirs, same: rows[0].theirs });
    note('geometry.grid', 0);
  });

  it('of too many cells is refused', async () => {
    await expect(run('geometry.grid', { cellSize: 0.0001, unit: 'crs' }, 'provinces')).rejects.toMatchObject({
      code: 'too-large',
    });
  });

  it.each([
    ['square', 1e-14],
    ['hexagon', 1e-17],
  ])('of %ss of %d, whose columns are no exact numbers, is refused', async (shape, cellSize) => {
    const point = { type: 'Point', coordinates: [179.123456, 85] };
    reference.stage('point', [{ geometry: point, properties: {} }]);
    await expect(run('geometry.grid', { cellSize, unit: 'crs', shape }, 'point')).rejects.toMatchObject({
      ...{ code: 'invalid-input', message: expect.stringContaining('cellSize') },
    });
  });
});

it('analytics.h3-aggregate counts as h3-js does', async () => {
  const statistics = [{ type: 'max', field: 'value', name: 'most' }];
  const { rows } = await run('analytics.h3-aggregate', { resolution: 7, statistics }, 'towns');
  const cells = new Map<string, { count: number; most: number }>();
  for (const row of await reference.query('SELECT ST_X(geom) AS x, ST_Y(geom) AS y, value FROM towns')) {
    const cell = latLngToCell(Number(row['y']), Number(row['x']), 7);
    const { count, most } = cells.get(cell) ?? { count: 0, most: 0 };
    cells.set(cell, { count: count + 1, most: Math.max(most, Number(row['value'])) });
  }
  const ours = new Map(rows.map((row) => [row['h3'], { count: row['featureCount'], most: row['most'] }]));
  expect(ours).toEqual(cells);
});

describe('analytics.cluster', () => {
  it('parts features as ST_ClusterDBSCAN does', async () => {
    const { rows } = await run('analytics.cluster', { eps: 60, minPoints: 6 });
    const theirs = await reference.query(
      'SELECT ST_ClusterDBSCAN(geom, 60, 6) OVER () AS cluster FROM places ORDER BY id',
    );
    // Numbers are those of the first feature of each cluster here, and others there.
    const names = new Map<unknown, unknown>();
    const labels = theirs.map(({ cluster }) => {
      if (cluster === null) return -1;
      if (!names.has(cluster)) names.set(cluster, names.size);
      return names.get(cluster);
    });
    expect(names.size).toBeGreaterThan(4);
    const differ = numbers(rows, 'clusterId').filter((cluster, i) => cluster !== labels[i]);
    note('analytics.cluster', differ.length / rows.length);
    // Features at the rim of two clusters may be in either.
    expect(differ.length).toBeLessThan(rows.length / 200);
  });

  it('takes a number of clusters, and metres in degrees', async () => {
    const { rows } = await run('analytics.cluster', { algorithm: 'kmeans', k: 7 }, 'towns');
    expect(new Set(numbers(rows, 'clusterId')).size).toBe(7);
    const near = await run('analytics.cluster', { eps: 0.3, unit: 'kilometre' }, 'towns');
    const theirs = await reference.query(`SELECT count(DISTINCT cluster)::int AS n FROM
      (SELECT ST_ClusterDBSCAN(ST_Transform(geom, 2056), 300, 5) OVER () AS cluster FROM towns) c`);
    expect(Math.max(...numbers(near.rows, 'clusterId')) + 1).toBe(theirs[0]!['n']);
  });
});

it('a second run keeps the columns of the first beside its own', async () => {
  const first = await run('analytics.cluster', { eps: 60, minPoints: 6 });
  const kmeans = { algorithm: 'kmeans', k: 7 };
  const second = await reference.run('analytics.cluster', kmeans, first.path);
  expect(numbers(second.rows, 'clusterId')).toEqual(numbers(first.rows, 'clusterId'));
  expect(numbers(second.rows, 'clusterId_')).toEqual(
    numbers((await run('analytics.cluster', kmeans)).rows, 'clusterId'),
  );
  const near = await run('analytics.hot-spots', { field: 'value', radius: 300 });
  const far = await run('analytics.hot-spots', { field: 'value', radius: 900 });
  const both = await reference.run('analytics.hot-spots', { field: 'value', radius: 900 }, near.path);
  for (const name of ['giZ', 'giP', 'giConfidence']) {
    expect(numbers(both.rows, name)).toEqual(numbers(near.rows, name));
    expect(numbers(both.rows, `${name}_`)).toEqual(numbers(far.rows, name));
  }
});

describe('analytics.density', () => {
  const kernel = (distance: string, radius: number) =>
    `sum(p.value * 3 / (pi() * ${radius} ^ 2) * (1 - (${distance} / ${radius}) ^ 2) ^ 2)`;

  it.each([
    ['square', 'ST_SquareGrid'],
    ['hexagon', 'ST_HexagonGrid'],
  ])('is that of the kernel at the centres of %ss', async (shape, name) => {
    const values = { cellSize: 0.2, radius: 0.9, unit: 'kilometre', shape, weightField: 'value' };
    const { rows } = await run('analytics.density', values);
    const theirs =
      await reference.query(`SELECT 1e6 * ${kernel('ST_Distance(ST_Centroid(g.geom), p.geom)', 900)} AS density
      FROM ${name}(200, (SELECT ST_SetSRID(ST_Expand(ST_Extent(geom)::geometry, 1500), 3857) FROM places)) g
      JOIN places p ON ST_DWithin(ST_Centroid(g.geom), p.geom, 899.999999) GROUP BY g.i, g.j`);
    const total = (list: number[]) => list.reduce((sum, value) => sum + value, 0);
    const [ours, others] = [numbers(rows, 'density'), numbers(theirs, 'density')];
    expectSame('analytics.density', [total(ours)], [total(others)], 1e-9);
    expectSame(
      'analytics.density',
      ours.filter((d) => d > 1),
      others.filter((d) => d > 1),
      1e-9,
    );
  });

  it('of too many cells is refused before all of them are there', async () => {
    const limits = PROCESS_LIMITS as { processCells: number };
    const { processCells } = limits;
    const features = Array.from({ length: 700 }, (_, i) => ({
      geometry: { type: 'Point', coordinates: [(i % 28) * 6 - 80, Math.floor(i / 28) * 5 - 60] },
      properties: {},
    }));
    reference.stage('strays', features);
    limits.processCells = 1000;
    try {
      // Each has 31,000 cells: all of them are more than a Map holds.
      const density = run('analytics.density', { cellSize: 1, radius: 100, unit: 'kilometre' }, 'strays');
      await expect(density).rejects.toMatchObject({ code: 'too-large' });
    } finally {
      limits.processCells = processCells;
    }
  });

  it('has metres over the ground in degrees', async () => {
    const { rows } = await run('analytics.density', { cellSize: 500, radius: 1500 }, 'towns');
    const total = numbers(rows, 'density').reduce((sum, value) => sum + value, 0) * 500 * 500;
    // The kernel holds each feature once.
    expect(total / 1500).toBeCloseTo(1, 2);
    const [extent] = await reference.query(
      'SELECT ST_Extent(geom)::text AS box, (SELECT ST_Extent(geom)::text FROM towns) AS towns FROM ours',
    );
    expect(String(extent!['box'])).toMatch(/^BOX\([78]\.\d+ 4[67]/);
  });
});

it.each([
  ['places', 'geom', 500],
  ['towns', 'ST_Transform(geom, 2056)', 900],
])('analytics.hot-spots of %s is the formula of Getis and Ord', async (file, geometry, radius) => {
  const { rows } = await run('analytics.hot-spots', { field: 'value', radius }, file);
  const theirs = await reference.query(`WITH p AS (SELECT id, value, ${geometry} AS geom FROM ${file}),
      g AS (SELECT count(*)::float8 AS n, avg(value) AS mean, sqrt(sum(value ^ 2) / count(*) - avg(value) ^ 2) AS s FROM p)
    SELECT (sum(b.value) - mean * count(*)) / (s * sqrt((n * count(*) - count(*) ^ 2) / (n - 1))) AS z
    FROM g, p a JOIN p b ON ST_DWithin(a.geom, b.geom, ${radius}) GROUP BY a.id, n, mean, s ORDER BY a.id`);
  const z = numbers(rows, 'giZ');
  const apart = z.map((value, i) => Math.abs(value - Number(theirs[i]!['z'])));
  if (file === 'places') note('analytics.hot-spots', Math.max(...apart));
  // Planes of different projections disagree about pairs at the rim of the radius.
  const most = file === 'places' ? 1e-9 : 0.5;
  expect(apart.filter((difference) => difference > most)).toHaveLength(0);
  const p = numbers(rows, 'giP');
  const confidence = numbers(rows, 'giConfidence');
  z.forEach((value, i) => {
    expect(p[i]).toBeCloseTo(tails(value), 9);
    const level =
      Math.abs(value) >= 2.5758 ? 99 : Math.abs(value) >= 1.96 ? 95 : Math.abs(value) >= 1.6449 ? 90 : 0;
    expect(Math.abs(confidence[i]!)).toBe(level);
  });
  expect(Math.min(...confidence)).toBe(-99);
  expect(Math.max(...confidence)).toBe(99);
});

/** Both tails of the normal distribution beyond z, by Simpson's rule. */
function tails(z: number): number {
  const [steps, end] = [2000, 12];
  const from = Math.min(Math.abs(z), end);
  const width = (end - from) / steps;
  const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  let sum = density(from) + density(end);
  for (let i = 1; i < steps; i++) sum += density(from + i * width) * (i % 2 === 1 ? 4 : 2);
  return (2 * sum * width) / 3;
}
