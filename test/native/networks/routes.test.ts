import { describe, expect, it } from 'vitest';
import { readCityRoads } from '../../support/city-roads.js';
import { randomSource } from '../support.js';
import {
  Oracle,
  openRoads,
  type Roads,
  randomPositions,
  randomRestrictions,
  randomRoads,
} from './support.js';

/** Compares routes between positions with those of the oracle: cost, connection, restrictions. Returns the number of routes. */
function compareRoutes(roads: Roads, seed: number, count: number): number {
  const network = openRoads(roads);
  const oracle = new Oracle(roads);
  const random = randomSource(seed);
  const targets = randomPositions(roads.edges.length, count, random);
  let found = 0;
  for (const from of randomPositions(roads.edges.length, count, random)) {
    const expected = oracle.costsFrom(from, targets);
    targets.forEach((to, i) => {
      const route = network.route(from, to);
      const cost = route?.cost ?? Infinity;
      const [alone] = network.costs(Float64Array.of(from.edge, from.share, to.edge, to.share));
      expect(alone).toBe(cost);
      if (!route || Math.abs(cost - expected[i]!) > 1e-9 * (1 + cost)) {
        expect({ from, to, cost }).toEqual({ from, to, cost: expected[i] });
        return;
      }
      found++;
      expect(oracle.walk(route)).toBeCloseTo(cost, 8);
      const first = route.parts[0];
      const last = route.parts.at(-1);
      if (first && last) {
        expect(oracle.vertexAt(from) ?? from).toEqual(
          oracle.vertexAt({ edge: first.edge, share: first.from }) ?? { edge: first.edge, share: first.from },
        );
        expect(oracle.vertexAt(to) ?? to).toEqual(
          oracle.vertexAt({ edge: last.edge, share: last.to }) ?? { edge: last.edge, share: last.to },
        );
      }
    });
  }
  return found;
}

describe('routes cost as much as those of Dijkstra', () => {
  it('in small networks with loops, parallel edges and restrictions at most vertices', () => {
    let found = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const roads = randomRoads({
        seed,
        vertices: 4 + (seed % 20),
        edges: 8 + (seed % 40),
        restrictions: seed % 25,
      });
      found += compareRoutes(roads, seed, 12);
    }
    expect(found).toBeGreaterThan(4000);
  });

  it('in larger networks with few restrictions', () => {
    for (const seed of [1, 2, 3]) {
      const roads = randomRoads({ seed, vertices: 1500, edges: 3000, restrictions: 60 });
      expect(compareRoutes(roads, seed, 15)).toBeGreaterThan(100);
    }
  });

  it('in a city, without and with restrictions', () => {
    const edges = readCityRoads();
    expect(compareRoutes({ edges, restrictions: [] }, 5, 6)).toBeGreaterThan(10);
    const restrictions = randomRestrictions(edges, 2000, randomSource(3));
    expect(compareRoutes({ edges, restrictions }, 6, 6)).toBeGreaterThan(10);
  });
});

/** A one-way road from a to b, and a longer two-way road between the same vertices. */
const LOOP: Roads = {
  edges: [
    { id: 'short', source: 'a', target: 'b', cost: 10, reverseCost: -1, points: [0, 0, 10, 0] },
    { id: 'long', source: 'a', target: 'b', cost: 25, reverseCost: 25, points: [0, 0, 5, 5, 10, 0] },
  ],
  restrictions: [],
};

describe('positions on one edge', () => {
  it('are connected directly in the open direction', () => {
    const network = openRoads(LOOP);
    const edge = network.findEdge('short');
    const route = network.route({ edge, share: 0.25 }, { edge, share: 0.75 });
    expect(route).toEqual({ cost: 5, parts: [{ edge, isForward: true, from: 0.25, to: 0.75 }] });
    expect(network.route({ edge, share: 0.2 }, { edge, share: 0.2 })).toEqual({ cost: 0, parts: [] });
  });

  it('are connected around the block against the one-way direction', () => {
    const network = openRoads(LOOP);
    const [short, long] = [network.findEdge('short'), network.findEdge('long')];
    const route = network.route({ edge: short, share: 0.75 }, { edge: short, share: 0.25 });
    expect(route).toEqual({
      cost: 30,
      parts: [
        { edge: short, isForward: true, from: 0.75, to: 1 },
        { edge: long, isForward: false, from: 1, to: 0 },
        { edge: short, isForward: true, from: 0, to: 0.25 },
      ],
    });
    expect(network.geometry(route!)).toEqual({
      length: 5 + 2 * Math.hypot(5, 5),
      points: Float64Array.of(7.5, 0, 10, 0, 5, 5, 0, 0, 2.5, 0),
    });
  });

  it('have no route if the only edge is closed in this direction', () => {
    const network = openRoads({ edges: LOOP.edges.slice(0, 1), restrictions: [] });
    expect(network.route({ edge: 0, share: 0.75 }, { edge: 0, share: 0.25 })).toBeUndefined();
    expect(network.route({ edge: 0, share: 1 }, { edge: 0, share: 0 })).toBeUndefined();
  });
});
