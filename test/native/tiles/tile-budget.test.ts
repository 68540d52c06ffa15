import { describe, expect, it } from 'vitest';
import { LayerEncoder } from '../../../src/native/index.js';
import { decode, openDatabase, planeOptions, randomSource, type Shape, wkb } from '../support.js';

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

function encode(rows: readonly Row[], changes: Record<string, unknown>) {
  db.exec('DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, g BLOB, name TEXT, n)');
  const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?, ?)');
  for (const { id, shape, name, n } of rows) insert.run(id, wkb(shape), name, n);
  return db
    .prepare(
      'SELECT tile, gr_mvt_count(tile) AS features, gr_mvt_dropped(tile) AS dropped FROM (SELECT gr_mvt(?, id, g, name, n) AS tile FROM t LIMIT -1)',
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
const points: Row[] = rows.map((row, i) => ({
  ...row,
  shape: { type: 'Point', coordinates: [(i * 7) % 4096, (i * 13) % 4096] },
}));

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
    const kept = (list: readonly Row[], changes: Record<string, unknown>) => {
      const { tile } = encode(list, { maxFeatures: 1000, ...changes });
      const layer = decode(tile).plane!;
      return new Set(Array.from({ length: layer.length }, (_, i) => layer.feature(i).properties['n']));
    };
    const once = kept(points, {});
    const renamed = points.toReversed().map((row, i) => ({ ...row, id: i + 1 }));
    expect(kept(renamed, {})).toEqual(once);
    // Shifted by half a tile: a thousand of fewer points, so all that both show of the first are there.
    const shifted = kept(points, { bbox: [2048, 0, 6144, 4096] });
    const right = points.filter((_, i) => (i * 7) % 4096 > 2048);
    const lost = right.filter(({ n }) => once.has(n) && !shifted.has(n));
    expect(lost).toEqual([]);
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
