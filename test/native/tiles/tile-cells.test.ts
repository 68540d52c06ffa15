import { describe, expect, it } from 'vitest';
import { decode, openDatabase, type Position, planeOptions, randomSource, wkb } from '../support.js';

const db = openDatabase();
db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, g BLOB)');

const SIDE = 4096;

/** Counts by column and row of the cells of a tile, whose corner is at `x`, `y` of the plane. */
function countCells(
  places: readonly Position[],
  { x = 0, y = 0, side = SIDE, cells = 64 }: { x?: number; y?: number; side?: number; cells?: number } = {},
): Map<string, number> {
  db.exec('DELETE FROM t');
  const insert = db.prepare('INSERT INTO t VALUES (?, ?)');
  for (const [i, place] of places.entries()) insert.run(i + 1, wkb({ type: 'Point', coordinates: place }));
  const options = planeOptions({ fields: [], bbox: [x, y, x + side, y + side], cells, maxBytes: 1000 });
  const tile = db.prepare('SELECT gr_mvt(?, id, g) FROM t').pluck().get(options) as Buffer;
  const layer = decode(tile).plane;
  const width = 4096 / cells;
  const counts = new Map<string, number>();
  for (let i = 0; i < (layer?.length ?? 0); i++) {
    const feature = layer!.feature(i);
    const [ring] = feature.loadGeometry();
    expect([feature.type, ring!.length, feature.id]).toEqual([3, 5, undefined]);
    const [left, top, right, bottom] = feature.bbox!() as number[];
    expect([right! - left!, bottom! - top!]).toEqual([width, width]);
    counts.set(`${left! / width} ${top! / width}`, feature.properties['count'] as number);
  }
  return counts;
}

const sum = (counts: Map<string, number>) => [...counts.values()].reduce((a, b) => a + b, 0);

describe('points counted in cells', () => {
  const random = randomSource(3);
  const places = Array.from({ length: 5000 }, () => [random() ** 2 * SIDE, random() * SIDE]);

  it('counts each point once', () => {
    const counts = countCells(places);
    const expected = new Map<string, number>();
    for (const [x = 0, y = 0] of places) {
      const cell = `${Math.floor(x / 64)} ${Math.floor((SIDE - y) / 64)}`;
      expected.set(cell, (expected.get(cell) ?? 0) + 1);
    }
    expect(counts).toEqual(expected);
  });

  it('counts points on the border of tiles in one of them', () => {
    const border = [0, 1024, 2048, 3072].flatMap((x) => [0, 1024, 2048, 3072].map((y) => [x, y]));
    const parts = [0, 2048].flatMap((x) =>
      // The row above the plane has the points on its upper border, which is y = 0 of the row below.
      [-2048, 0, 2048].map((y) => countCells(border, { x, y, side: 2048 })),
    );
    expect(parts.map(sum).reduce((a, b) => a + b)).toBe(16);
  });

  it('adds the cells of a zoom level up to those of the level before it', () => {
    const whole = countCells(places, { cells: 32 });
    const quarter = countCells(places, { x: 0, y: 2048, side: 2048 });
    for (const [cell, count] of whole) {
      const [column = 0, row = 0] = cell.split(' ').map(Number);
      if (column >= 16 || row >= 16) continue;
      let parts = 0;
      for (const x of [0, 1, 2, 3])
        for (const y of [0, 1, 2, 3]) parts += quarter.get(`${4 * column + x} ${4 * row + y}`) ?? 0;
      expect(parts).toBe(count);
    }
  });

  it('refuses more cells than the limit', () => {
    expect(() => countCells(places, { cells: 1000 })).toThrow("'cells' must be 0 to 256");
  });
});
