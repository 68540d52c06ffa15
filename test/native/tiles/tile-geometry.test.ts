import { describe, expect, it } from 'vitest';
import {
  decode,
  geoPackageBlob,
  openDatabase,
  type Position,
  planeOptions,
  randomSource,
  ringArea,
  wkb,
} from '../support.js';

const db = openDatabase();
const encode = db.prepare<[string, Buffer | null], Buffer>('SELECT gr_mvt(?, 1, ?)').pluck();

const square = (x: number, y: number, side: number, clockwise = false): Position[] => {
  const ring: Position[] = [
    [x, y],
    [x + side, y],
    [x + side, y + side],
    [x, y + side],
    [x, y],
  ];
  return clockwise ? ring.reverse() : ring;
};

function ringsOf(tile: Buffer, feature = 0) {
  return decode(tile).plane!.feature(feature).loadGeometry();
}

describe('gr_mvt geometry', () => {
  it('winds exterior rings positive and holes negative, whatever the input', () => {
    for (const outer of [false, true]) {
      for (const inner of [false, true]) {
        const polygon = [square(100, 100, 1000, outer), square(300, 300, 200, inner)];
        const tile = encode.get(planeOptions(), wkb({ type: 'Polygon', coordinates: polygon }))!;
        expect(ringsOf(tile).map(ringArea)).toEqual([1_000_000, -40_000]);
      }
    }
  });

  it('keeps polygons of a multipolygon apart', () => {
    const tile = encode.get(
      planeOptions(),
      wkb({
        type: 'MultiPolygon',
        coordinates: [[square(0, 0, 100, true), square(10, 10, 20)], [square(500, 500, 50)]],
      }),
    )!;
    expect(ringsOf(tile).map(ringArea)).toEqual([10_000, -400, 2500]);
  });

  it('puts y down and rounds to the grid', () => {
    const tile = encode.get(planeOptions(), wkb({ type: 'Point', coordinates: [10.4, 4085.6] }))!;
    expect(ringsOf(tile)).toEqual([[expect.objectContaining({ x: 10, y: 10 })]]);
  });

  it('drops repeated vertices, collapsed rings and the features they leave empty', () => {
    const line = wkb({
      type: 'LineString',
      coordinates: [
        [1, 1],
        [1.2, 1.1],
        [1.3, 1.3],
        [9, 1],
        [9.1, 1],
      ],
    });
    expect(ringsOf(encode.get(planeOptions(), line)!)[0]).toHaveLength(2);
    const still = wkb({
      type: 'LineString',
      coordinates: [
        [1, 1],
        [1.2, 1.1],
      ],
    });
    expect(encode.get(planeOptions(), still)).toHaveLength(0);
    const speck = wkb({ type: 'Polygon', coordinates: [square(5, 5, 0.3)] });
    expect(encode.get(planeOptions(), speck)).toHaveLength(0);
    const sliver = wkb({
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [50, 0],
          [100, 0.2],
          [0, 0],
        ],
      ],
    });
    expect(encode.get(planeOptions(), sliver)).toHaveLength(0);
    const lostHole = wkb({ type: 'Polygon', coordinates: [square(0, 0, 100), square(50, 50, 0.2)] });
    expect(ringsOf(encode.get(planeOptions(), lostHole)!)).toHaveLength(1);
  });

  it('closes rings that come open', () => {
    const open = wkb({ type: 'Polygon', coordinates: [square(10, 10, 100).slice(0, 4)] });
    expect(ringsOf(encode.get(planeOptions(), open)!).map(ringArea)).toEqual([10_000]);
  });

  it('skips what is no geometry, and says nothing of it', () => {
    for (const blob of [null, Buffer.alloc(0), Buffer.from('GP'), Buffer.from('nonsense bytes here')]) {
      expect(encode.get(planeOptions(), blob)).toHaveLength(0);
    }
    const flagged = geoPackageBlob(wkb({ type: 'Point', coordinates: [1, 1] }), { empty: true });
    expect(encode.get(planeOptions(), flagged)).toHaveLength(0);
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1e308]) {
      const line = wkb({
        type: 'LineString',
        coordinates: [
          [0, 0],
          [bad, 5],
          [10, 10],
        ],
      });
      const tile = encode.get(planeOptions(), line)!;
      for (const part of tile.length === 0 ? [] : ringsOf(tile)) {
        for (const p of part) expect(Math.max(Math.abs(p.x), Math.abs(p.y))).toBeLessThanOrEqual(4096);
      }
    }
  });

  it('makes one feature per kind of geometry of a collection', () => {
    const tile = encode.get(
      planeOptions(),
      wkb({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Polygon', coordinates: [square(0, 0, 9)] },
          { type: 'Point', coordinates: [1, 1] },
          {
            type: 'MultiLineString',
            coordinates: [
              [
                [0, 0],
                [5, 5],
              ],
            ],
          },
          { type: 'Point', coordinates: [2, 2] },
        ],
      }),
    )!;
    const layer = decode(tile).plane!;
    expect([0, 1, 2].map((i) => layer.feature(i).type)).toEqual([1, 2, 3]);
    expect(layer.feature(0).loadGeometry()).toHaveLength(2);
    expect(db.prepare('SELECT gr_mvt_count(?)').pluck().get(tile)).toBe(3);
  });

  it('simplifies within the tolerance and not without it', () => {
    const random = randomSource(7);
    const line = Array.from({ length: 2000 }, (_, i): Position => [i * 2, 2000 + random() * 6]);
    const blob = wkb({ type: 'LineString', coordinates: line });
    const full = ringsOf(encode.get(planeOptions(), blob)!)[0]!;
    expect(full).toHaveLength(2000);
    for (const simplify of [1, 3, 8]) {
      const thin = ringsOf(encode.get(planeOptions({ simplify }), blob)!)[0]!;
      expect(thin.length).toBeLessThan(full.length);
      let segment = 0;
      for (const p of full) {
        while (thin[segment + 1]!.x < p.x) segment++;
        const [a, b] = [thin[segment]!, thin[segment + 1]!];
        const across = Math.abs((b.x - a.x) * (a.y - p.y) - (a.x - p.x) * (b.y - a.y));
        expect(across / Math.hypot(b.x - a.x, b.y - a.y)).toBeLessThanOrEqual(simplify);
      }
    }
  });

  it('drops a closed line that thinning leaves without length', () => {
    const loop = wkb({
      type: 'LineString',
      coordinates: [
        [100, 100],
        [101, 100],
        [101, 101],
        [100, 100],
      ],
    });
    expect(encode.get(planeOptions({ simplify: 3 }), loop)).toHaveLength(0);
    expect(ringsOf(encode.get(planeOptions({ simplify: 0 }), loop)!)[0]).toHaveLength(4);
  });

  it('thins a hostile zigzag in time that grows with its length', () => {
    const zigzag = Array.from({ length: 200_000 }, (_, i): Position => [i / 50, (i % 2) * 4000]);
    const blob = wkb({ type: 'LineString', coordinates: zigzag });
    const started = performance.now();
    expect(encode.get(planeOptions({ simplify: 0.5 }), blob)!.length).toBeGreaterThan(0);
    // 0.15 s; the square of the length would be 40 s.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('thins rings to no fewer than four positions, or drops them', () => {
    const random = randomSource(21);
    for (let k = 0; k < 300; k++) {
      const n = 3 + Math.floor(random() * 30);
      const size = 1 + random() * 30;
      const ring = Array.from({ length: n }, (_, i): Position => {
        const angle = (i / n) * 2 * Math.PI;
        const r = size * (0.3 + random());
        return [2000 + r * Math.cos(angle), 2000 + r * Math.sin(angle)];
      });
      const blob = wkb({ type: 'Polygon', coordinates: [[...ring, ring[0]!]] });
      const tile = encode.get(planeOptions({ simplify: random() * 10 }), blob)!;
      if (tile.length === 0) continue;
      const [thin] = ringsOf(tile);
      expect(thin!.length).toBeGreaterThanOrEqual(4);
      expect(ringArea(thin!)).toBeGreaterThan(0);
    }
  });

  it('removes the spikes that the grid makes of narrow arms', () => {
    const arms: [string, Position[], number][] = [
      [
        'in the middle',
        [
          [0, 0],
          [100, 0],
          [100, 50],
          [180, 50.2],
          [180, 50.3],
          [100, 50.4],
          [100, 100],
          [0, 100],
        ],
        5,
      ],
      [
        'at the first position',
        [
          [180, 50],
          [100, 50.4],
          [100, 100],
          [0, 100],
          [0, 0],
          [100, 0],
          [100, 50.1],
        ],
        5,
      ],
      [
        'at the last position',
        [
          [100, 50.4],
          [100, 100],
          [0, 100],
          [0, 0],
          [100, 0],
          [100, 50.1],
          [180, 50],
        ],
        5,
      ],
      [
        'of several bends',
        [
          [0, 0],
          [100, 0],
          [100, 50],
          [150, 50.1],
          [180, 80.1],
          [180.1, 80],
          [150, 50.2],
          [100, 50.2],
          [100, 100],
          [0, 100],
        ],
        5,
      ],
    ];
    for (const [where, ring, corners] of arms) {
      const tile = encode.get(planeOptions(), wkb({ type: 'Polygon', coordinates: [[...ring, ring[0]!]] }))!;
      const [clean] = ringsOf(tile);
      expect(ringArea(clean!), where).toBe(10_000);
      // A vertex may stay where the arm left the side; no edge runs back over the one before.
      expect(clean!.length, where).toBeLessThanOrEqual(corners + 1);
      for (let i = 0; i + 2 < clean!.length; i++) {
        const [a, b, c] = [clean![i]!, clean![i + 1]!, clean![i + 2]!];
        const cross = (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x);
        const dot = (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y);
        expect(cross === 0 && dot < 0, where).toBe(false);
      }
    }
    const flat = [
      [0, 0],
      [50, 0.1],
      [100, 0],
      [50, 0.2],
      [0, 0],
    ] as Position[];
    expect(encode.get(planeOptions(), wkb({ type: 'Polygon', coordinates: [flat] }))).toHaveLength(0);
  });

  it.each(['EPSG:4326', 'EPSG:4267'])(
    'closes polygons around a pole outside of the tile, from %s',
    (from) => {
      const world = 20037508.342789244;
      const antarctica: Position[] = [
        [-180, -90],
        [180, -90],
        [180, -70],
        [0, -65],
        [-180, -70],
        [-180, -90],
      ];
      const options = (bbox: number[]) => planeOptions({ from, bbox, buffer: 64 });
      const tile = encode.get(
        options([-world, -world, world, world]),
        wkb({ type: 'Polygon', coordinates: [antarctica] }),
      )!;
      const ys = ringsOf(tile)[0]!.map(({ y }) => y);
      expect(Math.max(...ys)).toBe(4096 + 64);
      expect(ys).not.toContain(4096);
      const pole = encode.get(
        options([-world, -world, world, world]),
        wkb({ type: 'Point', coordinates: [0, 88] }),
      )!;
      expect(pole).toHaveLength(0);
    },
  );
});
