import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { geoPackageBlob, openDatabase, randomSource, type Shape, wkb } from '../support.js';

const db = openDatabase();
const PREDICATES = [
  'intersects',
  'equals',
  'disjoint',
  'touches',
  'within',
  'overlaps',
  'crosses',
  'contains',
];

let postgres: TestPostgres;
let client: pg.Client;

beforeAll(async () => {
  postgres = await startPostgres();
  client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
});

afterAll(async () => {
  await client?.end();
  await postgres?.stop();
});

const scalar = (sql: string, ...values: unknown[]) =>
  db
    .prepare(`SELECT ${sql}`)
    .pluck()
    .get(...values) as number | null;

async function shapesOf(...wkts: string[]): Promise<Buffer[]> {
  const { rows } = await client.query('SELECT ST_AsBinary(g::geometry) AS g FROM unnest($1::text[]) g', [
    wkts,
  ]);
  return rows.map((row) => row.g);
}

/** A part of a geometry as WKB: a point, a line, or the one ring of an area. */
function part(type: 1 | 2 | 3, ...positions: [number, number][]): Buffer {
  const head = Buffer.from([1, type, 0, 0, 0, ...(type === 3 ? [1, 0, 0, 0] : [])]);
  const count = Buffer.from([positions.length, 0, 0, 0]);
  return Buffer.concat([
    head,
    ...(type === 1 ? [] : [count]),
    Buffer.from(Float64Array.from(positions.flat()).buffer),
  ]);
}

const collect = (type: 4 | 5 | 6 | 7, ...parts: Buffer[]) =>
  Buffer.concat([Buffer.from([1, type, 0, 0, 0, parts.length, 0, 0, 0]), ...parts]);

const square = (at: number): [number, number][] => [
  [at, at],
  [at + 2, at],
  [at + 2, at + 2],
  [at, at + 2],
  [at, at],
];

describe('geometries with NaN or infinity', () => {
  const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
  const brokenLine = part(2, [nan, nan], [9, 9]);
  const brokenArea = part(3, [nan, 5], [6, 5], [6, 6], [nan, 5]);

  it.each([
    ['lines', collect(5, brokenLine, part(2, [0, 0], [2, 2])), 'LINESTRING(0 0, 2 2)'],
    [
      'lines without an end',
      collect(5, part(2, [0, 0], [2, 2]), part(2, [0, 1], [infinity, 1])),
      'LINESTRING(0 0, 2 2)',
    ],
    ['areas', collect(6, brokenArea, part(3, ...square(0))), 'POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))'],
    ['points, of which one is empty', collect(4, part(1, [nan, nan]), part(1, [1, 1])), 'POINT(1 1)'],
    ['points without an end', collect(4, part(1, [1, 1]), part(1, [1, infinity])), 'POINT(1 1)'],
    [
      'all types',
      collect(7, brokenLine, part(1, [nan, 3]), part(3, ...square(0))),
      'POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))',
    ],
  ])('relate by their finite parts: %s', async (_, geometry, rest) => {
    const others = [
      'POINT(1 1)',
      'LINESTRING(0 1, 5 1)',
      'POLYGON((-1 -1, 5 -1, 5 5, -1 5, -1 -1))',
      'POINT(50 50)',
    ];
    const [whole, ...literals] = await shapesOf(rest, ...others);
    for (const literal of literals) {
      // Rows of a statement are related to a prepared geometry.
      for (const predicate of PREDICATES) {
        const rows = (shape: Buffer) =>
          db
            .prepare(`SELECT gr_s_${predicate}(value, ?) FROM (SELECT ? AS value UNION ALL SELECT ?)`)
            .pluck()
            .all(geoPackageBlob(literal), geoPackageBlob(shape), geoPackageBlob(shape));
        expect([predicate, ...rows(geometry)]).toEqual([predicate, ...rows(whole!)]);
      }
      for (const crs of ['EPSG:4326', 'EPSG:3857']) {
        const metres = (shape: Buffer) => scalar(`gr_distance_m(?, ?, '${crs}')`, shape, literal);
        expect(metres(geometry)).toBeCloseTo(metres(whole!)!, 6);
      }
    }
  });

  it('relate to nothing without a finite part', async () => {
    const [literal] = await shapesOf('POINT(50 50)');
    for (const geometry of [
      brokenLine,
      brokenArea,
      collect(5, brokenLine),
      collect(7, brokenArea, brokenLine),
    ]) {
      for (const predicate of PREDICATES)
        expect([predicate, scalar(`gr_s_${predicate}(?, ?)`, geometry, literal) || null]).toEqual([
          predicate,
          null,
        ]);
      for (const crs of ['EPSG:4326', 'EPSG:3857'])
        expect(scalar(`gr_distance_m(?, ?, '${crs}')`, geometry, literal)).toBeNull();
    }
  });
});

