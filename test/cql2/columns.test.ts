import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ALL_FEATURES,
  and,
  bboxFilter,
  check,
  type Expression,
  equals,
  equalsAny,
  parseText,
  temporalFilter,
} from '../../src/core/cql2/index.js';
import { CRS84, type Crs } from '../../src/core/geometry/crs.js';
import type {
  Field,
  FieldType,
  GeoPackageSource,
  PostgisSource,
} from '../../src/core/sources/vector-source.js';
import { closeAll, connect, statement } from '../../src/workers/providers/geopackage/connection.js';
import { passingRows } from '../../src/workers/providers/geopackage/queries/filter.js';
import { createSpatialIndex, prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { SqlParams } from '../../src/workers/providers/postgis/connections/params.js';
import { buildWhere } from '../../src/workers/providers/postgis/queries/filter.js';
import { geoPackageBlob, wkb } from '../native/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { findInGeoPackage } from './stores.js';

/** What a filter does with columns as the stores of others hold them, and with their indexes. */

describe('a GeoPackage', () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-cql2-'));
  let source: GeoPackageSource;

  beforeAll(() => {
    const path = join(folder, 'times.gpkg');
    const db = connect(path, false);
    prepareStore(db);
    db.exec(`CREATE TABLE times (fid INTEGER PRIMARY KEY, geom GEOMETRY, at DATETIME, day DATE, name TEXT COLLATE NOCASE);
      INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('times', 'features', 'times', 4326);
      INSERT INTO gpkg_geometry_columns VALUES ('times', 'geom', 'POINT', 4326, 0, 0)`);
    const insert = db.prepare('INSERT INTO times VALUES (?, ?, ?, ?, ?)');
    const rows = [
      ['2020-02-29T12:30:00.000Z', '2020-02-29', 'a'],
      ['2020-02-29T12:30:00Z', '2020-02-29', 'A'],
      ['2020-02-29 12:30:00', '2020-02-29T00:00:00Z', 'b'],
      ['2020-02-29T13:30:00+01:00', '2020-02-29', 'B'],
      ['2020-02-29T12:30:00.001Z', '2020-03-01', 'c'],
      ['no time at all', 'no day', ''],
      [null, null, null],
      ['-000043-03-15T12:00:00Z', '-000043-03-15', 'd'],
      ['+012345-12-31T23:30:00-01:00', '+012345-06-07', 'e'],
    ];
    for (const [i, row] of rows.entries())
      insert.run(i + 1, geoPackageBlob(wkb({ type: 'Point', coordinates: [10 * i, i] })), ...row);
    createSpatialIndex(db, 'times', 'geom', 'fid');
    db.close();
    source = inspectGeoPackage(path)[0]!.source as GeoPackageSource;
  });
  afterAll(() => {
    closeAll();
    rmSync(folder, { recursive: true });
  });

  const checked = (text: string, filterCrs: Crs = CRS84) => check(parseText(text), { ...source, filterCrs });

  it.each<[text: string, ids: number[]]>([
    ["at = TIMESTAMP('2020-02-29T12:30:00Z')", [1, 2, 3, 4]],
    ["at > TIMESTAMP('2020-02-29T12:30:00Z')", [5, 9]],
    ["at > TIMESTAMP('2020-02-29T12:30:00.0005Z')", [5, 9]],
    ["at < TIMESTAMP('0001-01-01T00:00:00Z')", [8]],
    ["at = TIMESTAMP('-000043-03-15T12:00:00Z')", [8]],
    ["at = TIMESTAMP('+012346-01-01T00:30:00Z')", [9]],
    ["day < DATE('-000042-01-01')", [8]],
    ["day = DATE('+012345-06-07')", [9]],
    ['year(at) = -43', [8]],
    ['year(at) = 12346', [9]],
    ['month(at) = 3', [8]],
    ['hour(at) = 0', [9]],
    ["T_INTERSECTS(at, INTERVAL('-000044-01-01', '-000043-12-31'))", [8]],
    ["at <> TIMESTAMP('2020-02-29T12:30:00.001Z')", [1, 2, 3, 4, 8, 9]],
    ["day = DATE('2020-02-29')", [1, 2, 3, 4]],
    ['at IS NULL', [7]],
    ['day IS NOT NULL', [1, 2, 3, 4, 5, 6, 8, 9]],
    ["T_INTERSECTS(at, DATE('2020-02-29'))", [1, 2, 3, 4, 5]],
    ["name = 'a'", [1]],
    ["name IN ('a', 'b')", [1, 3]],
    ["name < 'a'", [2, 4, 6]],
    ["name LIKE 'a'", [1]],
  ])('reads instants and texts as its producers write them: %s', (text, ids) => {
    expect(findInGeoPackage(source, checked(text))).toEqual(ids);
  });

  it('takes what parameters become', () => {
    const start = Date.UTC(2020, 1, 29);
    const end = Date.UTC(2020, 1, 29, 12, 30);
    const find = (filter: Expression | undefined) => findInGeoPackage(source, filter ?? ALL_FEATURES);
    expect(find(and(temporalFilter('at', 'date-time', { start, end })))).toEqual([1, 2, 3, 4]);
    expect(find(temporalFilter('day', 'date', { start: end }))).toEqual([1, 2, 3, 4, 5, 9]);
    expect(find(temporalFilter('day', 'date', {}))).toEqual([1, 2, 3, 4, 5, 8, 9]);
    expect(find(and(equalsAny('fid', [2, 3, 99]), equals('name', 'b')))).toEqual([3]);
    expect(find(equals('name', null))).toEqual([7]);
    expect(find(equalsAny('fid', []))).toEqual([]);
    expect(find(and(bboxFilter('geom', [-1, -1, 0, 15, 3, 9], 'OGC:CRS84'), equals('fid', 2)))).toEqual([2]);
    expect(find(and())).toHaveLength(9);
  });

  it('reads geometries in the axis order and CRS of the filter', () => {
    const northFirst = { ...CRS84, proj: 'EPSG:4326', northFirst: true };
    const mercator = { ...CRS84, proj: 'EPSG:3857', epsg: 3857, geographic: false };
    expect(findInGeoPackage(source, checked('S_EQUALS(geometry, POINT(2 20))', northFirst))).toEqual([3]);
    expect(findInGeoPackage(source, checked('S_INTERSECTS(geom, BBOX(1,9,4,31))', northFirst))).toEqual([
      2, 3, 4,
    ]);
    const window = 'POLYGON((1000000 -5,4000000 -5,4000000 900000,1000000 900000,1000000 -5))';
    expect(findInGeoPackage(source, checked(`S_WITHIN(geom, ${window})`, mercator))).toEqual([2, 3, 4]);
    expect(
      findInGeoPackage(source, checked('S_WITHIN(geom, BBOX(1000000,-5,4000000,900000))', mercator)),
    ).toEqual([2, 3, 4]);
  });

  it('asks the spatial index where a condition stands between ANDs', () => {
    const plan = (text: string) => {
      const { sql, values } = passingRows(source, checked(text));
      return JSON.stringify(statement(source.path, `EXPLAIN QUERY PLAN ${sql}`).all(...values));
    };
    for (const condition of [
      'S_INTERSECTS(geom, BBOX(0,0,1,1))',
      'S_WITHIN(geom, POLYGON((0 0,1 0,1 1,0 0)))',
      'S_CONTAINS(POLYGON((0 0,1 0,1 1,0 0)), geom)',
    ])
      expect(plan(`name = 'a' AND (fid > 1 AND ${condition})`)).toMatch(/VIRTUAL TABLE INDEX/);
    expect(plan('S_DISJOINT(geom, POINT(0 0))')).not.toMatch(/VIRTUAL TABLE INDEX/);
    expect(plan('fid IN (1, 2)')).toMatch(/USING INTEGER PRIMARY KEY/);
  });
});

