import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_TABLES, type TableRule } from '../../../src/core/catalog/table-rule.js';
import type { Field, PostgisSource } from '../../../src/core/sources/vector-source.js';
import type { DiscoveredDatabase, Patience } from '../../../src/core/tasks/vector-tasks.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../../src/workers/providers/postgis/schema/discover.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { page, run } from './support.js';

const SCHEMA = `
  CREATE SCHEMA "Odd ""Schema""";
  CREATE TABLE "Odd ""Schema"""."Tablé \u{1F30D}" ("Id" serial PRIMARY KEY, "GeOm" geometry(Point, 25832), "a""b" text);
  INSERT INTO "Odd ""Schema"""."Tablé \u{1F30D}" VALUES (1, ST_SetSRID(ST_MakePoint(500000, 5600000), 25832), 'x');

  CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
  CREATE TYPE pair AS (a int, b text);
  CREATE DOMAIN postcode AS varchar(10) NOT NULL;
  CREATE TABLE kinds (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, geom geometry(MultiPolygonZ, 4326) NOT NULL,
    i2 smallint, i4 integer NOT NULL, i8 bigint, f4 real, f8 double precision, n numeric(30, 10), b boolean,
    t text, v varchar(20), c char(5), u uuid, j json, jb jsonb, d date, ts timestamp, tz timestamptz, ti time,
    iv interval, by bytea, m mood, p pair, ia int[], ta text[], r int4range, ip inet, code postcode,
    twice int GENERATED ALWAYS AS (i4 * 2) STORED, geom2 geometry(Point, 3857));
  COMMENT ON TABLE kinds IS 'Every kind of column.';
  COMMENT ON COLUMN kinds.m IS 'How it feels.';
  CREATE INDEX ON kinds USING gist (geom);
  INSERT INTO kinds VALUES (DEFAULT, 'SRID=4326;MULTIPOLYGON Z (((0 0 1, 2 0 2, 2 2 3, 0 0 1)))', 1, 2,
    9007199254740993, 0.1, 1e-7, 12345678901234567890.0123456789, true, 'é"', 'v', 'c',
    '7fc2c4f0-0e1f-4a5b-9c3d-000102030405', '{"a": 1}', '[1, null]', '2020-02-29', '2020-01-02 03:04:05',
    '2020-01-02 03:04:05+02', '12:30', '1 day 2 hours', '\\x00ff', 'ok', '(1,x)', '{1,NULL,3}', '{a,"b c"}',
    '[1,5)', '10.0.0.1', '12345', DEFAULT, 'SRID=3857;POINT(100 100)');
  INSERT INTO kinds (geom, i4, code) VALUES ('SRID=4326;MULTIPOLYGON Z EMPTY', 0, '');

  CREATE TABLE no_key (a int, geom geometry(Point, 4326));
  CREATE TABLE two_keys (a int, b int, geom geometry(Point, 4326), PRIMARY KEY (a, b));
  CREATE TABLE two_texts (region text, "no: %" text, id int, geom geometry(Point, 4326), PRIMARY KEY (region, "no: %"));
  INSERT INTO two_texts VALUES ('a:b', '5%', 1, 'SRID=4326;POINT(1 1)');
  CREATE TABLE parted_keys (region int, day date, geom geometry(Point, 4326), PRIMARY KEY (region, day)) PARTITION BY LIST (region);
  CREATE TABLE parted_keys_1 PARTITION OF parted_keys FOR VALUES IN (1);
  CREATE TABLE date_key (a date PRIMARY KEY, geom geometry(Point, 4326));
  CREATE TABLE unique_key (a int, code text NOT NULL UNIQUE, geom geometry(Point, 4326));
  CREATE TABLE no_srid (id int PRIMARY KEY, geom geometry);
  INSERT INTO no_srid VALUES (1, ST_MakePoint(1, 2));
  CREATE TABLE empty_srid (id int PRIMARY KEY, geom geometry);
  CREATE TABLE odd_srid (id int PRIMARY KEY, geom geometry);
  INSERT INTO odd_srid VALUES (1, 'SRID=4326;POINT(1 2)'), (2, 'SRID=3857;POINT(1 2)');
  CREATE TABLE from_data (id int PRIMARY KEY, geom geometry);
  INSERT INTO from_data VALUES (1, 'SRID=31467;POINT(3500000 5500000)');
  CREATE TABLE empty (id bigint PRIMARY KEY, geom geometry(LineString, 4326));
  CREATE TABLE world (id uuid PRIMARY KEY, geog geography(Polygon, 4326));
  CREATE TABLE arcs (id int PRIMARY KEY, geom geometry(CompoundCurve, 3857));
  INSERT INTO arcs VALUES (1, 'SRID=3857;COMPOUNDCURVE(CIRCULARSTRING(0 0, 1 1, 2 0), (2 0, 5 0))');

  CREATE TABLE base (gid int PRIMARY KEY, kind text, geom geometry(Point, 4326));
  INSERT INTO base SELECT i, 'k' || i, ST_SetSRID(ST_MakePoint(i, i), 4326) FROM generate_series(1, 50) i;
  CREATE VIEW simple_view AS SELECT * FROM base WHERE gid > 10;
  CREATE VIEW grouped AS SELECT min(gid) AS fid, ST_Buffer(geom, 1) AS geom FROM base GROUP BY geom;
  CREATE VIEW keyless AS SELECT kind, geom FROM base;
  CREATE VIEW repeated AS SELECT 1 AS id, geom FROM base;
  CREATE MATERIALIZED VIEW snapshot AS SELECT gid AS number, geom FROM base;
  CREATE UNIQUE INDEX ON snapshot (number);
  CREATE TABLE parted (id int, geom geometry(Point, 4326), PRIMARY KEY (id)) PARTITION BY RANGE (id);
  CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);

  CREATE ROLE reader LOGIN;
  GRANT SELECT ON base TO reader;
  GRANT SELECT (id, geom, t) ON kinds TO reader;`;

