import { describe, expect, it } from 'vitest';
import type { NetworkEdge, TurnRestriction } from '../../../src/core/networks/networks.js';
import { analyzeTopology } from '../../../src/workers/networks/analysis.js';
import { findComponents } from '../../../src/workers/networks/components.js';
import { randomSource } from '../../native/support.js';

/** Vertices on a line, named by their x. */
const edge = (id: string, from: number, to: number, values: Partial<NetworkEdge> = {}): NetworkEdge => ({
  id,
  source: `v${from}`,
  target: `v${to}`,
  cost: 1,
  reverseCost: 1,
  points: [from, 0, to, 0],
  ...values,
});

/** A ring without faults. */
const RING = [edge('a', 0, 1), edge('b', 1, 2), edge('c', 2, 0)];
const restriction = (values: Partial<TurnRestriction>): TurnRestriction => ({
  kind: 'prohibited',
  fromEdge: 'a',
  toEdge: 'b',
  viaVertex: 'v1',
  ...values,
});

describe('the analysis of a topology', () => {
  it('finds nothing in a ring', () => {
    expect(analyzeTopology(RING, [restriction({})], 0)).toEqual([]);
  });

  it.each<[string, NetworkEdge[], TurnRestriction[], boolean, string[]]>([
    ['repeated-edge', [...RING, edge('b', 1, 2)], [], true, ['b']],
    ['invalid-geometry', [...RING, edge('d', 0, 1, { points: [0, 0] })], [], true, ['d']],
    [
      'invalid-geometry',
      [...RING, edge('d', 0, 1, { points: [0, 0, Number.NaN, 0, 1, 0] })],
      [],
      true,
      ['d'],
    ],
    ['invalid-geometry', [...RING, edge('d', 0, 1, { points: [0, 0, 1, 0, 1] })], [], true, ['d']],
    ['invalid-cost', [...RING, edge('d', 0, 1, { cost: Number.NaN })], [], true, ['d']],
    ['invalid-cost', [...RING, edge('d', 0, 1, { reverseCost: 2e15 })], [], true, ['d']],
    ['closed-edge', [...RING, edge('d', 0, 1, { cost: -1, reverseCost: -1 })], [], false, ['d']],
    ['missed-vertex', [...RING, edge('d', 0, 1, { points: [0, 0, 1, 0.5] })], [], false, ['d']],
    ['dangling-vertex', [...RING, edge('d', 2, 9)], [], false, ['v9']],
    [
      'island-vertex',
      [...RING, edge('d', 7, 8), edge('e', 8, 7), edge('one way', 2, 6, { reverseCost: -1 })],
      [],
      false,
      ['v6', 'v7', 'v8'],
    ],
    [
      'broken-restriction',
      RING,
      [
        restriction({}),
        restriction({ toEdge: 'c' }),
        restriction({ fromEdge: 'z' }),
        restriction({ kind: 'penalty', penalty: -1 }),
      ],
      true,
      ['a > v1 > b', 'a > v1 > c', 'z > v1 > b'],
    ],
  ])('finds %s', (kind, edges, restrictions, isError, ids) => {
    const finding = analyzeTopology(edges, restrictions, 0.1).find((each) => each.kind === kind);
    expect(finding).toEqual({ kind, isError, count: ids.length, ids });
  });

  it('is the same for edges and restrictions in any order', () => {
    const edges = [...RING, edge('d', 2, 9), edge('e', 4, 5), edge('f', 0, 1, { points: [0.5, 0, 1.5, 0] })];
    const restrictions = [restriction({ toEdge: 'c' }), restriction({ fromEdge: 'z' })];
    const findings = analyzeTopology(edges, restrictions, 0);
    expect(findings.map(({ kind }) => kind)).toEqual([
      'broken-restriction',
      'dangling-vertex',
      'island-vertex',
      'missed-vertex',
    ]);
    expect(analyzeTopology([...edges].reverse(), [...restrictions].reverse(), 0)).toEqual(findings);
  });

  it('lists at most 100 ids of a kind', () => {
    const edges = Array.from({ length: 250 }, (_, i) =>
      edge(`e${i}`, i, (i + 1) % 250, { cost: -1, reverseCost: -1 }),
    );
    const closed = analyzeTopology(edges, [], 0).find(({ kind }) => kind === 'closed-edge')!;
    expect(closed.count).toBe(250);
    expect(closed.ids).toHaveLength(100);
  });
});

describe('components', () => {
  it('are the sets of nodes that reach each other', () => {
    const random = randomSource(3);
    for (let round = 0; round < 40; round++) {
      const nodes = 2 + Math.floor(random() * 12);
      const arcs = Array.from(
        { length: Math.floor(random() * 2.5 * nodes) },
        () => [Math.floor(random() * nodes), Math.floor(random() * nodes)] as const,
      );
      const reach = Array.from({ length: nodes }, (_, v) => new Set([v]));
      for (let i = 0; i < nodes; i++) {
        for (const [tail, head] of arcs) {
          for (const from of reach) if (from.has(tail)) from.add(head);
        }
      }
      const component = findComponents(nodes, arcs);
      for (let a = 0; a < nodes; a++) {
        for (let b = 0; b < nodes; b++) {
          expect(component[a] === component[b]).toBe(reach[a]!.has(b) && reach[b]!.has(a));
        }
      }
    }
  });

  it('of a long chain need no stack', () => {
    const nodes = 200_000;
    const arcs = Array.from({ length: nodes }, (_, v) => [v, (v + 1) % nodes] as const);
    expect(new Set(findComponents(nodes, arcs))).toEqual(new Set([0]));
  });
});
