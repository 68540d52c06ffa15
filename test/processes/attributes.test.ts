import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProcessFeatures } from '../../src/core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../src/core/processes/limits.js';
import Database from '../../src/native/sqlite.js';
import { PROCESSES } from '../../src/services/processes/catalogue/index.js';
import type { FeaturesFacts } from '../../src/services/processes/definition.js';
import { randomNumbers } from '../support/random.js';
import { expectSame, featuresOf, numbers, Reference } from './reference.js';

/** Processes that look at attributes or give features new ones, against PostGIS and PostgreSQL. */

let reference: Reference;

beforeAll(async () => {
  reference = await Reference.start();
  const random = randomNumbers(5);
  const points = Array.from({ length: 11_000 }, () => ({
    ...{ x: random(), y: random(), value: Math.round(random() * 1000) / 10 },
  }));
  await reference.points('points', 4326, points);
});
afterAll(() => reference?.stop());

const run = (id: string, values: Record<string, unknown>, file?: string | ProcessFeatures) =>
  reference.run(id, values, file ?? reference.file('points'));

describe('geometry.area and geometry.length', () => {
  const measure = async (id: string, values: Record<string, unknown>, sql: string, file = 'countries') => {
    const { rows } = await run(id, values, reference.file(file));
    const theirs = await reference.query(`SELECT ${sql} AS value FROM countries`);
    expectSame(id, numbers(rows, id.slice('geometry.'.length)), numbers(theirs, 'value'), 1e-9);
  };

  it('measure over the ground and in the plane', async () => {
    await measure('geometry.area', { unit: 'hectare' }, 'ST_Area(geom::geography) / 10000');
    await measure('geometry.area', { unit: 'crs' }, 'ST_Area(geom)');
    await measure('geometry.length', { unit: 'mile' }, 'ST_Perimeter(geom::geography) / 1609.344');
    await measure('geometry.length', { unit: 'crs' }, 'ST_Perimeter(geom)');
  });

  it('measure a projected layer in its plane, or over the ground where that is asked for', async () => {
    const { path } = await reference.run('geometry.project', { targetCrs: 'EPSG:3035' });
    const areas = async (values: Record<string, unknown>, sql: string) => {
      const { rows } = await run('geometry.area', { unit: 'square-kilometre', ...values }, path);
      const theirs = await reference.query(`SELECT ${sql} / 1e6 AS value FROM countries`);
      expectSame('geometry.area', numbers(rows, 'area'), numbers(theirs, 'value'), 1e-8);
    };
    await areas({}, 'ST_Area(ST_Transform(geom, 3035))');
    await areas({ method: 'geodesic' }, 'ST_Area(geom::geography)');
  });

  it('keep features without geometry', async () => {
    const line = {
      type: 'LineString',
      coordinates: [
        [0, 0],
        [0, 1],
      ],
    };
    const file = reference.stage('few', [
      { geometry: null, properties: { n: 1 } },
      { geometry: line, properties: { n: 2 } },
    ]);
    const { rows } = await run('geometry.length', { unit: 'crs' }, file);
    expect(rows.map(({ n, length }) => [n, length])).toEqual([
      [1, null],
      [2, 1],
    ]);
  });
});

describe('analytics.calculate-field', () => {
  it.each([
    ['(value + 1) / 2 * sqrt(value) - fid % 7', '(value + 1) / 2 * sqrt(value) - mod(id, 7)'],
    ['value / (fid - 5)', 'CASE WHEN id = 5 THEN 0 ELSE value / (id - 5) END'],
    ['power(value, 2) + abs(value - 50)', 'value ^ 2 + abs(value - 50)'],
  ])('%s is what PostgreSQL makes of it', async (expression, sql) => {
    const { rows } = await run('analytics.calculate-field', { name: 'result', expression });
    const theirs = await reference.query(`SELECT ${sql} AS result FROM points`);
    expectSame('analytics.calculate-field', numbers(rows, 'result'), numbers(theirs, 'result'), 1e-12);
  });

  it('makes texts, booleans and distances, and takes CQL2 JSON', async () => {
    const value = async (expression: unknown) => {
      const { rows } = await run('analytics.calculate-field', { name: 'new', expression });
      return rows[0]!['new'];
    };
    const [first] = await reference.query(
      'SELECT value, ST_Distance(geom::geography, ST_Point(0, 0, 4326)::geography) AS d FROM points WHERE id = 1',
    );
    expect(await value("concat('a', upper('b'))")).toBe('aB');
    expect(await value({ op: '<', args: [{ property: 'value' }, 101] })).toBe(1);
    expect(await value({ op: '+', args: [{ property: 'value' }, 1] })).toBe(Number(first!['value']) + 1);
    expect(await value('geodistance(geometry, POINT(0 0))')).toBeCloseTo(Number(first!['d']), 3);
  });

  it.each([
    [{ name: 'VALUE', expression: '1' }, '/inputs/name'],
    [{ name: 'new', expression: 'nothing + 1' }, '/inputs/expression'],
    [{ name: 'new', expression: 'value +' }, '/inputs/expression'],
    [{ name: 'new', expression: 'geometry' }, '/inputs/expression'],
  ])('%j is refused', async (values, name) => {
    await expect(run('analytics.calculate-field', values)).rejects.toMatchObject({
      errors: [{ name }],
    });
  });
});