let postgres: TestPostgres;
let found: DiscoveredDatabase;

beforeAll(async () => {
  postgres = await startPostgres();
  await run(postgres.url, SCHEMA);
  found = await discoverTables({ database: postgres.url });
});
afterAll(async () => {
  closeAll();
  await postgres?.stop();
});

const layer = (table: string, column?: string) => {
  const one = found.layers.find(
    ({ source }) => source.table === table && (!column || source.geometryColumn === column),
  );
  if (!one) throw new Error(`no layer ${table}: ${JSON.stringify(found.problems)}`);
  return { ...one, source: one.source as PostgisSource };
};
const problem = (table: string) => found.problems.find(({ layer }) => layer === `public.${table}`)?.reason;
const field = (name: string): Field => layer('kinds').source.fields.find((one) => one.name === name)!;

describe('discovery', () => {
  it('finds names of every kind', async () => {
    const { source, extent } = layer('Tablé \u{1F30D}');
    expect(source).toMatchObject({
      schema: 'Odd "Schema"',
      idColumn: 'Id',
      geometryColumn: 'GeOm',
      srid: 25832,
      crs: 'EPSG:25832',
    });
    expect(extent).toEqual([500000, 5600000, 500000, 5600000]);
    const { list } = await page(source);
    expect(list[0]!.properties).toEqual({ 'a"b': 'x' });
  });

  it('describes a table', () => {
    const { source, description, featureCount, countEstimated, extent84 } = layer('kinds', 'geom');
    expect(source).toMatchObject({
      geometryType: 'MultiPolygon',
      hasZ: true,
      idColumn: 'id',
      idType: 'integer',
      hasIndex: true,
      writable: true,
    });
    expect({ description, featureCount, countEstimated, extent84 }).toEqual({
      description: 'Every kind of column.',
      featureCount: 2,
      countEstimated: undefined,
      extent84: [0, 0, 2, 2],
    });
  });

  it('makes a layer of each geometry column', () => {
    expect(layer('kinds', 'geom2').source).toMatchObject({
      srid: 3857,
      geometryType: 'Point',
      hasIndex: false,
    });
    expect(layer('kinds', 'geom2').source.fields.some(({ name }) => name.startsWith('geom'))).toBe(false);
  });

  it.each([
    ['i2', { type: 'integer', sqlType: 'smallint', nullable: true }],
    ['i4', { type: 'integer', nullable: false }],
    ['n', { type: 'number', sqlType: 'numeric(30,10)' }],
    ['b', { type: 'boolean' }],
    ['v', { type: 'string', maxLength: 20 }],
    ['u', { type: 'string', sqlType: 'uuid' }],
    ['jb', { type: 'json' }],
    ['d', { type: 'date' }],
    ['ts', { type: 'date-time' }],
    ['tz', { type: 'date-time' }],
    ['ti', { type: 'string' }],
    ['by', { type: 'binary' }],
    [
      'm',
      { type: 'string', sqlType: 'mood', enumeration: ['sad', 'ok', 'happy'], description: 'How it feels.' },
    ],
    ['p', { type: 'json', sqlType: 'pair' }],
    ['ia', { type: 'array', items: 'integer', sqlType: 'integer[]' }],
    ['ta', { type: 'array', items: 'string' }],
    ['r', { type: 'string' }],
    ['code', { type: 'string', maxLength: 10, nullable: false }],
    ['twice', { type: 'integer', generated: true }],
  ])('describes the column %s', (name, expected) => {
    expect(field(name)).toMatchObject(expected);
  });

  it.each([
    ['no_key', 'no primary key'],
    ['date_key', 'neither integer'],
    ['no_srid', 'SRID'],
    ['empty_srid', 'SRID'],
    ['odd_srid', 'several SRIDs'],
    ['keyless', 'No column identifies'],
    ['repeated', 'No column identifies'],
  ])('sets %s aside', (table, reason) => {
    expect(problem(table)).toContain(reason);
  });

  it('makes ids of a key of several columns, and only reads the table', () => {
    for (const [table, names, id] of [
      ['two_keys', ['a', 'b'], 'id'],
      ['two_texts', ['region', 'no: %'], 'id_1'],
      ['parted_keys', ['region', 'day'], 'id'],
    ] as const) {
      const { compositeKey, ...source } = layer(table).source as PostgisSource;
      expect(source).toMatchObject({ idColumn: id, idType: 'string', writable: false });
      expect(compositeKey?.parts.map(({ name }) => name)).toEqual(names);
      expect(source.fields.map(({ name }) => name)).toEqual(expect.arrayContaining([...names]));
    }
  });

  it('takes a unique column for the key', () => {
    expect(layer('unique_key').source).toMatchObject({ idColumn: 'code', idType: 'string' });
  });

  it('takes the SRID of the data where the column has none', () => {
    expect(layer('from_data').source).toMatchObject({ srid: 31467, crs: 'EPSG:31467' });
  });

  it('lists empty tables', () => {
    expect(layer('empty')).toMatchObject({ featureCount: 0, extent: undefined });
  });

  it('reads geography in degrees', () => {
    expect(layer('world').source).toMatchObject({ geography: true, idType: 'uuid', geometryType: 'Polygon' });
  });

  it('turns arcs into line strings', async () => {
    const { source } = layer('arcs');
    expect(source).toMatchObject({ curved: true, geometryType: 'LineString' });
    const { list } = await page(source);
    expect((list[0]!.geometry as { type: string }).type).toBe('LineString');
  });

  it('finds the keys of views', () => {
    expect(layer('simple_view').source).toMatchObject({ idColumn: 'gid', writable: true });
    expect(layer('simple_view')).toMatchObject({ featureCount: 40 });
    expect(layer('grouped').source).toMatchObject({
      idColumn: 'fid',
      writable: false,
      geometryType: 'Polygon',
    });
    expect(layer('snapshot').source).toMatchObject({ idColumn: 'number', writable: false });
  });

  it('lists partitioned tables once', () => {
    const tables = found.layers.map(({ source }) => source.table);
    expect(tables).toContain('parted');
    expect(tables).not.toContain('parted_1');
  });

  it('lists only what the user may read', async () => {
    const url = postgres.url.replace('graticule@', 'reader@');
    const { layers } = await discoverTables({ database: url });
    expect(layers.map(({ source }) => source.table).sort()).toEqual(['base', 'kinds']);
    expect(layers.every(({ source }) => !source.writable)).toBe(true);
    expect(layers.find(({ source }) => source.table === 'kinds')!.source.fields).toHaveLength(1);
  });

  it('lists it, too, where the schema of the events is closed to the user', async () => {
    await run(
      postgres.url,
      'CREATE SCHEMA graticule_events; CREATE TABLE graticule_events.outbox (cursor int); GRANT SELECT ON graticule_events.outbox TO reader',
    );
    const { layers } = await discoverTables({ database: postgres.url.replace('graticule@', 'reader@') });
    expect(layers.map(({ source, cursor }) => [source.table, cursor]).sort()).toEqual([
      ['base', 0],
      ['kinds', 0],
    ]);
    await run(postgres.url, 'DROP SCHEMA graticule_events CASCADE');
  });

  describe('by a rule', () => {
    const named = async (rule: Partial<TableRule>) => {
      const { layers, problems } = await discoverTables({
        database: postgres.url,
        tables: { ...DEFAULT_TABLES, ...rule },
      });
      const tables = layers.map(({ source }) => `${(source as PostgisSource).schema}.${source.table}`);
      return { tables: [...new Set(tables)], problems };
    };

    it.each<[string, Partial<TableRule>, string[]]>([
      ['a table in any schema', { include: ['base'] }, ['public.base']],
      ['a table of a schema', { include: ['public.kinds', 'other.base'] }, ['public.kinds']],
      ['any characters', { include: ['public.simple*'] }, ['public.simple_view']],
      ['one character', { include: ['?ase'] }, ['public.base']],
      [
        'names, where % and _ are characters',
        { include: ['simple%view', 'si_ple_view', 'arcs'] },
        ['public.arcs'],
      ],
      ['quotes', { include: ['Odd "Schema".*'] }, ['Odd "Schema".Tablé \u{1F30D}']],
      ['nothing that is excluded', { include: ['base', 'arcs'], exclude: ['public.b*'] }, ['public.arcs']],
    ])('lists %s', async (_, rule, tables) => {
      expect(await named(rule)).toEqual({ tables, problems: [] });
    });

    it('lists the first tables up to a limit, and names the others', async () => {
      const include = ['arcs', 'base', 'kinds', 'empty'];
      expect(await named({ include, maxTables: 4 })).toMatchObject({ problems: [] });
      expect(await named({ include, maxTables: 2 })).toEqual({
        tables: ['public.arcs', 'public.base'],
        problems: [
          {
            reason:
              '2 tables are omitted: public.empty to public.kinds. postgis.maxTables is 2. Select tables by postgis.include and postgis.exclude, or raise postgis.maxTables.',
          },
        ],
      });
      const { problems } = await named({ include, maxTables: 3 });
      expect(problems[0]!.reason).toMatch(/^1 table is omitted: public\.kinds\. /);
    });
  });

  it('says so when the database has no PostGIS', async () => {
    await run(postgres.url, 'CREATE DATABASE plain');
    const { problems } = await discoverTables({ database: postgres.url.replace('/postgres?', '/plain?') });
    expect(problems[0]!.reason).toContain('PostGIS');
  });

  it('works with PostGIS in a schema of its own', async () => {
    await run(postgres.url, 'CREATE DATABASE apart');
    const url = postgres.url.replace('/postgres?', '/apart?');
    await run(
      url,
      `CREATE SCHEMA gis; CREATE EXTENSION postgis SCHEMA gis;
       CREATE TABLE p (id int PRIMARY KEY, geom gis.geometry(Point, 4326));
       INSERT INTO p VALUES (1, 'SRID=4326;POINT(1 2)');`,
    );
    const { layers, problems } = await discoverTables({ database: url });
    expect(problems).toEqual([]);
    const bbox = { op: 's_intersects', args: [{ property: 'geom' }, { bbox: [0, 0, 3, 3] }] };
    expect((await page(layers[0]!.source as PostgisSource, { filter: bbox })).ids).toEqual([1]);
  });
});

