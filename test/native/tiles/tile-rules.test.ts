import { readdirSync } from 'node:fs';
import { get } from '@mapbox/mvt-fixtures';
import { describe, expect, it } from 'vitest';
import {
  geoPackageBlob,
  openDatabase,
  type Position,
  planeOptions,
  randomSource,
  type Shape,
  wkb,
} from '../support.js';
import { checkTile, doubleArea } from './tile-rules.js';

const fixtures = readdirSync(new URL('../../../node_modules/@mapbox/mvt-fixtures/src', import.meta.url))
  .filter((name) => /^\d+\.json$/.test(name))
  .map((name) => get(name.slice(0, -5)));

function broken(tile: Uint8Array): string | undefined {
  try {
    checkTile(tile);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the check of tiles', () => {
  it.each(
    fixtures
      .filter(({ validity }) => validity.v2 !== true)
      .map(({ id, description, buffer }) => [id, description, buffer] as const),
  )('refuses fixture %s: %s', (_id, _description, buffer) => {
    expect(broken(buffer)).toBeDefined();
  });

  it('takes the valid ones, but for what decoders have to bear and encoders should not write', () => {
    const refused = fixtures.filter(
      ({ validity, buffer }) => validity.v2 === true && broken(buffer) !== undefined,
    );
    // A geometry of no type, version 1, and a count of half a billion.
    expect(refused.map(({ id }) => id)).toEqual(['016', '039', '057']);
  });
});

const db = openDatabase();
const random = randomSource(20261122);
const below = (n: number) => Math.floor(random() * n);

/** Positions in and around the tile, many of them on few places, so that they meet, touch and cross. */
function positions(n: number): Position[] {
  const scale = [8, 60, 5000, 40_000][below(4)]!;
  const [ox, oy] = [below(4500) - 200, below(4500) - 200];
  return Array.from({ length: n }, () => [
    ox + (random() - 0.5) * scale,
    oy + Math.round((random() - 0.5) * scale),
  ]);
}

function ring(): Position[] {
  const open = positions(2 + below(12));
  return [...open, open[0]!];
}

const SQUARE: Position[] = [
  [100, 100],
  [200, 200],
  [200, 100],
  [100, 200],
  [100, 100],
];

function shape(depth = 0): Shape {
  switch (below(depth > 2 ? 6 : 8)) {
    case 0:
      return { type: 'Point', coordinates: positions(1)[0]! };
    case 1:
      return { type: 'MultiPoint', coordinates: positions(below(5)) };
    case 2:
      return { type: 'LineString', coordinates: positions(below(12)) };
    case 3:
      return {
        type: 'MultiLineString',
        coordinates: Array.from({ length: below(4) }, () => positions(below(9))),
      };
    case 4:
      return { type: 'Polygon', coordinates: Array.from({ length: below(4) }, ring) };
    case 5:
      return {
        type: 'MultiPolygon',
        coordinates: Array.from({ length: below(4) }, () => Array.from({ length: 1 + below(3) }, ring)),
      };
    case 6:
      // A bow tie: its two halves cancel each other out.
      return { type: 'Polygon', coordinates: [SQUARE] };
    default:
      return {
        type: 'GeometryCollection',
        geometries: Array.from({ length: below(4) }, () => shape(depth + 1)),
      };
  }
}

/** The same with as many ordinates as a dimension has. */
function lifted(value: Shape, ordinates: number): Shape {
  const lift = (x: unknown): unknown => {
    if (!Array.isArray(x)) return x;
    return typeof x[0] === 'number' ? [...x, 7, 8].slice(0, ordinates) : x.map(lift);
  };
  if (value.type === 'GeometryCollection')
    return { ...value, geometries: value.geometries.map((one) => lifted(one, ordinates)) };
  return { ...value, coordinates: lift(value.coordinates) } as Shape;
}

const DIMENSIONS = { XY: 2, XYZ: 3, XYM: 3, XYZM: 4 } as const;
type Dimension = keyof typeof DIMENSIONS;

describe('tiles of whatever geometry comes', () => {
  it.each([
    { simplify: 0, buffer: 0 },
    { simplify: 0.5, buffer: 64 },
    { simplify: 3, buffer: 64 },
    { simplify: 0.5, buffer: 64, maxFeatures: 40 },
    { simplify: 0.5, buffer: 64, maxBytes: 3000 },
  ])('keep every rule: %o', (options) => {
    db.exec('DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, g BLOB, a, b)');
    const insert = db.prepare('INSERT INTO t (g, a, b) VALUES (?, ?, ?)');
    const tile = db.prepare<[string], Buffer>('SELECT gr_mvt(?, id, g, a, b) FROM t').pluck();
    for (let round = 0; round < 40; round++) {
      db.exec('DELETE FROM t');
      for (let i = 0; i < 150; i++) {
        const dimension = Object.keys(DIMENSIONS)[below(4)] as Dimension;
        const bytes = wkb(lifted(shape(), DIMENSIONS[dimension]), {
          dimension,
          ewkb: below(2) === 0,
          bigEndian: below(4) === 0,
        });
        const values = [null, 1, -5, 2.5, 'text', '', '\u{1F30D}', 2n ** 62n, Number.POSITIVE_INFINITY];
        insert.run(below(2) ? bytes : geoPackageBlob(bytes), values[below(9)], values[below(9)]);
      }
      const layers = checkTile(tile.get(planeOptions({ fields: ['a', 'b'], ...options }))!);
      for (const { features, extent } of layers) {
        expect(extent).toBe(4096);
        for (const { parts } of features)
          for (const [x, y] of parts.flat())
            expect(Math.min(x, y, 4096 - x, 4096 - y)).toBeGreaterThanOrEqual(-options.buffer);
        const ids = features.map(({ id, type }) => `${id} ${type}`);
        expect(new Set(ids).size).toBe(ids.length);
      }
    }
  });

  it('wind exterior rings one way and holes the other, however they come', () => {
    const outer: Position[] = [
      [0, 0],
      [0, 900],
      [900, 900],
      [900, 0],
      [0, 0],
    ];
    const hole: Position[] = [
      [100, 100],
      [100, 200],
      [200, 200],
      [200, 100],
      [100, 100],
    ];
    const tile = db.prepare<[string, Buffer], Buffer>('SELECT gr_mvt(?, 1, ?)').pluck();
    for (const exterior of [outer, outer.toReversed()]) {
      for (const interior of [hole, hole.toReversed()]) {
        const bytes = wkb({ type: 'Polygon', coordinates: [exterior, interior] });
        const [layer] = checkTile(tile.get(planeOptions(), bytes)!);
        expect(layer!.features[0]!.parts.map(doubleArea)).toEqual([2 * 900 * 900, -2 * 100 * 100]);
      }
    }
  });
});
