import { describe, expect, it } from 'vitest';
import { transformPoints } from '../../../src/native/index.js';
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

const SIZE = 4096;
const db = openDatabase();
const encode = db.prepare<[string, Buffer], Buffer>('SELECT gr_mvt(?, 1, ?) AS tile').pluck();

/** A simple, mostly concave ring around a centre, closed. */
function starRing(random: () => number, cx: number, cy: number, size: number, n: number): Position[] {
  const ring = Array.from({ length: n }, (_, i): Position => {
    const angle = (i / n) * 2 * Math.PI;
    const radius = size * (0.15 + 0.85 * random());
    return [cx + radius * Math.cos(angle), cy + radius * Math.sin(angle)];
  });
  return [...ring, ring[0]!];
}

/** x of every crossing of rings with a horizontal line, sorted. */
function crossings(rings: Position[][], y: number): number[] {
  const xs: number[] = [];
  for (const ring of rings) {
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1] as [number, number];
      const [bx, by] = ring[i] as [number, number];
      if (ay > y !== by > y) xs.push(ax + ((y - ay) / (by - ay)) * (bx - ax));
    }
  }
  return xs.sort((a, b) => a - b);
}

/** Area of rings (even-odd) inside the box low..high, by scan lines: shares nothing with the clipper. */
function areaInside(rings: Position[][], low: number, high: number): number {
  const lines = 4000;
  const step = (high - low) / lines;
  let area = 0;
  for (let i = 0; i < lines; i++) {
    const xs = crossings(rings, low + (i + 0.5) * step);
    for (let k = 0; k + 1 < xs.length; k += 2) {
      area += Math.max(0, Math.min(xs[k + 1]!, high) - Math.max(xs[k]!, low)) * step;
    }
  }
  return area;
}

function perimeter(rings: Position[][]): number {
  let sum = 0;
  for (const ring of rings) {
    for (let i = 1; i < ring.length; i++) {
      sum += Math.hypot(ring[i]![0]! - ring[i - 1]![0]!, ring[i]![1]! - ring[i - 1]![1]!);
    }
  }
  return sum;
}

/** Positions of each part of a tile of one feature; rings begin with their smallest position. */
function parts(tile: Buffer): string[][] {
  if (tile.length === 0) return [];
  const feature = decode(tile).plane!.feature(0);
  return feature.loadGeometry().map((part) => {
    const positions = part.map((p) => `${p.x} ${p.y}`);
    if (feature.type !== 3) return positions;
    positions.pop();
    const first = positions.indexOf([...positions].sort()[0]!);
    return [...positions.slice(first), ...positions.slice(0, first)];
  });
}

