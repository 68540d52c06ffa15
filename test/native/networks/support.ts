import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NetworkEdge, TurnRestriction } from '../../../src/core/networks/networks.js';
import {
  buildNetworkFile,
  type EdgePosition,
  type NetworkRoute,
  RoadNetwork,
} from '../../../src/native/networks.js';
import { randomSource } from '../support.js';

export interface Roads {
  edges: NetworkEdge[];
  restrictions: TurnRestriction[];
}

/** Opens a network of these roads. Its file is deleted at once, because the mapping keeps it. */
export function openRoads({ edges, restrictions }: Roads, isGeographic = false): RoadNetwork {
  return openBytes(buildNetworkFile(edges, restrictions, isGeographic));
}

export function openBytes(bytes: Uint8Array): RoadNetwork {
  const folder = mkdtempSync(join(tmpdir(), 'networks-'));
  try {
    writeFileSync(join(folder, 'roads'), bytes);
    return new RoadNetwork(join(folder, 'roads'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export interface RoadOptions {
  seed: number;
  vertices: number;
  edges: number;
  restrictions: number;
}

/** Roads between near points, with one-way roads, free roads, loops, parallel roads and islands. */
export function randomRoads({ seed, vertices, edges, restrictions }: RoadOptions): Roads {
  const random = randomSource(seed);
  const below = (n: number) => Math.floor(random() * n);
  const points = Array.from({ length: vertices }, () => [random() * 100, random() * 100] as const);
  const roads: NetworkEdge[] = [];
  const cost = () => (random() < 0.1 ? 0 : random() < 0.3 ? below(5) : random() * 10);
  for (let i = 0; i < edges; i++) {
    const source = below(vertices);
    // The first tenth of the vertices is an island.
    const isIsland = source < vertices / 10;
    const others = Array.from({ length: 4 }, () => below(vertices)).filter(
      (v) => v < vertices / 10 === isIsland,
    );
    const distance = (v: number) =>
      Math.hypot(points[v]![0] - points[source]![0], points[v]![1] - points[source]![1]);
    const target = random() < 0.03 ? source : (others.sort((a, b) => distance(a) - distance(b))[0] ?? source);
    const way = random();
    roads.push({
      id: `e${i}`,
      source: `v${source}`,
      target: `v${target}`,
      cost: way < 0.15 ? -1 : cost(),
      reverseCost: way > 0.75 ? -1 : cost(),
      points: [...points[source]!, random() * 100, random() * 100, ...points[target]!],
    });
  }
  return { edges: roads, restrictions: randomRestrictions(roads, restrictions, random) };
}

/** Restrictions at vertices of at least two of the edges. */
export function randomRestrictions(
  edges: readonly NetworkEdge[],
  count: number,
  random: () => number,
): TurnRestriction[] {
  const byVertex = new Map<string, string[]>();
  for (const { id, source, target } of edges) {
    for (const vertex of new Set([source, target])) {
      byVertex.set(vertex, [...(byVertex.get(vertex) ?? []), id]);
    }
  }
  const crossings = [...byVertex].filter(([, ids]) => ids.length > 1);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  return Array.from({ length: crossings.length > 0 ? count : 0 }, () => {
    const [viaVertex, ids] = pick(crossings);
    const restriction = { fromEdge: pick(ids), toEdge: pick(ids), viaVertex };
    const kind = random();
    if (kind < 0.5) {
      return { kind: 'prohibited', ...restriction };
    }
    return kind < 0.65
      ? { kind: 'required', ...restriction }
      : { kind: 'penalty', ...restriction, penalty: random() * 5 };
  });
}

/** Smallest first. */
class Heap {
  readonly #items: [key: number, value: number][] = [];

  push(key: number, value: number): void {
    const items = this.#items;
    let at = items.push([key, value]) - 1;
    while (at > 0 && items[(at - 1) >> 1]![0] > key) {
      items[at] = items[(at - 1) >> 1]!;
      at = (at - 1) >> 1;
    }
    items[at] = [key, value];
  }

  pop(): [number, number] | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length === 0 || !last) {
      return first;
    }
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < items.length && items[child + 1]![0] < items[child]![0]) {
        child++;
      }
      if (child >= items.length || items[child]![0] >= last[0]) {
        break;
      }
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
    return first;
  }
}

/** Routes by Dijkstra's algorithm over directed edges, written only from the definition of the restrictions. */
export class Oracle {
  readonly edges: NetworkEdge[];
  readonly costs: number[];
  readonly #leaving = new Map<string, number[]>();
  readonly #rules = new Map<string, TurnRestriction[]>();

  constructor({ edges, restrictions }: Roads) {
    this.edges = [...edges].sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
    this.costs = this.edges.flatMap(({ cost, reverseCost }) =>
      [cost, reverseCost].map((each) => (each < 0 ? Infinity : each)),
    );
    this.costs.forEach((_, d) => {
      const start = this.start(d);
      const list = this.#leaving.get(start) ?? [];
      list.push(d);
      this.#leaving.set(start, list);
    });
    for (const rule of restrictions) {
      const key = `${rule.viaVertex} ${rule.fromEdge}`;
      this.#rules.set(key, [...(this.#rules.get(key) ?? []), rule]);
    }
  }

  start(directed: number): string {
    const edge = this.edges[directed >> 1]!;
    return directed % 2 === 0 ? edge.source : edge.target;
  }

  end(directed: number): string {
    return this.start(directed ^ 1);
  }

  /** Cost of turning from one directed edge into another; infinite if it is prohibited. */
  turn(from: number, to: number): number {
    const rules = this.#rules.get(`${this.end(from)} ${this.edges[from >> 1]!.id}`);
    if (!rules) {
      return 0;
    }
    const toEdge = this.edges[to >> 1]!.id;
    const required = rules.filter(({ kind }) => kind === 'required');
    const isAllowed =
      !rules.some((rule) => rule.kind === 'prohibited' && rule.toEdge === toEdge) &&
      (required.length === 0 || required.some((rule) => rule.toEdge === toEdge));
    return isAllowed
      ? rules.reduce(
          (sum, rule) => sum + (rule.kind === 'penalty' && rule.toEdge === toEdge ? rule.penalty! : 0),
          0,
        )
      : Infinity;
  }

  vertexAt({ edge, share }: EdgePosition): string | undefined {
    const { source, target } = this.edges[edge]!;
    return share === 0 ? source : share === 1 ? target : undefined;
  }

  /** Costs of arriving at the end of each directed edge. */
  #search(from: EdgePosition): Float64Array {
    const arrival = new Float64Array(this.costs.length).fill(Infinity);
    const heap = new Heap();
    const reach = (directed: number, cost: number) => {
      if (cost < arrival[directed]!) {
        arrival[directed] = cost;
        heap.push(cost, directed);
      }
    };
    const vertex = this.vertexAt(from);
    if (vertex === undefined) {
      reach(2 * from.edge, this.#part(2 * from.edge, 1 - from.share));
      reach(2 * from.edge + 1, this.#part(2 * from.edge + 1, from.share));
    } else {
      for (const directed of this.#leaving.get(vertex)!) {
        reach(directed, this.costs[directed]!);
      }
    }
    for (let next = heap.pop(); next; next = heap.pop()) {
      const [cost, directed] = next;
      if (cost > arrival[directed]!) {
        continue;
      }
      for (const onward of this.#leaving.get(this.end(directed)) ?? []) {
        reach(onward, cost + this.turn(directed, onward) + this.costs[onward]!);
      }
    }
    return arrival;
  }

  #part(directed: number, share: number): number {
    return this.costs[directed] === Infinity ? Infinity : this.costs[directed]! * share;
  }

  /** Costs from one position to others. */
  costsFrom(from: EdgePosition, targets: readonly EdgePosition[]): number[] {
    const arrival = this.#search(from);
    const start = this.vertexAt(from);
    const arriving = (vertex: string) => this.#leaving.get(vertex)!.map((directed) => directed ^ 1);
    return targets.map((to) => {
      const end = this.vertexAt(to);
      if (end !== undefined) {
        return end === start
          ? 0
          : Math.min(...this.#direct(from, to), ...arriving(end).map((d) => arrival[d]!));
      }
      const ways = [0, 1].flatMap((side) => {
        const directed = 2 * to.edge + side;
        const last = this.#part(directed, side === 0 ? to.share : 1 - to.share);
        const atStart = this.start(directed) === start ? [last] : [];
        return [
          ...atStart,
          ...arriving(this.start(directed)).map((d) => arrival[d]! + this.turn(d, directed) + last),
        ];
      });
      return Math.min(...ways, ...this.#direct(from, to));
    });
  }

  #direct(from: EdgePosition, to: EdgePosition): number[] {
    if (from.edge !== to.edge) {
      return [];
    }
    return from.share === to.share
      ? [0]
      : [this.#part(2 * from.edge + (from.share < to.share ? 0 : 1), Math.abs(to.share - from.share))];
  }

  /** The cost of the parts of a route. Throws if they are not connected, closed, or a turn is prohibited. */
  walk({ parts }: NetworkRoute): number {
    let total = 0;
    parts.forEach(({ edge, isForward, from, to }, i) => {
      const directed = 2 * edge + (isForward ? 0 : 1);
      if (isForward ? from > to : from < to) {
        throw new Error('a part goes backwards');
      }
      total += this.#part(directed, Math.abs(to - from));
      const next = parts[i + 1];
      if (next) {
        const onward = 2 * next.edge + (next.isForward ? 0 : 1);
        if (this.end(directed) !== this.start(onward) || to !== (isForward ? 1 : 0)) {
          throw new Error('two parts do not meet');
        }
        total += this.turn(directed, onward);
      }
    });
    if (total === Infinity) {
      throw new Error('a part is closed or a turn is prohibited');
    }
    return total;
  }
}

/** Positions at vertices and on edges. */
export function randomPositions(edges: number, count: number, random: () => number): EdgePosition[] {
  return Array.from({ length: count }, () => ({
    edge: Math.floor(random() * edges),
    share: random() < 0.5 ? Math.round(random()) : random(),
  }));
}