const WKTS = [
  'POINT(1 1)',
  'POINT(0 0)',
  'POINT EMPTY',
  'MULTIPOINT(0 0, 5 5)',
  'LINESTRING(0 0, 2 2)',
  'LINESTRING(2 2, 0 0)',
  'LINESTRING(0 2, 2 0)',
  'LINESTRING(-1 1, 5 1)',
  'LINESTRING EMPTY',
  'MULTILINESTRING((0 0, 1 1), (1 1, 2 2))',
  'POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))',
  'POLYGON((2 0, 2 2, 0 2, 0 0, 2 0))',
  'POLYGON((2 0, 4 0, 4 2, 2 2, 2 0))',
  'POLYGON((1 1, 3 1, 3 3, 1 3, 1 1))',
  'POLYGON((0.5 0.5, 1.5 0.5, 1.5 1.5, 0.5 1.5, 0.5 0.5))',
  'POLYGON((-5 -5, 9 -5, 9 9, -5 9, -5 -5), (-1 -1, 3 -1, 3 3, -1 3, -1 -1))',
  'POLYGON EMPTY',
  'MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))',
  'POINT Z (1 1 9)',
];

describe('spatial predicates', () => {
  it('answer as PostGIS does, both ways, with either side constant', async () => {
    const shapes = await shapesOf(...WKTS);
    db.exec('CREATE TEMP TABLE shape (i INTEGER, g BLOB)');
    const insert = db.prepare('INSERT INTO shape VALUES (?, ?)');
    for (const [i, g] of shapes.entries()) insert.run(i, g);
    for (const predicate of PREDICATES) {
      const { rows } = await client.query(
        `SELECT array_agg(ST_${predicate}(a.g::geometry, b.g::geometry)::int ORDER BY a.i, b.i) AS answers
         FROM unnest($1::text[]) WITH ORDINALITY a(g, i), unnest($1::text[]) WITH ORDINALITY b(g, i)`,
        [WKTS],
      );
      const expected = rows[0].answers as number[];
      const n = WKTS.length;
      const joined = db
        .prepare(`SELECT gr_s_${predicate}(a.g, b.g) FROM shape a, shape b ORDER BY a.i, b.i`)
        .pluck()
        .all();
      expect(joined, predicate).toEqual(expected);
      const left = db.prepare(`SELECT gr_s_${predicate}(?, g) FROM shape ORDER BY i`).pluck();
      const right = db.prepare(`SELECT gr_s_${predicate}(g, ?) FROM shape ORDER BY i`).pluck();
      for (let i = 0; i < n; i++) {
        expect(left.all(shapes[i]), `${predicate} of ${WKTS[i]}`).toEqual(expected.slice(i * n, i * n + n));
        expect(right.all(shapes[i]), `${predicate} with ${WKTS[i]}`).toEqual(
          expected.filter((_, j) => j % n === i),
        );
      }
    }
  });

  it('answer as PostGIS does for random shapes', async () => {
    const random = randomSource(11);
    const number = () => Math.round(random() * 8);
    const wkts = Array.from({ length: 60 }, (_, i) => {
      const [x, y, w, h] = [number(), number(), number() + 1, number() + 1];
      if (i % 3 === 0)
        return `POLYGON((${x} ${y}, ${x + w} ${y}, ${x + w} ${y + h}, ${x} ${y + h}, ${x} ${y}))`;
      if (i % 3 === 1) return `LINESTRING(${x} ${y}, ${x + w} ${y + h}, ${number()} ${number()})`;
      return `POLYGON((${x} ${y}, ${x + w} ${y}, ${x} ${y + h}, ${x} ${y}))`;
    });
    const shapes = await shapesOf(...wkts);
    for (const predicate of PREDICATES) {
      const { rows } = await client.query(
        `SELECT array_agg(ST_${predicate}(a.g::geometry, b.g::geometry)::int ORDER BY a.i, b.i) AS answers
         FROM unnest($1::text[]) WITH ORDINALITY a(g, i), unnest($1::text[]) WITH ORDINALITY b(g, i)`,
        [wkts],
      );
      const answers = shapes.flatMap((a) => shapes.map((b) => scalar(`gr_s_${predicate}(?, ?)`, a, b)));
      expect(answers, predicate).toEqual(rows[0].answers);
    }
  });

  it('take GeoPackage blobs, and answer NULL for NULL and for what is no geometry', () => {
    const square: Shape = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 0],
        ],
      ],
    };
    const blob = geoPackageBlob(wkb(square, { bigEndian: true }), { envelope: 1, bounds: [0, 1, 0, 1] });
    const point = wkb({ type: 'Point', coordinates: [0.6, 0.5] }, { ewkb: true, srid: 4326 });
    expect(scalar('gr_s_contains(?, ?)', blob, point)).toBe(1);
    expect(scalar('gr_s_within(?, ?)', blob, point)).toBe(0);
    for (const bad of [null, 'text', 5, Buffer.alloc(0), Buffer.from('GPxx'), wkb(square).subarray(0, 40)]) {
      expect(scalar('gr_s_intersects(?, ?)', bad, blob)).toBeNull();
      expect(scalar('gr_s_disjoint(?, ?)', blob, bad)).toBeNull();
      expect(scalar("gr_distance_m(?, ?, 'EPSG:4326')", blob, bad)).toBeNull();
    }
    const open = wkb({
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 1],
        ],
      ],
    });
    expect(scalar('gr_s_intersects(?, ?)', open, point)).toBeNull();
  });

  it('keep no memory', () => {
    const ring = Array.from({ length: 2000 }, (_, i) => [
      Math.cos((i % 1999) / 318),
      Math.sin((i % 1999) / 318),
    ]);
    ring[1999] = ring[0]!;
    const big = wkb({ type: 'Polygon', coordinates: [ring] });
    const one = db.prepare('SELECT gr_s_intersects(?, ?)').pluck();
    const point = wkb({ type: 'Point', coordinates: [0, 0] });
    for (let i = 0; i < 2000; i++) one.get(big, point);
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 20_000; i++) one.get(big, point);
    expect(process.memoryUsage().rss - before).toBeLessThan(60e6);
  });
});

