import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NetworkEdge } from '../src/core/networks/networks.js';
import { buildNetworkFile, RoadNetwork } from '../src/native/networks.js';
import { readCityRoads } from '../test/support/city-roads.js';
import { option, publish, type Ratio } from './support/report.js';

/** The contraction hierarchy of road networks beside RoutingKit's through its Python bindings, one call for each route. */
const rounds = option('rounds', 5);
const PYTHON = '.cache/peers/routing/bin/python';
const QUERIES = 4000;
const UPDATES = 2000;

let state = 17;
const below = (n: number) => Math.floor(((state = (state * 16_807) % 2_147_483_647) / 2_147_483_647) * n);

/** A grid of which no road is more important than another: the worst case of contraction. */
function makeGrid(side: number): NetworkEdge[] {
  const edges: NetworkEdge[] = [];
  const add = (x: number, y: number, toX: number, toY: number) => {
    if (toX < side && toY < side) {
      const points = [x / 1000, y / 1000, toX / 1000, toY / 1000];
      const [cost, reverseCost] = [1000 + below(9000), 1000 + below(9000)];
      edges.push({
        id: String(edges.length),
        source: `${x} ${y}`,
        target: `${toX} ${toY}`,
        cost,
        reverseCost,
        points,
      });
    }
  };
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      add(x, y, x + 1, y);
      add(x, y, x, y + 1);
    }
  }
  return edges;
}

/** Directed edges of finite costs, as RoutingKit takes them, with vertices for the routes of both. */
function makeGraph(edges: readonly NetworkEdge[]) {
  const numbers = new Map<string, number>();
  const [x, y, positions]: [number[], number[], { edge: string; share: number }[]] = [[], [], []];
  const numberOf = (id: string, edge: string, share: number, point: ArrayLike<number>) => {
    if (!numbers.has(id)) {
      numbers.set(id, x.length);
      x.push(point[0]!);
      y.push(point[1]!);
      positions.push({ edge, share });
    }
    return numbers.get(id)!;
  };
  const [tail, head, weights, arcs]: [number[], number[], number[], { edge: string; side: number }[]] = [
    [],
    [],
    [],
    [],
  ];
  for (const { id, source, target, cost, reverseCost, points } of edges) {
    const from = numberOf(source, id, 0, points);
    const to = numberOf(target, id, 1, Array.from(points).slice(-2));
    [cost, reverseCost].forEach((weight, side) => {
      if (weight >= 0 && from !== to) {
        tail.push(side === 0 ? from : to);
        head.push(side === 0 ? to : from);
        weights.push(weight);
        arcs.push({ edge: id, side });
      }
    });
  }
  const pairs = Array.from({ length: QUERIES }, () => [below(x.length), below(x.length)] as const);
  const updates = Array.from({ length: UPDATES }, () => [below(arcs.length), 1000 + below(9000)] as const);
  return { tail, head, weights, x, y, pairs, updates, positions, arcs };
}

interface Costs {
  'order and build, ms': number;
  'customise, ms': number;
  'query, us': number;
  'query and path, us': number;
  'update of one edge, us': number;
}

type Graph = ReturnType<typeof makeGraph>;

function cpuOf<T>(work: () => T): [T, number] {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return [result, user + system];
}

