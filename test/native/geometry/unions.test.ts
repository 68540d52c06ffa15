import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GeometryUnion, OverlayIndex } from '../../../src/native/processing.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';

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

async function blobsOf(wkts: readonly string[]): Promise<Buffer[]> {
  const { rows } = await client.query('SELECT ST_AsBinary(g::geometry) AS g FROM unnest($1::text[]) g', [
    wkts,
  ]);
  return rows.map(({ g }) => g);
}

const wkbOf = (blob: Uint8Array) => Buffer.from(blob.subarray(8 + (((blob[3]! >> 1) & 7) === 0 ? 0 : 32)));

function unionOf(blobs: readonly Buffer[]): Uint8Array {
  const union = new GeometryUnion();
  union.add(blobs);
  return union.take(0)!;
}

/** Area that only one of both covers, and whether ours is valid. */
async function deviation(wkts: readonly string[]): Promise<[number, boolean]> {
  const { rows } = await client.query(
    `SELECT ST_Area(ST_SymDifference(o, ST_Union(g::geometry))) AS area, ST_IsValid(o) AS valid
     FROM unnest($1::text[]) g, (SELECT ST_GeomFromWKB($2) AS o) ours GROUP BY o`,
    [wkts, wkbOf(unionOf(await blobsOf(wkts)))],
  );
  return [rows[0].area, rows[0].valid];
}

const square = (x: number, y: number, side = 1) =>
  `POLYGON((${x} ${y},${x + side} ${y},${x + side} ${y + side},${x} ${y + side},${x} ${y}))`;
const squares = (count: number, of: (i: number) => string) => Array.from({ length: count }, (_, i) => of(i));

it.each([
  ['share edges', squares(600, (i) => square(i % 30, Math.floor(i / 30)))],
  ['are apart', squares(600, (i) => square(2 * (i % 30), 2 * Math.floor(i / 30)))],
  ['lie over each other', squares(600, (i) => square(0.7 * (i % 30), 0.7 * Math.floor(i / 30)))],
  [
    'share parts of edges',
    squares(600, (i) => square((i % 30) + 0.5 * (Math.floor(i / 30) % 2), Math.floor(i / 30))),
  ],
  ['are the same', squares(3, () => square(0, 0))],
  ['lie in one another', [square(0, 0, 10), square(2, 2)]],
  ['are very small and lie in very large ones', [square(0, 0, 3e6), square(100, 100, 6)]],
  [
    'are very small and the same, beside very large ones',
    [square(0, 0, 1e6), square(2e6, 0), square(2e6, 0)],
  ],
  [
    'lie over each other by a sliver between shared corners',
    [square(0, 0), 'POLYGON((1 0,2 0,2 1,1 1,0.9999999999 0.5,1 0))'],
  ],
  [
    'lie over each other after others that share edges',
    [...squares(600, (i) => square(i % 30, Math.floor(i / 30))), square(3.5, 3.5)],
  ],
])('areas that %s unite as in PostGIS', async (_, wkts) => {
  const [area, valid] = await deviation(wkts);
  expect([Math.abs(area) < 1e-11, valid]).toEqual([true, true]);
});

it('an area that cannot be repaired is told, and not left out', async () => {
  const [area, beyond] = await blobsOf([
    square(0, 0),
    'POLYGON((-1e308 -1e308, 0 1e308, -1e308 0, 1e308 0, -1e308 -1e308))',
  ]);
  expect(() => new GeometryUnion().add([area!, beyond!])).toThrow(/TopologyException/);
});

it('an area within another one is shared as it is', async () => {
  const [small, large, across] = await blobsOf([square(1, 1), square(0, 0, 5), square(4.5, 1)]);
  const { pairs, pieces } = new OverlayIndex().add([large!]).intersect([small!, across!], 0);
  expect([...pairs]).toEqual([0, 0, 1, 0]);
  const areas = await Promise.all(
    pieces.map(async (piece) => {
      const { rows } = await client.query('SELECT ST_Area(ST_GeomFromWKB($1)) AS area', [
        wkbOf(piece as Uint8Array),
      ]);
      return rows[0].area;
    }),
  );
  expect(areas).toEqual([1, 0.5]);
});