describe('values', () => {
  it('are written as JSON without loss', async () => {
    const { features } = await page(layer('kinds', 'geom').source);
    const [, properties] = /"properties":(\{.*?\})\},\{"type":"Feature"/s.exec(
      Buffer.from(features).toString(),
    )!;
    expect(properties).toContain('"i8":9007199254740993,');
    expect(properties).toContain('"n":12345678901234567890.0123456789,');
    expect(JSON.parse(properties!)).toMatchObject({
      i2: 1,
      f4: 0.1,
      f8: 1e-7,
      b: true,
      t: 'é"',
      c: 'c',
      u: '7fc2c4f0-0e1f-4a5b-9c3d-000102030405',
      j: { a: 1 },
      jb: [1, null],
      d: '2020-02-29',
      ts: '2020-01-02T03:04:05Z',
      tz: '2020-01-02T01:04:05Z',
      ti: '12:30:00',
      iv: 'P1DT2H',
      by: 'AP8=',
      m: 'ok',
      p: { a: 1, b: 'x' },
      ia: [1, null, 3],
      ta: ['a', 'b c'],
      r: '[1,5)',
      ip: '10.0.0.1/32',
      code: '12345',
      twice: 4,
    });
  });

  it('are null where the row has none', async () => {
    const { list } = await page(layer('kinds', 'geom').source);
    expect(list[1]!.geometry).toBeNull();
    const { i4, code, twice, ...others } = list[1]!.properties;
    expect([i4, code, twice]).toEqual([0, '', 0]);
    expect(new Set(Object.values(others))).toEqual(new Set([null]));
  });
});

