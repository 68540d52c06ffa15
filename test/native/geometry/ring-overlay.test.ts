import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OverlayIndex, processGeometries } from '../../../src/native/processing.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { randomSource } from '../support.js';

/** Areas of few positions, which are laid over each other without GEOS, against PostGIS. */

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

const PLANES = { crs: 'EPSG:3857', target: 'EPSG:3857', srsId: 3857 };
const ENVELOPE = 40;

async function blobsOf(wkts: readonly string[]): Promise<(Uint8Array | null)[]> {
  const sql = 'SELECT ST_AsBinary(g::geometry) AS g FROM unnest($1::text[]) g';
  const blobs = (await client.query(sql, [wkts])).rows.map(({ g }) => g);
  return processGeometries(blobs, { name: 'none' }, PLANES) as (Uint8Array | null)[];
}

const wkt = (ring: readonly (readonly number[])[]) =>
  `POLYGON((${[...ring, ring[0]!].map((position) => position.join(' ')).join(', ')}))`;

/** Stars far from the origin, whose arms cut each other into several parts; every other one is clockwise. */
function stars(count: number, seed: number): string[] {
  const random = randomSource(seed);
  return Array.from({ length: count }, (_, i) => {
    const [x, y] = [5e6 + random() * 100, 6e6 + random() * 100];
    const arms = 3 + Math.floor(random() * 9);
    const ring = Array.from({ length: 2 * arms }, (_, k) => {
      const radius = (k % 2 ? 4 : 25) * (0.6 + random());
      const angle = (Math.PI * (k + 0.8 * random())) / arms;
      return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    });
    return wkt(i % 2 ? ring : ring.reverse());
  });
}

/** Areas whose corners lie on a grid: edges and corners touch. */
function steps(count: number, seed: number): string[] {
  const random = randomSource(seed);
  const whole = (most: number) => 1 + Math.floor(random() * most);
  return Array.from({ length: count }, () => {
    const [x, y, a, b, c] = [whole(12), whole(12), whole(4), whole(4), whole(4)];
    const corners = [
      [x, y],
      [x + a + b, y],
      [x + a + b, y + c],
      [x + a, y + c],
      [x + a, y + c + b],
      [x, y + c + b],
    ];
    return wkt(corners);
  });
}

describe.each([
  ['stars', stars(80, 3), stars(80, 5), true],
  ['steps on a grid', steps(80, 7), steps(80, 9), false],
  ['stars and what lies in them', stars(40, 11), stars(40, 11).map(shrunk), true],
])('%s', (_, left, right, severalParts) => {
  it('share what PostGIS says', async () => {
    const index = new OverlayIndex().add(await blobsOf(right));
    const { pairs, pieces } = index.intersect(await blobsOf(left), PLANES.srsId);
    const ours = pieces.map((piece, i) => ({
      a: pairs[2 * i],
      b: pairs[2 * i + 1],
      g: Buffer.from((piece as Uint8Array).subarray(ENVELOPE)).toString('hex'),
    }));
    const { rows } = await client.query(
      `WITH theirs AS (SELECT a.i - 1 AS a, b.i - 1 AS b, ST_CollectionExtract(ST_Intersection(a.g::geometry, b.g::geometry), 3) AS g
          FROM unnest($1::text[]) WITH ORDINALITY a(g, i), unnest($2::text[]) WITH ORDINALITY b(g, i)
          WHERE ST_Intersects(a.g::geometry, b.g::geometry)),
        ours AS (SELECT a, b, ST_GeomFromWKB(decode(g, 'hex')) AS g FROM json_to_recordset($3) AS r(a int, b int, g text))
      SELECT count(*)::int AS pairs, count(ours.g)::int AS ours, count(theirs.g)::int AS theirs,
        bool_and(ST_IsValid(ours.g)) AS valid, bool_and(ST_NumGeometries(ours.g) = ST_NumGeometries(theirs.g)) AS parts,
        bool_or(ST_NumGeometries(ours.g) > 1) AS multi, max(ST_HausdorffDistance(ours.g, theirs.g)) AS apart
      FROM ours FULL JOIN (SELECT * FROM theirs WHERE NOT ST_IsEmpty(g)) theirs USING (a, b)`,
      [left, right, JSON.stringify(ours)],
    );
    const [{ apart, pairs: all, multi, ...counts }] = rows;
    expect(counts).toEqual({ ours: all, theirs: all, valid: true, parts: true });
    expect(apart).toBeLessThan(1e-7);
    expect(all).toBeGreaterThan(80);
    expect(multi).toBe(severalParts);
  });
});

/** Around its first position but one. */
function shrunk(star: string): string {
  const ring = star
    .slice('POLYGON(('.length, -2)
    .split(', ')
    .map((position) => position.split(' ').map(Number));
  const middle = [0, 1].map(
    (axis) => ring.slice(1).reduce((sum, position) => sum + position[axis]!, 0) / (ring.length - 1),
  );
  return wkt(
    ring.slice(1).map((position) => position.map((n, axis) => middle[axis]! + (n - middle[axis]!) / 3)),
  );
}

it('an invalid area inside of another one is repaired', async () => {
  const [large, bow] = await blobsOf([
    'POLYGON((0 0, 9 0, 9 9, 0 9, 0 0))',
    'POLYGON((1 1, 3 3, 3 1, 1 3, 1 1))',
  ]);
  const { pieces } = new OverlayIndex().add([large!]).intersect([bow!], PLANES.srsId);
  const { rows } = await client.query(
    'SELECT ST_IsValid(g) AS valid, ST_Area(g) AS area FROM ST_GeomFromWKB($1) g',
    [Buffer.from((pieces[0] as Uint8Array).subarray(ENVELOPE))],
  );
  expect(rows).toEqual([{ valid: true, area: 2 }]);
});

it('what has the form of ours is not written anew', async () => {
  const wkts = [
    'POINT(1 2)',
    'LINESTRING(0 0, 1 1)',
    'POLYGON((0 0, 9 0, 9 9, 0 0))',
    'MULTIPOINT Z(0 0 1, 1 1 2)',
  ];
  const blobs = await blobsOf(wkts);
  const again = processGeometries(blobs, { name: 'none' }, PLANES);
  expect(again.map((blob, i) => blob === blobs[i])).toEqual([true, true, true, true]);
  const other = processGeometries(blobs, { name: 'none' }, { ...PLANES, srsId: 4326 });
  expect(other.map((blob, i) => blob === blobs[i])).toEqual([false, false, false, false]);
  const wrong = Buffer.from(blobs[1]!);
  wrong.writeDoubleLE(-5, 8);
  expect(processGeometries([wrong], { name: 'none' }, PLANES)).toEqual([blobs[1]]);
});
