import { describe, expect, it } from 'vitest';
import {
  decode,
  geoPackageBlob,
  openDatabase,
  type Position,
  randomSource,
  type Shape,
  wkb,
} from './support.js';

const db = openDatabase();
const random = randomSource(20261121);
const below = (n: number) => Math.floor(random() * n);

const RING: Position[] = [
  [-20, -20],
  [120, -10],
  [60, 40],
  [110, 130],
  [-20, 110],
  [-20, -20],
];
const HOLE: Position[] = [
  [10, 10],
  [10, 30],
  [40, 30],
  [10, 10],
];
const SHAPES: Shape[] = [
  { type: 'Point', coordinates: [3, 4] },
  { type: 'LineString', coordinates: RING },
  { type: 'MultiPolygon', coordinates: [[RING, HOLE], [HOLE]] },
  {
    type: 'GeometryCollection',
    geometries: [
      {
        type: 'MultiPoint',
        coordinates: [
          [1, 1],
          [2, 2],
        ],
      },
      { type: 'GeometryCollection', geometries: [{ type: 'Polygon', coordinates: [RING, HOLE] }] },
      { type: 'MultiLineString', coordinates: [RING, HOLE] },
    ],
  },
];

const SEEDS = SHAPES.flatMap((shape) => [
  wkb(shape),
  wkb(shape, { bigEndian: true }),
  wkb(shape, { ewkb: true, srid: 3857 }),
  geoPackageBlob(wkb(shape)),
  geoPackageBlob(wkb(shape), { envelope: 1, bounds: [-20, 120, -20, 130] }),
]);

const COUNTS = [0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x0fffffff];
const NUMBERS = [0, -0, Number.NaN, Number.POSITIVE_INFINITY, -1e308, 1e308, 5e-324, 1e15, 100.5];

/** Changes one to three things of a blob. */
function mutate(seed: Buffer): Buffer {
  let blob = Buffer.from(seed);
  for (let k = 1 + below(3); k > 0 && blob.length > 8; k--) {
    const at = below(blob.length);
    switch (below(7)) {
      case 0:
        blob[at] = blob[at]! ^ (1 << below(8));
        break;
      case 1:
        blob[at] = below(256);
        break;
      case 2:
        blob = blob.subarray(0, at);
        break;
      case 3:
        blob = Buffer.concat([blob.subarray(0, at), Buffer.from([below(256)]), blob.subarray(at)]);
        break;
      case 4:
        blob.writeUInt32LE(COUNTS[below(COUNTS.length)]!, below(blob.length - 4));
        break;
      case 5:
        blob.writeDoubleLE(NUMBERS[below(NUMBERS.length)]!, below(blob.length - 8));
        break;
      default: {
        const other = SEEDS[below(SEEDS.length)]!;
        blob = Buffer.concat([blob.subarray(0, at), other.subarray(below(other.length))]);
      }
    }
  }
  return blob;
}

function tileOptions(simplify: number, from: string): string {
  const bbox = [0, 0, 100, 100];
  return JSON.stringify({
    layer: 'f',
    fields: ['v'],
    from,
    to: 'EPSG:3857',
    bbox,
    extent: 100,
    buffer: 8,
    simplify,
  });
}

const TILES = [tileOptions(0, 'EPSG:3857'), tileOptions(2, 'EPSG:3857'), tileOptions(0, 'EPSG:4326')];
const PAGES = ['EPSG:3857', 'OGC:CRS84'].map((to) =>
  JSON.stringify({ fields: ['v'], from: 'EPSG:3857', to, precision: 3 }),
);

interface Row {
  reason: string | null;
  tile: Buffer;
  page: Buffer;
  empty: number | null;
  x: number | null;
}

function checkTile(tile: Buffer): void {
  const layer = decode(tile).f!;
  for (let i = 0; i < layer.length; i++) {
    const feature = layer.feature(i);
    for (const part of feature.loadGeometry()) {
      if (feature.type === 3 && part.length < 4) throw new Error('a ring of fewer than 4 positions');
      for (const p of part) {
        if (!(p.x >= -8 && p.x <= 108 && p.y >= -8 && p.y <= 108)) throw new Error(`outside: ${p.x} ${p.y}`);
      }
    }
  }
}

describe('mutated blobs', () => {
  it('give a valid tile and valid GeoJSON, or none, 200,000 times', () => {
    const query = db.prepare<unknown[], Row>(
      `SELECT gr_valid_geometry(@b) AS reason, gr_mvt(@tile, 1, @b, 'x') AS tile, gr_geojson(@page, 1, @b, @b) AS page,
              ST_IsEmpty(@b) AS empty, ST_MinX(@b) + gr_hilbert(@b, 0, 0, 100, 100) AS x`,
    );
    let readable = 0;
    let drawn = 0;
    for (let i = 0; i < 200_000; i++) {
      const b = mutate(SEEDS[i % SEEDS.length]!);
      const row = query.get({ b, tile: TILES[i % TILES.length], page: PAGES[i % PAGES.length] })!;
      if (row.reason === null) readable++;
      else if (row.tile.length > 0) throw new Error(`drawn, but ${row.reason}`);
      if (row.tile.length > 0) {
        drawn++;
        if (i % 4 === 0) checkTile(row.tile);
      }
      const feature = JSON.parse(row.page.toString()) as { geometry: unknown; properties: { v: unknown } };
      if (row.reason !== null && feature.geometry !== null) throw new Error(`written, but ${row.reason}`);
    }
    // The mutator must neither break nor spare everything.
    expect(readable).toBeGreaterThan(20_000);
    expect(readable).toBeLessThan(180_000);
    expect(drawn).toBeGreaterThan(10_000);
  });
});