it('refuses endless views with the reason, and lists the other tables', async () => {
  const point = "'SRID=4326;POINT(1 1)'::geometry(Point, 4326) AS geom";
  const views = {
    asleep: `SELECT 1 AS id, ${point}, pg_sleep(1e6)::text AS t`,
    endless: `SELECT generate_series(1, 1000000000000) AS id, ${point} WHERE pg_sleep(1e6) IS NOT NULL`,
    recursive: `WITH RECURSIVE r (id) AS (SELECT 1 UNION ALL SELECT id FROM r) SELECT id, ${point} FROM r ORDER BY id`,
  };
  const names = Object.keys(views);
  await run(
    postgres.url,
    Object.entries(views)
      .map(([name, sql]) => `CREATE VIEW ${name} AS ${sql};`)
      .join(' '),
  );
  try {
    const problemsOf = async (patience: Partial<Patience>) => {
      const { layers, problems } = await discoverTables({
        database: postgres.url,
        patience: { tableMs: 300, allMs: 60_000, ...patience },
        tables: { ...DEFAULT_TABLES, include: ['base', ...names] },
      });
      expect(layers.map(({ source }) => source.table)).toContain('base');
      return problems;
    };
    const quick = await problemsOf({});
    expect(quick.map(({ layer, isSlow }) => [layer, isSlow])).toEqual(
      names.map((name) => [`public.${name}`, true]),
    );
    expect(quick[0]!.reason).toContain('published as soon as');
    const long = await problemsOf({ isFinal: true });
    for (const { reason } of long)
      expect(reason).toMatch(
        /^Reading its rows did not end within 0\.3 seconds: it is endless or too slow\. Limit/,
      );
    expect(long).toHaveLength(names.length);
  } finally {
    await run(postgres.url, names.map((name) => `DROP VIEW ${name};`).join(' '));
  }
});
