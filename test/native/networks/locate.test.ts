import { describe, expect, it } from 'vitest';
import type { NetworkEdge } from '../../../src/core/networks/networks.js';
import { randomSource } from '../support.js';
import { openRoads, randomRoads } from './support.js';

const edge = (id: string, points: number[]): NetworkEdge => ({
  id,
  source: `${id} from`,
  target: `${id} to`,
  cost: 1,
  reverseCost: 1,
  points,
});

describe('the nearest position', () => {
  it('is the same as that of a search of all segments', () => {
    const roads = randomRoads({ seed: 31, vertices: 200, edges: 400, restrictions: 0 });
    const network = openRoads(roads);
    const random = randomSource(8);
    for (let i = 0; i < 300; i++) {
      const [x, y] = [random() * 120 - 10, random() * 120 - 10];
      let best = Infinity;
      for (const { points } of roads.edges) {
        for (let k = 0; k + 3 < points.length; k += 2) {
          const [ax, ay, bx, by] = [points[k]!, points[k + 1]!, points[k + 2]!, points[k + 3]!];
          const square = (bx - ax) ** 2 + (by - ay) ** 2;
          const t =
            square > 0 ? Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square)) : 0;
          best = Math.min(best, Math.hypot(ax + t * (bx - ax) - x, ay + t * (by - ay) - y));
        }
      }
      const found = network.locate(x, y, Infinity)!;
      expect(found.distance).toBeCloseTo(best, 9);
      expect(Math.hypot(found.x - x, found.y - y)).toBeCloseTo(best, 9);
      // The share leads to the same point.
      const { points } = network.geometry({
        cost: 0,
        parts: [{ edge: found.edge, isForward: true, from: found.share, to: 1 }],
      });
      expect(points[0]).toBeCloseTo(found.x, 9);
      expect(points[1]).toBeCloseTo(found.y, 9);
      expect(network.locate(x, y, best * 0.999)).toBeUndefined();
    }
  });

  it('is measured in metres on longitudes and latitudes', () => {
    const network = openRoads(
      { edges: [edge('east', [10, 60, 12, 60]), edge('north', [11, 60.8, 11, 62])], restrictions: [] },
      true,
    );
    // A degree of longitude is half as long as one of latitude here.
    const found = network.locate(10.2, 60.3, 100_000)!;
    expect(network.edgeId(found.edge)).toBe('east');
    expect(found.share).toBeCloseTo(0.1, 9);
    expect(found.distance).toBeCloseTo(33_358, -1);
    const beside = network.locate(12.4, 60, 100_000)!;
    expect(beside.share).toBe(1);
    expect(beside.distance).toBeCloseTo(0.4 * 111_195 * Math.cos(Math.PI / 3), 0);
    expect(
      network.geometry({ cost: 0, parts: [{ edge: found.edge, isForward: true, from: 0, to: 1 }] }).length,
    ).toBeCloseTo(111_600, -3);
  });

  it.each([
    ['west', [179.99, 0, 180, 0], -179.999],
    ['east', [-179.99, 0, -180, 0], 179.999],
  ])('is found across the antimeridian, %s of it', (id, points, x) => {
    const network = openRoads({ edges: [edge(id, points)], restrictions: [] }, true);
    const found = network.locate(x, 0, 1000)!;
    expect(found.share).toBe(1);
    expect(found.distance).toBeCloseTo(111.195, 2);
  });

  it('skips edges that cannot be used', () => {
    const network = openRoads({
      edges: [edge('a', [0, 0, 1, 0]), edge('b', [0, 5, 1, 5])],
      restrictions: [],
    });
    expect(network.locate(0.5, 1, 10)?.edge).toBe(0);
    expect(network.locate(0.5, 1, 10, Uint8Array.of(0, 1))).toEqual({
      edge: 1,
      share: 0.5,
      x: 0.5,
      y: 5,
      distance: 4,
    });
    expect(network.locate(0.5, 1, 10, Uint8Array.of(0, 0))).toBeUndefined();
  });
});
