import { describe, expect, it } from 'vitest';
import { LayerEncoder } from '../../../src/native/index.js';
import {
  decode,
  openDatabase,
  type Position,
  planeOptions,
  randomSource,
  type Shape,
  wkb,
} from '../support.js';

const db = openDatabase();

/** A square in the plane of `planeOptions`. */
const square = (x: number, y: number, side: number): Shape => ({
  type: 'Polygon',
  coordinates: [
    [
      [x, y],
      [x + side, y],
      [x + side, y + side],
      [x, y + side],
      [x, y],
    ],
  ],
});

interface Row {
  id: number;
  shape: Shape;
  name: string;
  n: number;
}

function encode(rows: readonly Row[], changes: Record<string, unknown>, order = 'id') {
  db.exec('DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, g BLOB, name TEXT, n)');
  const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?, ?)');
  for (const { id, shape, name, n } of rows) insert.run(id, wkb(shape), name, n);
  return db
    .prepare(
      `SELECT tile, gr_mvt_count(tile) AS features, gr_mvt_dropped(tile) AS dropped FROM (SELECT gr_mvt(?, id, g, name, n) AS tile FROM (SELECT * FROM t ORDER BY ${order} LIMIT -1) LIMIT -1)`,
    )
    .get(planeOptions({ fields: ['name', 'n'], ...changes })) as {
    tile: Buffer;
    features: number;
    dropped: number;
  };
}

const random = randomSource(7);
const rows: Row[] = Array.from({ length: 5000 }, (_, i) => ({
  id: i + 1,
  shape: square(Math.floor(random() * 3900), Math.floor(random() * 3900), 1 + (i % 100)),
  name: `name ${i % 1500}`,
  n: i / 2,
}));
/** Long lines too, of the same places. */
const lines: Row[] = rows.map((row, i) => ({
  ...row,
  shape: {
    type: 'LineString',
    coordinates: [
      [i % 4000, 5],
      [i % 4000, 6 + (i % 100)],
    ],
  },
}));
const dot = (place: Position, i: number): Row => ({
  id: i + 1,
  shape: { type: 'Point', coordinates: place },
  name: 'dot',
  n: i,
});
const points: Row[] = rows.map((row, i) => ({
  ...row,
  shape: { type: 'Point', coordinates: [(i * 7) % 4096, (i * 13) % 4096] },
}));

/** Positions of the points of a tile. */
function positions(tile: Buffer): { x: number; y: number }[] {
  const layer = decode(tile).plane!;
  return Array.from({ length: layer.length }, (_, i) => layer.feature(i).loadGeometry()[0]![0]!);
}

/** Number of positions in each cell of 128 grid units. */
function countCells(places: readonly { x: number; y: number }[]): Map<string, number> {
  const cells = new Map<string, number>();
  for (const { x, y } of places) {
    const cell = `${Math.floor(x / 128)} ${Math.floor(y / 128)}`;
    cells.set(cell, (cells.get(cell) ?? 0) + 1);
  }
  return cells;
}

