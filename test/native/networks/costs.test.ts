import { describe, expect, it } from 'vitest';
import { randomSource } from '../support.js';
import { Oracle, openRoads, randomPositions, randomRoads } from './support.js';

describe('costs of a network', () => {
  it('are the same after partial and complete customisation, and as those of Dijkstra', () => {
    const roads = randomRoads({ seed: 11, vertices: 400, edges: 900, restrictions: 40 });
    const network = openRoads(roads);
    const oracle = new Oracle(roads);
    const random = randomSource(4);
    const partial = network.createCosts();
    const all = Float64Array.from(oracle.costs);
    let changedArcs = 0;
    for (let round = 0; round < 60; round++) {
      const directed = Uint32Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
        Math.floor(random() * all.length),
      );
      const values = Float64Array.from(directed, () => (random() < 0.3 ? -1 : random() * 10));
      directed.forEach((d, i) => {
        all[d] = values[i]!;
      });
      changedArcs += partial.update(directed, values);
      expect(partial.equals(network.createCosts(all)), `round ${round}`).toBe(true);
    }
    expect(changedArcs).toBeGreaterThan(60);
    expect(partial.equals(network.createCosts())).toBe(false);
    all.forEach((cost, d) => {
      oracle.costs[d] = cost < 0 ? Infinity : cost;
    });
    const targets = randomPositions(roads.edges.length, 20, random);
    for (const from of randomPositions(roads.edges.length, 20, random)) {
      const expected = oracle.costsFrom(from, targets);
      targets.forEach((to, i) => {
        const route = network.route(from, to, partial);
        expect(route?.cost ?? Infinity).toBeCloseTo(expected[i]!, 9);
        expect(route ? oracle.walk(route) : Infinity).toBeCloseTo(expected[i]!, 9);
      });
    }
  });

  it('do not change the network or other costs', () => {
    const roads = randomRoads({ seed: 12, vertices: 50, edges: 120, restrictions: 0 });
    const network = openRoads(roads);
    const before = network.createCosts();
    const changed = network.createCosts();
    changed.update(
      Uint32Array.from({ length: 240 }, (_, d) => d),
      new Float64Array(240).fill(-1),
    );
    expect(network.createCosts().equals(before)).toBe(true);
    const pair = Float64Array.of(30, 0.5, 90, 0.5);
    expect(network.costs(pair, changed)).toEqual(Float64Array.of(Infinity));
    expect(network.costs(pair)[0]).toBeLessThan(Infinity);
  });

  it('of another network are refused', () => {
    const roads = randomRoads({ seed: 13, vertices: 20, edges: 40, restrictions: 0 });
    const costs = openRoads(roads).createCosts();
    expect(() => openRoads(roads).costs(Float64Array.of(0, 0, 1, 0), costs)).toThrow(
      'the costs are those of another network',
    );
  });

  it('that are not numbers or name no edge are refused', () => {
    const network = openRoads(randomRoads({ seed: 14, vertices: 20, edges: 40, restrictions: 0 }));
    const costs = network.createCosts();
    expect(() => costs.update(Uint32Array.of(80), Float64Array.of(1))).toThrow('directed names no edge');
    expect(() => costs.update(Uint32Array.of(1), Float64Array.of(NaN))).toThrow('a cost is not a number');
    expect(() => network.createCosts(new Float64Array(80).fill(NaN))).toThrow('a cost is not a number');
    expect(() => network.createCosts(new Float64Array(79))).toThrow(
      'costs must have 2 numbers for each edge',
    );
    expect(() => network.costs(Float64Array.of(40, 0, 1, 0))).toThrow('a position names no edge');
    expect(() => network.costs(Float64Array.of(0, 1.5, 1, 0))).toThrow('a position is not between 0 and 1');
    expect(costs.equals(network.createCosts())).toBe(true);
  });
});