it('features of a database, with ids of their own, get attributes, too', async () => {
  await reference.query(`CREATE TABLE sites AS SELECT gen_random_uuid() AS gid, i AS value,
      '2024-01-01T00:00:00Z'::timestamptz + i * interval '1 day' AS day,
      ST_Expand(ST_SetSRID(ST_Point(8 + i % 2, 47 + i * 0.001), 4326), 0.0004) AS shape
    FROM generate_series(1, 40) i; ALTER TABLE sites ADD PRIMARY KEY (gid)`);
  const sites = await reference.table('sites');
  const expression = 'value * 1000 + month(day) + length(gid) + geodistance(shape, shape)';
  const { rows } = await reference.run('analytics.calculate-field', { name: 'new', expression }, sites);
  const theirs = await reference.query(
    "SELECT value * 1000 + date_part('month', day AT TIME ZONE 'UTC') + 36 AS new FROM sites",
  );
  expectSame('analytics.calculate-field', numbers(rows, 'new'), numbers(theirs, 'new'), 0);
  expect(new Set(rows.map(({ gid }) => gid)).size).toBe(40);
  const { rows: clusters } = await reference.run('analytics.cluster', { eps: 300, minPoints: 2 }, sites);
  const members = new Map(clusters.map((row) => [Number(row['value']), row['clusterId']]));
  expect(new Set(members.values()).size).toBe(2);
  expect(members.get(1)).toBe(members.get(39));
  expect(members.get(1)).not.toBe(members.get(40));
});

it('analytics.calculate-field knows the fields alone that may be read', () => {
  const { work } = PROCESSES.get('analytics.calculate-field')!;
  const field = { type: 'integer', nullable: true } as const;
  const source = {
    ...{ kind: 'geopackage', table: 't', geometryColumn: 'geom', geometryType: 'Point', idColumn: 'fid' },
    ...{ hasZ: false, hasIndex: false, crs: 'EPSG:4326', writable: false },
    fields: [
      { name: 'shown', ...field },
      { name: 'secret', ...field },
    ],
  } as const;
  const facts = { source, fields: ['shown'], crs: { isGeographic: true, metresPerUnit: 111_319 } };
  const plan = (expression: string) =>
    work.kind === 'features' && work.plan({ name: 'new', expression }, facts as unknown as FeaturesFacts);
  expect(() => plan('shown + 1')).not.toThrow();
  expect(() => plan('secret + 1')).toThrow("there is no property 'secret'");
});

it('analytics.summary-statistics is what PostgreSQL makes of groups', async () => {
  const { path } = await run('analytics.calculate-field', { name: 'tens', expression: 'floor(value / 10)' });
  const statistics = ['count', 'sum', 'avg', 'min', 'max', 'stddev', 'median'].map((type) => ({
    ...{ type, field: 'value' },
  }));
  const percentile = { type: 'percentile', percentile: 90, field: 'value', name: 'p90' };
  const values = { groupBy: ['tens'], statistics: [...statistics, percentile] };
  const { rows } = await run('analytics.summary-statistics', values, path);
  const theirs = await reference.query(`SELECT floor(value / 10) AS tens, count(*) AS "featureCount",
      count(value) AS count_value, sum(value) AS sum_value, avg(value) AS avg_value, min(value) AS min_value,
      max(value) AS max_value, stddev(value) AS stddev_value,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median_value,
      percentile_cont(0.9) WITHIN GROUP (ORDER BY value) AS p90
    FROM points GROUP BY 1`);
  for (const name of Object.keys(theirs[0]!))
    expectSame('analytics.summary-statistics', numbers(rows, name), numbers(theirs, name), 1e-9);
});

it.each([
  ['analytics.summary-statistics', { groupBy: ['value'] }],
  ['geometry.dissolve', { groupBy: ['value'] }],
  ['analytics.h3-aggregate', { resolution: 7 }],
])('%s bounds the statistics of all groups together', async (id, values) => {
  const limits = PROCESS_LIMITS as { processStatistics: number };
  const { processStatistics } = limits;
  const statistics = ['min', 'max'].map((type) => ({ type, field: 'value' }));
  limits.processStatistics = 1500;
  try {
    await expect(run(id, { ...values, statistics })).rejects.toMatchObject({
      ...{ code: 'too-large', message: expect.stringContaining('750') },
    });
  } finally {
    limits.processStatistics = processStatistics;
  }
});

const square = (x: number, y: number, from = 0) => {
  const corners = [
    [x, y],
    [x + 1, y],
    [x + 1, y + 1],
    [x, y + 1],
  ];
  const ring = [...corners.slice(from), ...corners.slice(0, from)];
  return { type: 'Polygon', coordinates: [[...ring, ring[0]]] };
};