describe('the budget of a tile', () => {
  it.each([
    ['polygons', rows],
    ['lines', lines],
  ] as const)('keeps the largest %s, with what they carry, in their order', (_, all) => {
    const { tile, features, dropped } = encode(all, { maxFeatures: 500 });
    expect([features, dropped]).toEqual([500, 4500]);
    const layer = decode(tile).plane!;
    const ids = Array.from({ length: layer.length }, (_unused, i) => layer.feature(i).id!);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    for (let i = 0; i < layer.length; i++) {
      const row = all[ids[i]! - 1]!;
      expect(layer.feature(i).properties).toEqual({ name: row.name, n: row.n });
      // The 500 largest of 5000 whose sizes go from 1 to 100.
      expect((row.id - 1) % 100).toBeGreaterThanOrEqual(90);
    }
    const { _values } = layer as unknown as { _values: unknown[] };
    expect(new Set(_values).size).toBe(_values.length);
    // No value is left of what was dropped.
    const named = new Set(ids.flatMap((id) => [all[id - 1]!.name, all[id - 1]!.n]));
    expect(new Set(_values)).toEqual(named);
  });

  it('keeps the same points in whatever order and tile they come', () => {
    const kept = (list: readonly Row[], changes: Record<string, unknown>, order?: string) => {
      const { tile } = encode(list, { maxFeatures: 1000, ...changes }, order);
      const layer = decode(tile).plane!;
      return new Set(Array.from({ length: layer.length }, (_, i) => layer.feature(i).properties['n']));
    };
    const once = kept(points, {});
    for (const order of ['id DESC', 'id * 7919 % 5003']) expect(kept(points, {}, order)).toEqual(once);
    // Shifted by half a tile: a thousand of fewer points, so all that both show of the first are there.
    const shifted = kept(points, { bbox: [2048, 0, 6144, 4096] });
    const right = points.filter((_, i) => (i * 7) % 4096 > 2048);
    const lost = right.filter(({ n }) => once.has(n) && !shifted.has(n));
    expect(lost).toEqual([]);
  });

  const somewhere = () => Math.floor(random() * 4096);
  const uniform = Array.from({ length: 20_000 }, () => [somewhere(), somewhere()] as const);
  // Nine of ten are in a corner of the tile.
  const clustered = uniform.map(([x, y], i): Position => (i % 10 === 0 ? [x, y] : [x / 16, y / 16]));

  it.each([
    ['clustered', clustered, 45],
    ['uniform', uniform, 8],
  ] as const)('spreads a sample of %s points evenly', (_, places, most) => {
    const { tile, features, dropped } = encode(places.map(dot), { maxFeatures: 2000 });
    expect([features, dropped]).toEqual([2000, 18_000]);
    const shown = countCells(positions(tile));
    // A point remains in each cell that had one, and no cell gets much more than others.
    const all = countCells(places.map(([x = 0, y = 0]) => ({ x, y })));
    expect(shown.size).toBeGreaterThan(all.size * 0.97);
    expect(Math.max(...shown.values())).toBeLessThan(most);
  });

  it('thins neighbouring tiles alike at their border', () => {
    // The right tile has a third of the points of the left one, and both have too many.
    const all = uniform.map(([x, y], i) => dot(i % 4 === 0 ? [x + 4096, y] : [x, y], i));
    const shownIn = (minx: number) =>
      positions(encode(all, { maxFeatures: 1500, bbox: [minx, 0, minx + 4096, 4096] }).tile);
    const left = countCells(shownIn(0).filter(({ x }) => x >= 3584 && x < 4096));
    const right = countCells(shownIn(4096).filter(({ x }) => x >= 0 && x < 512));
    // The tile has 4 x 32 cells.
    for (const { size } of [left, right]) expect(size).toBeGreaterThan(120);
  });

  it.each([20_000, 100_000, 200_000])('holds %d bytes', (maxBytes) => {
    const { tile, features, dropped } = encode(rows, { maxBytes });
    expect(tile.length).toBeLessThan(maxBytes * 1.05);
    expect(tile.length).toBeGreaterThan(maxBytes * 0.5);
    expect(features + dropped).toBe(5000);
    expect(decode(tile).plane!.length).toBe(features);
  });

  it('shows one feature however large it is, and drops nothing without need', () => {
    const { features, dropped } = encode(rows, { maxBytes: 1 });
    expect([features, dropped]).toEqual([1, 4999]);
    const { features: all, dropped: none } = encode(rows, { maxBytes: 10_000_000, maxFeatures: 5000 });
    expect([all, none]).toEqual([5000, 0]);
  });

  it('counts the parts of a collection as features of their own', () => {
    const collection: Shape = {
      type: 'GeometryCollection',
      geometries: [{ type: 'Point', coordinates: [5, 5] }, square(10, 10, 100)],
    };
    const { features, dropped } = encode([{ id: 1, shape: collection, name: 'both', n: 1 }], {
      maxFeatures: 1,
    });
    expect([features, dropped]).toEqual([1, 1]);
  });

  it('is told by the encoder of JavaScript rows', () => {
    const encoder = new LayerEncoder({
      layer: 'plane',
      fields: [],
      from: 'EPSG:3857',
      to: 'EPSG:3857',
      bbox: [0, 0, 4096, 4096],
      maxFeatures: 10,
    });
    encoder.add(points.slice(0, 300).map(({ id, shape }) => [id, wkb(shape)]));
    const layer = decode(encoder.finish()).plane!;
    expect(layer.length).toBe(10);
    expect(encoder.dropped).toBe(290);
  });
});

const OUT_OF_TIME = expect.objectContaining({ code: 'SQLITE_INTERRUPT', message: 'gr_mvt: out of time' });

describe('the deadline of a tile', () => {
  it('ends the statement', () => {
    expect(() => encode(rows, { deadline: Date.now() - 1 })).toThrow(OUT_OF_TIME);
    expect(encode(rows, { deadline: Date.now() + 60_000 }).features).toBe(5000);
  });
});
