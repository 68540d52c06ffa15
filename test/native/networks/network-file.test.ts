import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { NetworkEdge, TurnRestriction } from '../../../src/core/networks/networks.js';
import { buildNetworkFile, NetworkFault, RoadNetwork } from '../../../src/native/networks.js';
import { randomSource } from '../support.js';
import { openBytes, openRoads, randomRoads } from './support.js';

const ROADS = randomRoads({ seed: 21, vertices: 300, edges: 700, restrictions: 30 });
const ROAD: NetworkEdge = {
  id: 'r',
  source: 'a',
  target: 'b',
  cost: 1,
  reverseCost: 1,
  points: [0, 0, 1, 1],
};

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((item) => [random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('network files', () => {
  it('are the same for edges and restrictions in any order', () => {
    const random = randomSource(1);
    const first = digest(buildNetworkFile(ROADS.edges, ROADS.restrictions, false));
    for (let i = 0; i < 5; i++) {
      const again = buildNetworkFile(
        shuffled(ROADS.edges, random),
        shuffled(ROADS.restrictions, random),
        false,
      );
      expect(digest(again)).toBe(first);
    }
    const [edge, ...others] = ROADS.edges;
    const other = buildNetworkFile([{ ...edge!, cost: 4.25 }, ...others], ROADS.restrictions, false);
    expect(digest(other)).not.toBe(first);
  });

  it('contain the ids of edges and vertices', () => {
    const ids = ['', '7', '007', 'Straße', '🛣', 'Z', 'a'];
    const network = openRoads({
      edges: ids.map((id) => ({ ...ROAD, id, source: `from ${id}`, target: `to ${id}` })),
      restrictions: [],
    });
    expect(network.counts).toMatchObject({ vertices: 14, edges: 7, turns: 0, nodes: 14, arcs: 7 });
    expect(ids.map((id) => network.edgeId(network.findEdge(id)))).toEqual(ids);
    expect(Array.from(ids, (_, i) => network.edgeId(i))).toEqual(
      ['', '007', '7', 'Z', 'a', 'Straße', '🛣'].sort((a, b) =>
        Buffer.compare(Buffer.from(a), Buffer.from(b)),
      ),
    );
    expect(network.vertexId(13)).toBe('to 🛣');
    expect(network.findEdge('b')).toBe(-1);
  });

  it('can have no edge', () => {
    const network = openRoads({ edges: [], restrictions: [] });
    expect(network.counts).toMatchObject({ vertices: 0, edges: 0, nodes: 0, arcs: 0 });
    expect(network.locate(0, 0, 1000)).toBeUndefined();
  });

  it.each([
    ['two edges have the same id', [ROAD, ROAD], []],
    ['a geometry has fewer than two points', [{ ...ROAD, points: [0, 0] }], []],
    ['a geometry ends within a point', [{ ...ROAD, points: [0, 0, 1, 1, 2] }], []],
    ['a coordinate is not finite', [{ ...ROAD, points: [0, 0, 1, NaN] }], []],
    ['a cost is not a number up to 1e15', [{ ...ROAD, cost: NaN }], []],
    ['a cost is not a number up to 1e15', [{ ...ROAD, reverseCost: 1e16 }], []],
    [
      'a restriction names edges that do not meet at its vertex',
      [ROAD, { ...ROAD, id: 's', source: 'b', target: 'c' }],
      [{ kind: 'prohibited', fromEdge: 'r', toEdge: 's', viaVertex: 'a' }],
    ],
    ["there is no edge 's'", [ROAD], [{ kind: 'prohibited', fromEdge: 'r', toEdge: 's', viaVertex: 'a' }]],
    ["there is no vertex 'c'", [ROAD], [{ kind: 'prohibited', fromEdge: 'r', toEdge: 'r', viaVertex: 'c' }]],
    [
      'a penalty is not a number from 0 to 1e15',
      [ROAD],
      [{ kind: 'penalty', fromEdge: 'r', toEdge: 'r', viaVertex: 'a', penalty: -1 }],
    ],
  ] as [string, NetworkEdge[], TurnRestriction[]][])('%s', (message, edges, restrictions) => {
    const build = () => buildNetworkFile(edges, restrictions, false);
    expect(build).toThrow(NetworkFault);
    expect(build).toThrow(message);
  });

  it('that are damaged are refused, or have other routes, but end no process', () => {
    const bytes = buildNetworkFile(ROADS.edges, ROADS.restrictions, false);
    const random = randomSource(9);
    let refused = 0;
    let opened = 0;
    for (let i = 0; i < 300; i++) {
      const copy = Buffer.from(bytes);
      const at = Math.floor(random() * (random() < 0.3 ? 600 : copy.length));
      copy[at] = Math.floor(random() * 256);
      const kept = random() < 0.1 ? copy.subarray(0, at) : copy;
      try {
        const network = openBytes(kept);
        for (let edge = 0; edge < network.counts.edges; edge += 97) {
          try {
            const route = network.route(
              { edge, share: 0.5 },
              { edge: network.counts.edges - 1, share: 0.25 },
            );
            if (route) {
              network.geometry(route);
            }
          } catch (error) {
            expect(String(error)).toMatch(/native code|work could not/);
          }
        }
        network.createCosts().update(Uint32Array.of(0), Float64Array.of(3));
        opened++;
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(40);
    expect(opened).toBeGreaterThan(40);
  });

  it('that do not exist are refused', () => {
    expect(() => new RoadNetwork('/nowhere/roads')).toThrow('the file cannot be opened');
    expect(() => openBytes(Buffer.alloc(0))).toThrow('the file is empty');
    expect(() => openBytes(Buffer.alloc(4096))).toThrow('the file is not a network of this version');
  });
});