it('analytics.deduplicate keeps the first of the same', async () => {
  const features = [
    { geometry: square(0, 0), properties: { n: 1, s: 'a' } },
    { geometry: square(0, 0, 2), properties: { n: 2, s: 'a' } },
    { geometry: square(0, 0), properties: { n: 3, s: 'b' } },
    { geometry: null, properties: { n: 4, s: 'b' } },
    { geometry: null, properties: { n: 5, s: null } },
    { geometry: square(1, 0), properties: { n: 6, s: null } },
  ];
  const file = reference.stage('duplicates', features);
  const left = async (values: Record<string, unknown>) =>
    numbers((await run('analytics.deduplicate', values, file)).rows, 'n');
  expect(await left({})).toEqual([1, 4, 6]);
  expect(await left({ fields: ['s'] })).toEqual([1, 3, 4, 5, 6]);
  expect(await left({ geometry: false, fields: ['s'] })).toEqual([1, 3, 5]);
});

it('analytics.deduplicate keeps a feature whose equal has a geometry that cannot be read', async () => {
  const features = ['a', 'a', 'a', 'b'].map((s, n) => ({ geometry: square(n, 0), properties: { n, s } }));
  const file = reference.stage('damaged', features);
  const db = new Database(file);
  db.exec('UPDATE features SET geom = substr(geom, 1, 60) WHERE n IN (0, 2)');
  db.close();
  const { rows, result } = await run('analytics.deduplicate', { geometry: false, fields: ['s'] }, file);
  expect(numbers(rows, 'n')).toEqual([1, 3]);
  expect(result.faults).toBe(2);
});

it('processes of each feature read all, name what failed, and show masked values only', async () => {
  const features = Array.from({ length: 2500 }, (_, n) => ({
    geometry: n === 7 ? null : square(n % 100, 0),
    properties: { n, s: `text ${n}` },
  }));
  const file = reference.stage('many', features);
  const db = new Database(file);
  db.exec('UPDATE features SET geom = substr(geom, 1, 60) WHERE n IN (3, 2000)');
  db.exec('UPDATE features SET fid = -5 WHERE n = 9');
  db.pragma('journal_mode = WAL');
  db.close();
  const { source } = featuresOf(file);
  const mask = { treatment: 'null' } as const;
  const fields = source.fields.map((field) => (field.name === 's' ? { ...field, mask } : field));
  const input = { source: { ...source, fields }, filter: undefined, fields: ['n', 's'] };
  const { rows, result } = await run('geometry.centroid', {}, input);
  expect(result).toMatchObject({ features: 2497, read: 2500, faults: 2 });
  expect(result.faultList.map(({ id }) => id)).toEqual(['4', '2001']);
  expect(rows.map(({ n, s }) => [n, s])).toEqual(
    [9, ...Array.from({ length: 2500 }, (_, n) => n).filter((n) => ![3, 7, 9, 2000].includes(n))].map((n) => [
      n,
      null,
    ]),
  );
  const after = new Database(file);
  expect(after.pragma('journal_mode', { simple: true })).toBe('wal');
  after.close();
  const [place] = await reference.query('SELECT ST_AsText(geom) AS place FROM ours WHERE id = 1');
  expect(place!['place']).toBe('POINT(9.5 0.5)');
});

it('analytics.data-quality names each fault and its place', async () => {
  const bowTie = {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [2, 2],
        [2, 0],
        [0, 2],
        [0, 0],
      ],
    ],
  };
  const file = reference.stage('faults', [
    { geometry: square(0, 0), properties: { n: 1, s: 'a' } },
    { geometry: square(0, 0, 1), properties: { n: 2, s: null } },
    { geometry: bowTie, properties: { n: 3, s: null } },
    { geometry: null, properties: { n: 4, s: 'b' } },
    { geometry: square(179.5, 0), properties: { n: 5, s: 'b' } },
  ]);
  const { rows } = await run('analytics.data-quality', {}, file);
  const [place] = await reference.query(
    `SELECT ST_AsText(location(ST_IsValidDetail('POLYGON((0 0,2 2,2 0,0 2,0 0))'))) AS p,
      (SELECT ST_AsText(geom) FROM ours WHERE id = 2) AS ours`,
  );
  expect(place!['ours']).toBe(place!['p']);
  expect(
    rows.map((row) => [row['check'], row['featureId'], row['field'], row['detail'], row['count']]),
  ).toEqual([
    ['duplicate-geometry', 2, null, 'the same as 1', null],
    ['invalid-geometry', 3, null, 'Self-intersection', null],
    ['null-geometry', 4, null, null, null],
    ['out-of-extent', 5, null, null, null],
    ['null-values', null, 'n', null, 0],
    ['null-values', null, 's', null, 2],
    ['features', null, null, null, 5],
  ]);
});