describe('a PostGIS table', () => {
  const field = (name: string, type: FieldType, sqlType: string): Field => ({
    name,
    type,
    sqlType,
    nullable: true,
  });
  let server: TestPostgres;
  let client: pg.Client;
  let source: PostgisSource;

  beforeAll(async () => {
    server = await startPostgres();
    client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`SET TIME ZONE 'UTC';
      CREATE TYPE mood AS ENUM ('sad', 'happy');
      CREATE TABLE things (id uuid PRIMARY KEY, geom geography(Point, 4326), mood mood, code char(4), label varchar(9) COLLATE "C",
        amount numeric(12,2), tiny smallint, at timestamp, seen timestamptz(0), day date, words text[], numbers int4[],
        doc json, other uuid, posix text COLLATE "POSIX" DEFAULT 'x');
      INSERT INTO things VALUES
        ('00000000-0000-0000-0000-000000000001', 'POINT(1 1)', 'sad', 'ab', 'x', 1.10, 1, '2020-02-29 12:30',
          '2020-02-29 12:30Z', '2020-02-29', '{a,b}', '{1,2}', '["a",1]', NULL),
        ('00000000-0000-0000-0000-00000000000a', 'POINT(2 2)', 'happy', 'cd', 'y', 2.20, 2, '2020-03-01 00:00',
          '2020-03-01 00:00Z', '2020-03-01', '{}', NULL, '{}', '00000000-0000-0000-0000-000000000001');
      CREATE INDEX ON things (seen); CREATE INDEX ON things (at); CREATE INDEX ON things (tiny);
      CREATE INDEX ON things (label)`);
    source = {
      kind: 'postgis',
      database: server.url,
      schema: 'public',
      table: 'things',
      geometryColumn: 'geom',
      geography: true,
      geometryType: 'Point',
      hasZ: false,
      srid: 4326,
      idColumn: 'id',
      idType: 'uuid',
      hasIndex: false,
      crs: 'EPSG:4326',
      fields: [
        field('mood', 'string', 'mood'),
        field('code', 'string', 'character(4)'),
        field('label', 'string', 'character varying(9)'),
        field('amount', 'number', 'numeric(12,2)'),
        field('tiny', 'integer', 'smallint'),
        field('at', 'date-time', 'timestamp without time zone'),
        field('seen', 'date-time', 'timestamp(0) with time zone'),
        field('day', 'date', 'date'),
        field('words', 'array', 'text[]'),
        field('numbers', 'array', 'integer[]'),
        field('doc', 'json', 'json'),
        field('other', 'string', 'uuid'),
        field('posix', 'string', 'text'),
      ],
      writable: false,
    };
  });
  afterAll(async () => {
    await client?.end();
    await server?.stop();
  });

  const whereSql = (text: string) => {
    const params = new SqlParams();
    const where = buildWhere(source, check(parseText(text), { ...source, filterCrs: CRS84 }), params);
    return { where, values: [...params.values] };
  };

  it.each<[text: string, tinies: number[]]>([
    ["id = '00000000-0000-0000-0000-00000000000A'", [2]],
    ["id IN ('00000000-0000-0000-0000-00000000000a', 'no uuid')", [2]],
    ["id = 'no uuid'", []],
    ["id <> 'no uuid'", [1, 2]],
    ["id > '00000000-0000-0000-0000-000000000001'", [2]],
    ["other IN ('00000000-0000-0000-0000-000000000001')", [2]],
    ['other = id OR other IS NULL', [1]],
    ["CASEI(id) LIKE '%A'", []],
    ["CASEI(id) LIKE CASEI('%A')", [2]],
    ['posix = label', [1]],
    ["posix IN (label, code) AND CONCAT(posix, label) LIKE 'x_'", [1]],
    ["STARTSWITH(posix, label) AND UPPER(CONCAT(label, posix)) = 'XX'", [1]],
    ["mood = 'happy'", [2]],
    ["mood = 'angry'", []],
    ["mood < 'i'", [2]],
    ["code = 'ab'", [1]],
    ["label IN ('x', 'z')", [1]],
    ['amount = 1.1', [1]],
    ['amount > 1.5 AND amount BETWEEN 2 AND 2.2', [2]],
    ['tiny = 1.0', [1]],
    ['tiny = 1.5 OR tiny > 1000000', []],
    ['amount * 10 = 11', [1]],
    ["at = TIMESTAMP('2020-02-29T12:30:00Z')", [1]],
    ["seen < TIMESTAMP('2020-03-01T00:00:00Z')", [1]],
    ["at = seen AND at >= DATE('2020-03-01')", [2]],
    ["T_INTERSECTS(at, DATE('2020-02-29')) AND T_EQUALS(day, DATE('2020-02-29'))", [1]],
    ['YEAR(at) = 2020 AND HOUR(at) = 12 AND HOUR(seen) = 12 AND MONTH(day) = 2', [1]],
    ["A_CONTAINS(words, ('a'))", [1]],
    ['A_EQUALS(numbers, (2, 1.0, 2))', [1]],
    ['NOT A_CONTAINS(numbers, (1))', []],
    ["A_CONTAINEDBY(words, ('z'))", [2]],
    ['A_OVERLAPS(doc, words)', [1]],
    ['doc IS NOT NULL', [1, 2]],
    ['S_INTERSECTS(geom, BBOX(0,0,1.5,1.5))', [1]],
    ['S_EQUALS(geom, POINT(2 2))', [2]],
    ['S_DWITHIN(geom, POINT(1 1.5), 60000)', [1]],
    ['S_BEYOND(geom, POINT(1 1.5), 60000)', [2]],
  ])('%s', async (text, tinies) => {
    const { where, values } = whereSql(text);
    const { rows } = await client.query(`SELECT tiny FROM things t WHERE ${where} ORDER BY tiny`, values);
    expect(rows.map(({ tiny }) => tiny)).toEqual(tinies);
  });

  it.each([
    "id = '00000000-0000-0000-0000-00000000000a'",
    "id IN ('00000000-0000-0000-0000-00000000000a', 'x')",
    "seen > TIMESTAMP('2020-02-29T12:30:00Z')",
    "at > TIMESTAMP('2020-02-29T12:30:00Z')",
    "T_DURING(INTERVAL(at, at), INTERVAL('2020-01-01T00:00:00Z', '2020-01-02T00:00:00Z'))",
    'tiny = 7',
    'tiny IN (7, 8)',
    "label = 'x'",
  ])('has its index asked for %s', async (text) => {
    const { where, values } = whereSql(text);
    await client.query('SET enable_seqscan = off');
    const { rows } = await client.query(`EXPLAIN SELECT tiny FROM things t WHERE ${where}`, values);
    expect(JSON.stringify(rows)).toMatch(/Index (Only )?Scan|Bitmap Index Scan/);
    expect(JSON.stringify(rows)).toMatch(/Index Cond/);
  });
});
