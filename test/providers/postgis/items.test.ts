import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ItemsTask, PageKey, SortKey } from '../../../src/core/features/features.js';
import type { PostgisSource } from '../../../src/core/sources/vector-source.js';
import { countWithin } from '../../../src/workers/features/timed-count.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { postgisStore } from '../../../src/workers/providers/postgis/store.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { CRS84, featuresOf, layerOf, page, run } from './support.js';

const UUID = '00000000-0000-4000-8000-00000000000';

let postgres: TestPostgres;
const sources: Record<string, PostgisSource> = {};

beforeAll(async () => {
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE TABLE sorted (id int PRIMARY KEY, a int, b text, f float8, t timestamptz, m int NOT NULL,
       geom geometry(Point, 4326));
     INSERT INTO sorted SELECT i, nullif(i % 4, 0), CASE WHEN i % 3 > 0 THEN chr(96 + i % 5) END, 1.0 / i,
       now() + i * interval '1 microsecond', i % 2, ST_SetSRID(ST_MakePoint(i, i), 4326)
       FROM generate_series(1, 40) i;
     CREATE TABLE uuids (id uuid PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO uuids SELECT ('${UUID}' || i)::uuid, NULL FROM generate_series(1, 9) i;
     CREATE TABLE texts (id text PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO texts VALUES ('a', NULL), ('ä/?', NULL), ('''; DROP TABLE texts; --', NULL), ('', NULL);
     CREATE TABLE bigs (id bigint PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO bigs VALUES (-5, NULL), (9007199254740991, NULL), (9007199254740992, NULL),
       (9223372036854775807, NULL);
     CREATE TABLE empty (id int PRIMARY KEY, geom geometry(Point, 4326));
     CREATE TABLE solid (id int PRIMARY KEY, geom geometry(PolygonZ, 4326));
     INSERT INTO solid VALUES (1, 'SRID=4326;POLYGON Z ((0 0 1.5, 1 0 2, 1 1 3, 0 0 1.5))');
     CREATE TABLE globe (id int PRIMARY KEY, geom geography(Point));
     INSERT INTO globe SELECT i, ST_MakePoint(i, 50)::geography FROM generate_series(1, 10) i;
     CREATE TABLE dateline (id int PRIMARY KEY, geom geometry(Point, 4326));
     INSERT INTO dateline VALUES (1, 'SRID=4326;POINT(179 0)'), (2, 'SRID=4326;POINT(-179 0)'),
       (3, 'SRID=4326;POINT(0 0)');
     DO $$ BEGIN EXECUTE 'CREATE TABLE wide (id int PRIMARY KEY, ' ||
       (SELECT string_agg('c' || i || ' int DEFAULT ' || i, ', ') FROM generate_series(1, 200) i) ||
       ', geom geometry(Point, 4326))'; END $$;
     INSERT INTO wide (id) VALUES (1);`,
  );
  const tables = ['sorted', 'uuids', 'texts', 'bigs', 'empty', 'solid', 'globe', 'dateline', 'wide'];
  for (const table of tables) sources[table] = (await layerOf(postgres.url, table)).source as PostgisSource;
});
afterAll(async () => {
  closeAll();
  await postgres?.stop();
});

const item = (table: string, id: string) =>
  postgisStore.item({ filter: undefined, ...CRS84, source: sources[table]!, id });
const box = (bbox: number[], column = 'geom') => ({
  op: 's_intersects',
  args: [{ property: column }, { bbox }],
});

it('counts for a limited time, and then serves again', async () => {
  const numbers = 'generate_series(1, 1000000000) a, generate_series(1, 1000000000) b';
  await run(postgres.url, `CREATE VIEW forever AS SELECT sorted.* FROM sorted, ${numbers}`);
  const source = { ...sources.sorted!, table: 'forever' };
  const none = { op: '=', args: [{ property: 'a' }, 9] };
  const count = await countWithin({ source, filter: none, withinMs: 300 });
  expect(count).toEqual({ count: 0, isExact: false });
  // Whoever finds layers reads the views.
  await run(postgres.url, 'DROP VIEW forever');
  const all = { source: sources.sorted!, filter: undefined, withinMs: 60_000 };
  expect(await countWithin(all)).toEqual({ count: 40, isExact: true });
});

describe('pages', () => {
  it('go by id, offset and limit', async () => {
    expect(await page(sources.sorted!, { limit: 3, offset: 5 })).toMatchObject({
      ids: [6, 7, 8],
      returned: 3,
      more: true,
      first: { id: '6', values: [] },
      last: { id: '8', values: [] },
    });
    expect(await page(sources.sorted!, { limit: 3, offset: 37 })).toMatchObject({ returned: 3, more: false });
    expect(await page(sources.sorted!, { limit: 3, offset: 1e9 })).toMatchObject({
      returned: 0,
      more: false,
    });
  });

  it('are empty for an empty table', async () => {
    const { features, returned, more, first, last } = await page(sources.empty!);
    expect([features.length, returned, more, first, last]).toEqual([0, 0, false, undefined, undefined]);
  });

  it('carry the fields asked for, without geometry', async () => {
    const { list } = await page(sources.sorted!, { limit: 1, fields: ['m', 'a'], skipGeometry: true });
    expect(list[0]).toEqual({ type: 'Feature', id: 1, geometry: null, properties: { a: 1, m: 1 } });
  });

  it('carry Z, and 200 columns', async () => {
    expect((await page(sources.solid!)).list[0]!.geometry).toEqual({
      type: 'Polygon',
      coordinates: [
        [
          [0, 0, 1.5],
          [1, 0, 2],
          [1, 1, 3],
          [0, 0, 1.5],
        ],
      ],
    });
    expect(Object.keys((await page(sources.wide!)).list[0]!.properties)).toHaveLength(200);
  });

  it('are of another CRS, axes swapped', async () => {
    const { list } = await page(sources.sorted!, {
      limit: 1,
      crs: 'EPSG:3857',
      swapAxes: true,
      precision: 1,
      fields: [],
    });
    expect(list[0]!.geometry).toEqual({ type: 'Point', coordinates: [111325.1, 111319.5] });
  });

  it('are those of a window, across the antimeridian too', async () => {
    expect((await page(sources.sorted!, { filter: box([2.5, 0, 5, 90]) })).ids).toEqual([3, 4, 5]);
    expect((await page(sources.dateline!, { filter: box([170, -10, -170, 10]) })).ids).toEqual([1, 2]);
  });

  it('are CSV records and GML members, backwards too', async () => {
    const source = sources.sorted!;
    const { first } = await page(source, { limit: 1, offset: 2 });
    const text = async (task: Partial<ItemsTask>) => {
      const found = await postgisStore.items({
        filter: undefined,
        ...CRS84,
        source,
        limit: 10,
        offset: 0,
        before: first,
        fields: ['m'],
        ...task,
      });
      return Buffer.from(found.features).toString();
    };
    expect(await text({ format: 'csv' })).toBe('1,"POINT (1 1)",1\r\n2,"POINT (2 2)",0\r\n');
    const gml = await text({ format: 'gml', gml: { type: 'place', srsName: 'urn:x' } });
    expect(gml.match(/<app:m>\d<\/app:m>/g)).toEqual(['<app:m>1</app:m>', '<app:m>0</app:m>']);
  });

  it('read geography', async () => {
    expect((await page(sources.globe!, { filter: box([2.5, 49, 5, 51]) })).ids).toEqual([3, 4, 5]);
  });
});

describe('keyset paging', () => {
  const orders: [string, SortKey[]][] = [
    ['the id', []],
    ['a nullable column', [{ field: 'a', descending: false }]],
    ['a nullable column, descending', [{ field: 'a', descending: true }]],
    ['a column without NULL', [{ field: 'm', descending: false }]],
    ['a float', [{ field: 'f', descending: true }]],
    ['microseconds', [{ field: 't', descending: true }]],
    [
      'several columns in both directions',
      [
        { field: 'a', descending: true },
        { field: 'b', descending: false },
        { field: 'm', descending: true },
      ],
    ],
    ['the id, descending', [{ field: 'id', descending: true }]],
  ];

  it.each(orders)('by %s meets every row once, both ways', async (_, sort) => {
    const source = sources.sorted!;
    const whole = (await page(source, { sort })).ids;
    expect(new Set(whole).size).toBe(40);
    const forth: (number | string)[] = [];
    let after: PageKey | undefined;
    for (let more = true; more; ) {
      const next = await page(source, { sort, limit: 7, after });
      forth.push(...next.ids);
      ({ more, last: after } = next);
    }
    expect(forth).toEqual(whole);
    const back: (number | string)[] = [];
    let before: PageKey | undefined = after;
    for (let more = true; more; ) {
      const next = await page(source, { sort, limit: 7, before });
      back.unshift(...next.ids);
      more = next.more;
      before = next.first;
    }
    expect(back).toEqual(whole.slice(0, -1));
  });

  it('puts NULL last, and first when descending', async () => {
    const values = async (descending: boolean) =>
      (await page(sources.sorted!, { sort: [{ field: 'a', descending }] })).list.map((f) => f.properties.a);
    expect((await values(false)).slice(-10)).toEqual(new Array(10).fill(null));
    expect((await values(true)).slice(0, 10)).toEqual(new Array(10).fill(null));
  });

  it('works with uuids, texts and large integers', async () => {
    for (const table of ['uuids', 'texts', 'bigs']) {
      const whole = (await page(sources[table]!)).ids;
      const first = await page(sources[table]!, { limit: 2 });
      const second = await page(sources[table]!, { limit: 100, after: first.last });
      expect([...first.ids, ...second.ids]).toEqual(whole);
    }
  });

  it('refuses a key of another order', async () => {
    const wrong = page(sources.sorted!, { after: { id: '1', values: ['x'] } });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid-input' });
    const forged = page(sources.sorted!, {
      sort: [{ field: 'a', descending: false }],
      after: { id: '1', values: ["1'; --"] },
    });
    await expect(forged).rejects.toMatchObject({ code: 'invalid-input' });
  });
});

describe('items', () => {
  it.each([
    ['sorted', '7', 7],
    ['uuids', `${UUID}3`, `${UUID}3`],
    ['uuids', `${UUID}3`.toUpperCase(), `${UUID}3`],
    ['texts', 'ä/?', 'ä/?'],
    ['texts', "'; DROP TABLE texts; --", "'; DROP TABLE texts; --"],
    ['texts', '', ''],
    ['bigs', '-5', -5],
    ['bigs', '9007199254740991', 9007199254740991],
    ['bigs', '9007199254740992', '9007199254740992'],
    ['bigs', '9223372036854775807', '9223372036854775807'],
  ])('of %s by %s', async (table, id, expected) => {
    const found = await item(table, id);
    expect(featuresOf(found!.data)[0]!.id).toBe(expected);
    expect(found!.row).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each([
    ['sorted', '41'],
    ['sorted', '1.0'],
    ['sorted', '+1'],
    ['sorted', '01'],
    ['sorted', 'x'],
    ['sorted', ''],
    ['sorted', '99999999999'],
    ['sorted', '9223372036854775808'],
    ['sorted', '9'.repeat(5000)],
    ['uuids', 'x'],
    ['uuids', `{${UUID}1}`],
    ['texts', 'b\u0000'],
    ['bigs', '9223372036854775808'],
  ])('of %s: %s names none', async (table, id) => {
    expect(await item(table, id)).toBeNull();
  });

  it('are hidden by a filter', async () => {
    const task = { ...CRS84, source: sources.sorted!, id: '7' };
    expect(await postgisStore.item({ ...task, filter: box([0, 0, 3, 3]) })).toBeNull();
    expect(await postgisStore.item({ ...task, filter: box([0, 0, 9, 9]) })).not.toBeNull();
  });

  it('have a row name that only their stored row changes', async () => {
    const plain = await item('sorted', '7');
    const task = {
      ...CRS84,
      source: sources.sorted!,
      filter: undefined,
      id: '7',
      precision: 1,
      fields: ['a'],
      crs: 'EPSG:3857',
    };
    expect((await postgisStore.item(task))!.row).toBe(plain!.row);
    await run(postgres.url, 'UPDATE sorted SET b = $$changed$$ WHERE id = 7');
    expect((await item('sorted', '7'))!.row).not.toBe(plain!.row);
  });
});

describe('counts and rows', () => {
  it('count all, some, or up to a number', async () => {
    const source = sources.sorted!;
    expect(await postgisStore.count({ filter: undefined, source })).toBe(40);
    expect(await postgisStore.count({ source, filter: box([2.5, 0, 5, 90]) })).toBe(3);
    expect(await postgisStore.count({ filter: undefined, source, atMost: 7 })).toBe(7);
  });

  it('come as values in batches', async () => {
    const batches = [];
    const query = {
      source: sources.sorted!,
      filter: undefined,
      fields: ['b', 'a', 'f'],
      geometry: true,
      limit: 1e6,
    };
    for await (const batch of postgisStore.rows(query)) batches.push(...batch);
    expect(batches).toHaveLength(40);
    expect(batches[1]).toMatchObject({ id: 2, values: ['b', 2, 0.5] });
    expect(Buffer.from(batches[1]!.geometry!).toString('hex').slice(0, 10)).toBe('0101000020');
  });

  it('end when the consumer has enough', async () => {
    const query = { source: sources.sorted!, filter: undefined, fields: [], geometry: false, limit: 1e6 };
    for (let i = 0; i < 10; i++) for await (const _ of postgisStore.rows(query)) break;
    expect(await postgisStore.count({ filter: undefined, source: sources.sorted! })).toBe(40);
  });
});

describe('rows that nobody expects', () => {
  it('are written as far as they can be said', async () => {
    await run(
      postgres.url,
      `CREATE TABLE strange (id int PRIMARY KEY, n numeric, d date, t timestamptz, f float8, x text, geom geometry);
       INSERT INTO strange VALUES
         (1, 'NaN', 'infinity', '-infinity', 'Infinity', E'\\x01\\u2028', 'SRID=4326;POINT EMPTY'),
         (2, repeat('9', 3000)::numeric, '0001-01-01 BC', '294276-12-31', '-0', repeat('x', 1000000),
           'SRID=4326;TRIANGLE((0 0, 1 0, 1 1, 0 0))'),
         (3, 0.10, NULL, NULL, 5e-324, '', 'SRID=4326;POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))'),
         (4, NULL, NULL, NULL, NULL, NULL, 'SRID=4326;POINT(1e308 1e308)'),
         (5, NULL, NULL, NULL, NULL, NULL, 'SRID=4326;GEOMETRYCOLLECTION(POINT(1 2), LINESTRING EMPTY)');`,
    );
    const source = (await layerOf(postgres.url, 'strange')).source as PostgisSource;
    const { list, features } = await page(source);
    expect(list.map(({ geometry }) => (geometry as { type: string } | null)?.type)).toEqual([
      undefined,
      'Polygon',
      'Polygon',
      'Point',
      'GeometryCollection',
    ]);
    expect(list[0]!.properties).toEqual({ n: null, d: null, t: null, f: null, x: '\u0001\u2028' });
    expect(list[1]!.properties).toMatchObject({ d: '0000-01-01', t: '+294276-12-31T00:00:00Z', f: 0 });
    expect(Buffer.from(features).toString()).toContain(`"n":${'9'.repeat(3000)}.0,`);
    expect(Buffer.from(features).toString()).toContain('"n":0.10,');
    const bbox = box([0, 0, 0.2, 0.9]);
    expect((await page(source, { filter: bbox })).ids).toEqual(expect.arrayContaining([3]));
  });
});

describe('a page of huge polygons', () => {
  it('ends at the byte budget and keeps memory flat', async () => {
    await run(
      postgres.url,
      `CREATE TABLE huge (id int PRIMARY KEY, geom geometry(Polygon, 4326));
       ALTER TABLE huge ALTER geom SET STORAGE EXTERNAL;
       INSERT INTO huge SELECT i, ST_Buffer('SRID=4326;POINT(0 0)'::geometry, 10, 25000)
         FROM generate_series(1, 200) i;`,
    );
    const source = (await layerOf(postgres.url, 'huge')).source as PostgisSource;
    await page(source, { limit: 1, maxBytes: 1 });
    const before = process.memoryUsage().rss;
    const heavy = await postgisStore.items({
      filter: undefined,
      ...CRS84,
      source,
      limit: 2000,
      offset: 0,
      maxBytes: 8_000_000,
    });
    // A row is 1.1 MB (GEOS 3.13) to 2.2 MB (3.11) of GeoJSON.
    const { returned } = heavy;
    expect(returned).toBeGreaterThan(3);
    expect(returned).toBeLessThan(9);
    expect(heavy).toMatchObject({ more: true, last: { id: `${returned}` } });
    // All rows together take 320 MB, a row 1.6 MB, the page 9 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(80_000_000);
    const next = await postgisStore.items({
      filter: undefined,
      ...CRS84,
      source,
      limit: 2000,
      offset: 0,
      maxBytes: 1,
      after: heavy.last,
    });
    expect(next).toMatchObject({ returned: 1, first: { id: `${returned + 1}` } });
    const back = await postgisStore.items({
      filter: undefined,
      ...CRS84,
      source,
      limit: 2000,
      offset: 0,
      maxBytes: 5_000_000,
      before: next.first,
    });
    expect(back).toMatchObject({ more: true, last: { id: `${returned}` } });
  });
});
