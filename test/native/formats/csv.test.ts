import { describe, expect, it } from 'vitest';
import { openDatabase, randomSource, type Shape, wkb } from '../support.js';

const db = openDatabase();

function csv(rows: [id: unknown, geometry: Buffer | null, ...values: unknown[]][], options = {}): string {
  const fields = rows[0]!.slice(2).map((_, i) => `f${i}`);
  const json = JSON.stringify({ fields, from: 'EPSG:4326', to: 'EPSG:4326', ...options });
  db.exec('DROP TABLE IF EXISTS t');
  const columns = rows[0]!.map((_, i) => `c${i}`).join(', ');
  db.exec(`CREATE TABLE t (${columns})`);
  const insert = db.prepare(`INSERT INTO t VALUES (${rows[0]!.map(() => '?').join(', ')})`);
  for (const row of rows) insert.run(...row);
  return (db.prepare(`SELECT gr_csv(?, ${columns}) FROM t`).pluck().get(json) as Buffer).toString();
}

const wkt = (shape: Shape, options: Record<string, unknown> = {}, dimension: 'XY' | 'XYZ' = 'XY') =>
  csv([[1n, wkb(shape, { dimension })]], options).slice(2, -2);

/** A reader of RFC 4180 by its grammar. */
function parse(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const pattern = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/gy;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    row.push(match[1]!.startsWith('"') ? match[1]!.slice(1, -1).replaceAll('""', '"') : match[1]!);
    if (match[2] === ',') continue;
    rows.push(row);
    row = [];
  }
  expect(rows.length > 0 && row.length === 0).toBe(true);
  return rows;
}

describe('gr_csv', () => {
  it('writes id, geometry and values as a record', () => {
    const point = wkb({ type: 'Point', coordinates: [1.5, 2] });
    expect(
      csv([
        [7n, point, 'a', 2n, 0.5, null, ''],
        ['k', null, '=1+1', -3n, 1e300, 'x', ' y'],
      ]),
    ).toBe('7,"POINT (1.5 2)",a,2,0.5,,""\r\nk,,=1+1,-3,1e+300,x," y"\r\n');
  });

  it('quotes what must be quoted, so that any text comes back', () => {
    const random = randomSource(2);
    const pool = ['a', '"', ',', '\r', '\n', ' ', 'ä', '😀', ';', "'", '='];
    const rows = Array.from({ length: 500 }, (_, i) => {
      const text = () =>
        Array.from({ length: random() * 6 }, () => pool[Math.floor(random() * pool.length)]).join('');
      return [BigInt(i), null, text(), text()] as [bigint, null, string, string];
    });
    expect(parse(csv(rows))).toEqual(rows.map(([id, , a, b]) => [String(id), '', a, b]));
  });

  it('writes booleans, bytes and broken text', () => {
    const fields = [{ name: 'b', type: 'boolean' }, 'blob', 'text'];
    const broken = db.prepare("SELECT CAST(x'61ff62' AS TEXT)").pluck().get();
    expect(csv([[1n, null, 1n, Buffer.from('hello'), broken]], { fields })).toBe(
      '1,,true,aGVsbG8=,a\ufffdb\r\n',
    );
  });

  it('writes every type of geometry', () => {
    const square = [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ];
    const hole = [
      [0.5, 0.2],
      [0.6, 0.2],
      [0.6, 0.3],
      [0.5, 0.2],
    ];
    expect(
      wkt({
        type: 'LineString',
        coordinates: [
          [0, 0],
          [1, 1],
        ],
      }),
    ).toBe('"LINESTRING (0 0,1 1)"');
    expect(wkt({ type: 'Polygon', coordinates: [square, hole] })).toBe(
      '"POLYGON ((0 0,1 0,1 1,0 0),(0.5 0.2,0.6 0.2,0.6 0.3,0.5 0.2))"',
    );
    expect(
      wkt({
        type: 'MultiPoint',
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      }),
    ).toBe('"MULTIPOINT ((1 2),(3 4))"');
    expect(
      wkt({
        type: 'MultiLineString',
        coordinates: [
          [
            [0, 0],
            [1, 1],
          ],
          [
            [2, 2],
            [3, 3],
          ],
        ],
      }),
    ).toBe('"MULTILINESTRING ((0 0,1 1),(2 2,3 3))"');
    expect(wkt({ type: 'MultiPolygon', coordinates: [[square], [square]] })).toBe(
      '"MULTIPOLYGON (((0 0,1 0,1 1,0 0)),((0 0,1 0,1 1,0 0)))"',
    );
    const collection: Shape = {
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [1, 2, 3] },
        { type: 'MultiPoint', coordinates: [[4, 5, 6]] },
      ],
    };
    expect(wkt(collection, {}, 'XYZ')).toBe(
      '"GEOMETRYCOLLECTION Z (POINT Z (1 2 3),MULTIPOINT Z ((4 5 6)))"',
    );
  });

  it('reprojects, rounds, swaps, and leaves out what has no image', () => {
    const point: Shape = { type: 'Point', coordinates: [11, 48] };
    expect(wkt(point, { to: 'EPSG:25832', precision: 2 })).toBe('"POINT (649187.87 5318235.61)"');
    expect(wkt(point, { swap: true })).toBe('"POINT (48 11)"');
    expect(wkt({ type: 'Point', coordinates: [Number.NaN, Number.NaN] })).toBe('');
    const half: Shape = {
      type: 'MultiPoint',
      coordinates: [
        [Number.POSITIVE_INFINITY, 0],
        [1, 2],
      ],
    };
    expect(wkt(half)).toBe('"MULTIPOINT ((1 2))"');
  });
});

describe('a bounded page', () => {
  const page = (format: string, maxBytes: number, rows = 9) => {
    const options = JSON.stringify({
      fields: ['v'],
      from: 'EPSG:4326',
      to: 'EPSG:4326',
      maxBytes,
      type: 't',
    });
    return db
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= ?)
         SELECT page, gr_written(page) AS n, gr_first_id(page) AS first, gr_last_id(page) AS last, count
         FROM (SELECT ${format}(?, id, NULL, v) AS page, count(*) AS count
               FROM (SELECT CASE WHEN i % 2 THEN i ELSE 'k' || i END AS id, 'text' || i AS v FROM n WHERE i <= ?))`,
      )
      .get(rows, options, rows) as { page: Buffer; n: number; first: unknown; last: unknown; count: number };
  };

  it.each(['gr_geojson', 'gr_csv', 'gr_gml'])(
    'of %s ends with the feature that reaches the bound',
    (format) => {
      const whole = page(format, 0);
      expect(whole).toMatchObject({ n: 9, first: 1, last: 9, count: 9 });
      const one = page(format, 1);
      expect(one).toMatchObject({ n: 1, first: 1, last: 1, count: 9 });
      const two = page(format, one.page.length + 1);
      expect(two).toMatchObject({ n: 2, first: 1, last: 'k2' });
      expect(whole.page.subarray(0, two.page.length)).toEqual(two.page);
      expect(page(format, two.page.length)).toMatchObject({ n: 2 });
      expect(page(format, 1e15).page).toEqual(whole.page);
      expect(page(format, 100, 0)).toMatchObject({ n: 0, first: null, last: null, count: 0 });
    },
  );

  it('knows only the page itself', () => {
    page('gr_csv', 0);
    expect(db.prepare("SELECT gr_written(x'00')").pluck().get()).toBeNull();
    expect(db.prepare('SELECT gr_written(NULL)').pluck().get()).toBeNull();
  });
});
