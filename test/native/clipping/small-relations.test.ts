import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinGeometrySets } from '../../../src/native/analytics.js';
import { NearestIndex } from '../../../src/native/proximity.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { randomSource } from '../support.js';

/** Small geometries, whose relations are told without GEOS, against PostGIS. */

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

const CRS = 'EPSG:3857';

/** Shapes whose corners are `unit` apart: with 1 they touch, cover and hold each other often. */
function shapes(count: number, unit: number, seed: number): string[] {
  const random = randomSource(seed);
  const whole = (most: number) => Math.floor(random() * most);
  const triangle = (x: number, y: number) => {
    const [a, b, c] = [1 + whole(4), 1 + whole(4), whole(3)];
    return `((${[`${x} ${y}`, `${x + a} ${y + c}`, `${x + c} ${y + b}`, `${x} ${y}`].join(', ')}))`;
  };
  const frame = (x: number, y: number) =>
    `((${x} ${y}, ${x + 4} ${y}, ${x + 4} ${y + 4}, ${x} ${y + 4}, ${x} ${y}), (${x + 1} ${y + 1}, ${x + 1} ${y + 3}, ${x + 3} ${y + 3}, ${x + 3} ${y + 1}, ${x + 1} ${y + 1}))`;
  const makers = [
    (x: number, y: number) => `POINT(${x} ${y})`,
    (x: number, y: number) => `MULTIPOINT(${x} ${y}, ${x + 3} ${y + 1})`,
    (x: number, y: number) => `LINESTRING(${x} ${y}, ${x + whole(5) + 1} ${y + whole(4)}, ${x} ${y + 3})`,
    (x: number, y: number) => `POLYGON${triangle(x, y)}`,
    (x: number, y: number) => `POLYGON${frame(x, y)}`,
    (x: number, y: number) => `MULTIPOLYGON(${frame(x, y)}, ${triangle(x + 9, y)})`,
    // Of a point in it ST_Intersects would not know where it has prepared a line (GEOS 3.11).
    (x: number, y: number) =>
      `GEOMETRYCOLLECTION(LINESTRING(${x - 2} ${y}, ${x - 1} ${y + 2}), POLYGON${triangle(x, y)})`,
  ];
  return Array.from({ length: count }, () => makers[whole(makers.length)]!(whole(24), whole(24))).map((wkt) =>
    wkt.replace(/-?\d+/g, (number) => String(Number(number) * unit)),
  );
}

async function blobsOf(wkts: readonly string[]): Promise<Buffer[]> {
  const sql = 'SELECT ST_AsBinary(ST_Force2D(ST_MakeValid(g::geometry))) AS g FROM unnest($1::text[]) g';
  return (await client.query(sql, [wkts])).rows.map(({ g }) => g);
}

describe.each([
  ['on a grid', 1],
  ['that doubles cannot hold exactly', 0.1],
])('shapes %s', (_, unit) => {
  const [left, right] = [shapes(150, unit, 3), shapes(170, unit, 5)];

  it('meet where PostGIS says so', async () => {
    const [a, b] = [await blobsOf(left), await blobsOf(right)];
    const { rows } = await client.query(
      `SELECT a.i - 1 AS a, b.i - 1 AS b FROM unnest($1::bytea[]) WITH ORDINALITY a(g, i),
        unnest($2::bytea[]) WITH ORDINALITY b(g, i)
      WHERE ST_Intersects(ST_GeomFromWKB(a.g), ST_GeomFromWKB(b.g)) ORDER BY 1, 2`,
      [a, b],
    );
    const { pairs } = joinGeometrySets({ blobs: a, crs: CRS }, { blobs: b, crs: CRS }, 'intersects', 0, 1e6);
    expect(rows.length).toBeGreaterThan(1000);
    expect([...pairs]).toEqual(rows.flatMap(({ a, b }) => [Number(a), Number(b)]));
  });

  it('are as far apart as PostGIS says', async () => {
    const [a, b] = [await blobsOf(left), await blobsOf(right)];
    const { rows } = await client.query(
      `SELECT n.distance FROM unnest($1::bytea[]) WITH ORDINALITY a(g, i), LATERAL
        (SELECT ST_Distance(ST_GeomFromWKB(a.g), ST_GeomFromWKB(b.g)) AS distance
          FROM unnest($2::bytea[]) WITH ORDINALITY b(g, j) ORDER BY 1, j LIMIT 9) n ORDER BY a.i, 1`,
      [a, b],
    );
    const index = new NearestIndex(CRS, false).add(b);
    const { distances } = index.search(a, { count: 9, reach: Number.POSITIVE_INFINITY });
    expect(distances).toHaveLength(rows.length);
    for (const [i, { distance }] of rows.entries()) expect(distances[i]).toBeCloseTo(distance, 12);
    expect(rows.filter(({ distance }) => distance > 0).length).toBeGreaterThan(100);
  });
});