describe('clipping', () => {
  it.each([0, 64])('keeps the area of random polygons inside a buffer of %d', (buffer) => {
    const random = randomSource(4711 + buffer);
    const low = -buffer;
    const high = SIZE + buffer;
    for (let k = 0; k < 120; k++) {
      const [cx, cy, size] = [
        random() * SIZE * 1.6 - 1200,
        random() * SIZE * 1.6 - 1200,
        500 + random() * 5000,
      ];
      const rings = [starRing(random, cx, cy, size, 5 + Math.floor(random() * 40))];
      if (k % 2 === 0) rings.push(starRing(random, cx, cy, size * 0.14, 7));
      const tile = encode.get(planeOptions({ buffer }), wkb({ type: 'Polygon', coordinates: rings }));
      const expected = areaInside(rings, low, high);
      let area = 0;
      if (tile!.length > 0) {
        for (const ring of decode(tile!).plane!.feature(0).loadGeometry()) {
          expect(ring.at(-1)).toEqual(ring[0]);
          expect(ring.length).toBeGreaterThanOrEqual(4);
          for (const p of ring) {
            expect(Math.min(p.x, p.y)).toBeGreaterThanOrEqual(low);
            expect(Math.max(p.x, p.y)).toBeLessThanOrEqual(high);
          }
          area += ringArea(ring);
        }
      }
      // Rounding moves a border by half a grid unit along its length at the most.
      const tolerance = perimeter(rings) * 0.5 + expected * 1e-3 + 2;
      expect(Math.abs(area - expected)).toBeLessThan(tolerance);
    }
  });

  it('keeps the length of random lines inside', () => {
    const random = randomSource(99);
    for (let k = 0; k < 100; k++) {
      const line = Array.from(
        { length: 30 },
        (): Position => [random() * 9000 - 2500, random() * 9000 - 2500],
      );
      let expected = 0;
      for (let i = 1; i < line.length; i++) {
        const [ax, ay] = line[i - 1] as [number, number];
        const [bx, by] = line[i] as [number, number];
        const samples = 5000;
        let inside = 0;
        for (let s = 0; s < samples; s++) {
          const t = (s + 0.5) / samples;
          const x = ax + (bx - ax) * t;
          const y = ay + (by - ay) * t;
          if (x >= 0 && x <= SIZE && y >= 0 && y <= SIZE) inside++;
        }
        expected += (inside / samples) * Math.hypot(bx - ax, by - ay);
      }
      const tile = encode.get(planeOptions(), wkb({ type: 'LineString', coordinates: line }))!;
      let length = 0;
      for (const part of decode(tile).plane!.feature(0).loadGeometry()) {
        for (let i = 1; i < part.length; i++) {
          length += Math.hypot(part[i]!.x - part[i - 1]!.x, part[i]!.y - part[i - 1]!.y);
        }
      }
      expect(Math.abs(length - expected)).toBeLessThan(line.length * 4);
    }
  });

  it('does not depend on what is left out before projection', () => {
    const random = randomSource(31);
    const options = { to: 'EPSG:3857', bbox: [4e5, 5e6, 9e5, 5.5e6], buffer: 64 };
    const [fromDegrees, fromMetres] = ['EPSG:4326', 'EPSG:3857'].map((from) =>
      planeOptions({ ...options, from }),
    );
    for (let k = 0; k < 300; k++) {
      const ring = starRing(
        random,
        random() * 12,
        35 + random() * 15,
        random() * 14,
        5 + Math.floor(random() * 200),
      );
      const metres = Float64Array.from(ring.flat());
      transformPoints(metres, 'EPSG:4326', 'EPSG:3857');
      const projected = ring.map((_, i): Position => [metres[2 * i]!, metres[2 * i + 1]!]);
      for (const shape of [
        (r: Position[]) => wkb({ type: 'Polygon', coordinates: [r] }),
        (r: Position[]) => wkb({ type: 'LineString', coordinates: r }),
      ]) {
        expect(parts(encode.get(fromDegrees!, shape(ring))!)).toEqual(
          parts(encode.get(fromMetres!, shape(projected))!),
        );
      }
    }
  });

  it('joins a line that leaves and comes back as two parts', () => {
    const line: Position[] = [
      [100, 100],
      [5000, 100],
      [5000, 300],
      [100, 300],
    ];
    const parts = decode(encode.get(planeOptions(), wkb({ type: 'LineString', coordinates: line }))!)
      .plane!.feature(0)
      .loadGeometry();
    expect(parts.map((part) => part.map((p) => [p.x, 4096 - p.y]))).toEqual([
      [
        [100, 100],
        [4096, 100],
      ],
      [
        [4096, 300],
        [100, 300],
      ],
    ]);
  });

  it('leaves no edges that run to and fro along the border', () => {
    // A comb whose teeth reach into the tile: clipping joins them along the border.
    const comb: Position[] = [[-500, 5000]];
    for (let i = 0; i < 5; i++)
      comb.push([-500, 4000 - i * 600], [900, 3800 - i * 600], [-500, 3600 - i * 600]);
    comb.push([-900, 0], [-900, 5000], [-500, 5000]);
    const rings = decode(encode.get(planeOptions(), wkb({ type: 'Polygon', coordinates: [comb] }))!)
      .plane!.feature(0)
      .loadGeometry();
    expect(rings).toHaveLength(5);
    for (const ring of rings) {
      for (let i = 2; i < ring.length; i++) {
        const [a, b, c] = [ring[i - 2]!, ring[i - 1]!, ring[i]!];
        expect(a.x === 0 && b.x === 0 && c.x === 0).toBe(false);
      }
    }
    const area = rings.reduce((sum, ring) => sum + ringArea(ring), 0);
    expect(area).toBeCloseTo(areaInside([comb], 0, SIZE), -4);
  });

  it('drops a polygon whose hole holds the whole tile', () => {
    const square = (d: number): Position[] => [
      [-d, -d],
      [SIZE + d, -d],
      [SIZE + d, SIZE + d],
      [-d, SIZE + d],
      [-d, -d],
    ];
    const around = wkb({ type: 'Polygon', coordinates: [square(900), square(300)] });
    expect(encode.get(planeOptions(), around)).toHaveLength(0);
    const full = wkb({ type: 'Polygon', coordinates: [square(900)] });
    expect(ringArea(decode(encode.get(planeOptions(), full)!).plane!.feature(0).loadGeometry()[0]!)).toBe(
      SIZE * SIZE,
    );
  });

  it('rejects by the envelope of the header alone', () => {
    const inside = wkb({ type: 'Point', coordinates: [10, 10] });
    const far = geoPackageBlob(inside, { envelope: 1, bounds: [9000, 9001, 10, 11] });
    expect(encode.get(planeOptions(), far)).toHaveLength(0);
    const near = geoPackageBlob(inside, { envelope: 1, bounds: [10, 10, 10, 10] });
    expect(encode.get(planeOptions(), near)!.length).toBeGreaterThan(0);
  });
});