it('sees the points of a collection beside its lines, row after row', async () => {
  const [line, collection] = await shapesOf(
    'LINESTRING(16 9, 18 10)',
    'GEOMETRYCOLLECTION(POINT(18 10), LINESTRING(19 19, 1 11, 19 20))',
  );
  const sql = `SELECT gr_s_disjoint(g.column2, ?) AS disjoint, gr_s_intersects(?, g.column2) AS intersects
    FROM (VALUES (1, ?), (2, ?)) g`;
  const rows = db.prepare(sql).all(line, line, collection, collection);
  expect(rows).toEqual([
    { disjoint: 0, intersects: 1 },
    { disjoint: 0, intersects: 1 },
  ]);
});

describe('gr_distance_m', () => {
  it('agrees with ST_Distance of geography to 0.1 %', async () => {
    const random = randomSource(5);
    const offset = (size: number) => (random() - 0.5) * size;
    const wkts = Array.from({ length: 300 }, (_, i) => {
      const [x, y] = [offset(360), offset(160)];
      const shape = (size: number) => {
        const [cx, cy] = [x + offset(10), Math.max(-85, Math.min(85, y + offset(10)))];
        const at = () => `${cx + offset(size)} ${cy + offset(size)}`;
        const kind = Math.floor(random() * 3);
        if (kind === 0) return `POINT(${at()})`;
        if (kind === 1) return `LINESTRING(${at()}, ${at()}, ${at()})`;
        const first = at();
        return `POLYGON((${first}, ${at()}, ${at()}, ${first}))`;
      };
      return [shape(i % 2 ? 0.5 : 4), shape(2)];
    });
    const { rows } = await client.query(
      `SELECT ST_AsBinary(a::geometry) AS a, ST_AsBinary(b::geometry) AS b, ST_Distance(a::geography, b::geography) AS metres
       FROM unnest($1::text[], $2::text[]) pair(a, b)`,
      [wkts.map(([a]) => a), wkts.map(([, b]) => b)],
    );
    let apart = 0;
    for (const [i, { a, b, metres }] of rows.entries()) {
      const ours = scalar("gr_distance_m(?, ?, 'EPSG:4326')", a, b)!;
      expect(Math.abs(ours - metres), wkts[i]!.join(' ')).toBeLessThanOrEqual(metres * 0.001 + 0.01);
      if (metres > 0) apart++;
    }
    expect(apart).toBeGreaterThan(150);
  });

  it('is not 0 for edges on one meridian that do not meet', async () => {
    const [square, beside] = await shapesOf(
      'POLYGON((8 7, 14 7, 14 13, 8 13, 8 7))',
      `LINESTRING(${Array.from({ length: 33 }, (_, i) => `14 ${14 + i / 8}`).join(', ')})`,
    );
    const metres = scalar("gr_distance_m(?, ?, 'OGC:CRS84')", square, beside)!;
    expect(metres).toBeGreaterThan(110_000);
    expect(metres).toBeLessThan(111_000);
  });

  it('is 0 inside a polygon, but not in its hole; crosses the antimeridian and the poles', async () => {
    const [ring, inside, hole, east, west, north] = await shapesOf(
      'POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (4 4, 6 4, 6 6, 4 6, 4 4))',
      'POINT(2 2)',
      'POINT(5 5)',
      'POINT(179.9 0)',
      'POINT(-179.9 0)',
      'POLYGON((-180 80, -90 80, 0 80, 90 80, 180 80, 180 90, -180 90, -180 80))',
    );
    const metres = (a: Buffer, b: Buffer) => scalar("gr_distance_m(?, ?, 'OGC:CRS84')", a, b)!;
    expect(metres(ring!, inside!)).toBe(0);
    expect(metres(inside!, ring!)).toBe(0);
    expect(metres(ring!, hole!)).toBeGreaterThan(110_000);
    expect(metres(east!, west!)).toBeCloseTo(22263.9, 0);
    expect(metres(north!, wkb({ type: 'Point', coordinates: [45, 89] }))).toBe(0);
  });

  it('measures projected CRS in their own unit, as metres', async () => {
    const [a, b, far] = await shapesOf('POINT(0 0)', 'LINESTRING(3 4, 3 9)', 'POLYGON EMPTY');
    expect(scalar("gr_distance_m(?, ?, 'EPSG:25832')", a, b)).toBe(5);
    expect(scalar("gr_distance_m(?, ?, 'EPSG:2263')", a, b)).toBeCloseTo(5 * 0.3048006096, 9);
    expect(scalar("gr_distance_m(?, ?, 'EPSG:2263')", a, far)).toBeNull();
    expect(scalar("gr_distance_m(?, ?, 'EPSG:4326')", a, far)).toBeNull();
    expect(() => scalar("gr_distance_m(?, ?, 'nonsense')", a, b)).toThrow(
      /unknown coordinate reference system/,
    );
  });

  it('finds the nearest arcs of large geometries as brute force does', () => {
    const random = randomSource(3);
    const walk = (x: number, y: number) =>
      Array.from({ length: 700 }, () => {
        x += (random() - 0.5) / 20;
        y += (random() - 0.5) / 20;
        return [x, y] as [number, number];
      });
    for (let round = 0; round < 20; round++) {
      const [a, b] = [walk(10, 50), walk(12 + random(), 51)];
      const line = (coordinates: [number, number][]) => wkb({ type: 'LineString', coordinates });
      let least = Number.POSITIVE_INFINITY;
      for (let i = 0; i + 1 < a.length; i += 10) {
        const part = line(a.slice(i, i + 11));
        for (let j = 0; j + 1 < b.length; j += 10)
          least = Math.min(
            least,
            scalar("gr_distance_m(?, ?, 'EPSG:4326')", part, line(b.slice(j, j + 11)))!,
          );
      }
      expect(scalar("gr_distance_m(?, ?, 'EPSG:4326')", line(a), line(b))).toBeCloseTo(least, 6);
    }
  });
});