function measureOurs(
  folder: string,
  edges: readonly NetworkEdge[],
  graph: Graph,
): { costs: Costs; found: Float64Array } {
  const path = join(folder, 'roads');
  const [bytes, build] = cpuOf(() => buildNetworkFile(edges, [], true));
  writeFileSync(path, bytes);
  const network = new RoadNetwork(path);
  const all = new Float64Array(2 * edges.length).fill(-1);
  const directedOf = ({ edge, side }: { edge: string; side: number }) => 2 * network.findEdge(edge) + side;
  const directed = graph.arcs.map(directedOf);
  directed.forEach((d, i) => {
    all[d] = graph.weights[i]!;
  });
  const times = 20;
  const [, customise] = cpuOf(() => {
    for (let i = 0; i < times; i++) network.createCosts(all);
  });
  const positions = graph.positions.map(({ edge, share }) => ({ edge: network.findEdge(edge), share }));
  const pairs = graph.pairs.map(([s, t]) => [positions[s]!, positions[t]!] as const);
  const flat = pairs.map(([s, t]) => Float64Array.of(s.edge, s.share, t.edge, t.share));
  const found = new Float64Array(flat.length);
  const [, query] = cpuOf(() => {
    flat.forEach((pair, i) => {
      found[i] = network.costs(pair)[0]!;
    });
  });
  const [, route] = cpuOf(() => {
    for (const [s, t] of pairs) network.route(s, t);
  });
  const costs = network.createCosts();
  const updates = graph.updates.map(
    ([arc, weight]) => [Uint32Array.of(directed[arc]!), Float64Array.of(weight)] as const,
  );
  const [, update] = cpuOf(() => {
    for (const [arc, weight] of updates) costs.update(arc, weight);
  });
  return {
    found,
    costs: {
      'order and build, ms': build / 1e3,
      'customise, ms': customise / times / 1e3,
      'query, us': query / pairs.length,
      'query and path, us': route / pairs.length,
      'update of one edge, us': update / updates.length,
    },
  };
}

function measurePeer(folder: string, graph: Graph): { costs: Costs; found: (number | null)[] } {
  const path = join(folder, 'graph.json');
  writeFileSync(path, JSON.stringify(graph));
  const output = execFileSync(PYTHON, ['bench/support/routing_peer.py', path], {
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  const { order, build, customise, query, path: route, update, costs } = JSON.parse(output);
  return {
    found: costs,
    costs: {
      'order and build, ms': order + build,
      'customise, ms': customise,
      'query, us': query,
      'query and path, us': route,
      'update of one edge, us': update,
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
try {
  if (!existsSync(PYTHON)) throw new Error('RoutingKit is missing: bench/peers/install.sh fetches it.');
  const side = option('side', 150);
  const roads = [
    { name: 'Goteborg', edges: readCityRoads() },
    { name: `SYNTHETIC grid of ${side} x ${side}`, edges: makeGrid(side) },
  ];
  const figures: { name: string; rounds: Record<string, number[]> }[] = [];
  const ratios: Ratio[] = [];
  const loads: number[] = [];
  for (const { name, edges } of roads) {
    const graph = makeGraph(edges);
    const ours: Record<string, number[]> = {};
    const theirs: Record<string, number[]> = {};
    for (let round = 0; round < rounds; round++) {
      loads.push(loadavg()[0]!);
      const own = measureOurs(folder, edges, graph);
      const peer = measurePeer(folder, graph);
      peer.found.forEach((cost, i) => {
        if ((cost ?? Infinity) !== own.found[i])
          throw new Error(`${name}: costs differ, ${cost} and ${own.found[i]}`);
      });
      for (const key of Object.keys(own.costs) as (keyof Costs)[]) {
        (ours[key] ??= []).push(own.costs[key]);
        (theirs[key] ??= []).push(peer.costs[key]);
      }
    }
    const size = `${graph.x.length} vertices, ${graph.tail.length} directed edges`;
    figures.push(
      { name: `${name} (${size}): Graticule`, rounds: ours },
      { name: `${name}: RoutingKit`, rounds: theirs },
    );
    for (const key of Object.keys(ours)) {
      const values = ours[key]!.map((value, i) => value / theirs[key]![i]!);
      ratios.push({
        what: `${name}: ${key.replace(/, .s$/, '')}, Graticule / RoutingKit`,
        rounds: values,
        most: 1.5,
      });
    }
  }
  publish({
    bench: 'networks',
    command: './run bench networks',
    about: `Contraction hierarchies of the roads and paths of Goteborg (OpenStreetMap, npm geojson-path-finder), and of a SYNTHETIC grid in which no road is more important than another. ${QUERIES} routes between random vertices and ${UPDATES} updates of single edges, each by one call from JavaScript or Python; CPU time. RoutingKit is routingkit-cch 0.1.4 with orders by inertial flow and 32-bit integers as weights; Graticule's weights are floating-point numbers of 64 bits.`,
    figures,
    ratios,
    notes: [
      'All costs were compared first and are equal.',
      `Other work ran on the machine: its load was ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} on two cores.`,
    ],
  });
} finally {
  rmSync(folder, { recursive: true });
}
