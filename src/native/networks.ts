/** Road networks as TypeScript sees them: files of a contraction hierarchy that are mapped into memory, and routes in them. */
import type { NetworkEdge, TurnRestriction } from '../core/networks/networks.js';
import { nativeAddon } from './built.js';

interface NetworkHandle {
  readonly brand: 'network';
}
interface CostsHandle {
  readonly brand: 'costs';
}
interface QueryHandle {
  readonly brand: 'query';
}

interface NetworkCounts {
  vertices: number;
  edges: number;
  turns: number;
  /** Nodes and arcs of the contraction hierarchy. */
  nodes: number;
  arcs: number;
}

interface NativeNetworks {
  buildNetwork(
    vertexCount: number,
    isGeographic: boolean,
    sources: Uint32Array,
    targets: Uint32Array,
    costs: Float64Array,
    pointFirst: Uint32Array,
    points: Float64Array,
    restrictions: Float64Array,
    edgeIdFirst: Uint32Array,
    edgeIds: Uint8Array,
    vertexIdFirst: Uint32Array,
    vertexIds: Uint8Array,
  ): Buffer;
  openNetwork(path: string): NetworkHandle;
  describeNetwork(network: NetworkHandle): NetworkCounts;
  readNetworkId(network: NetworkHandle, isEdge: boolean, number: number): string;
  findNetworkId(network: NetworkHandle, isEdge: boolean, id: string): number;
  locateOnNetwork(
    network: NetworkHandle,
    x: number,
    y: number,
    reach: number,
    usable: Uint8Array | null,
  ): Float64Array | null;
  createNetworkCosts(network: NetworkHandle, costs: Float64Array | null): CostsHandle;
  updateNetworkCosts(costs: CostsHandle, directed: Uint32Array, values: Float64Array): number;
  compareNetworkCosts(a: CostsHandle, b: CostsHandle): boolean;
  createNetworkQuery(network: NetworkHandle): QueryHandle;
  findNetworkCosts(query: QueryHandle, costs: CostsHandle | null, pairs: Float64Array): Float64Array;
  findNetworkRoute(query: QueryHandle, costs: CostsHandle | null, pair: Float64Array): Float64Array | null;
  readNetworkGeometry(network: NetworkHandle, parts: Float64Array): Float64Array;
}

const addon = () => nativeAddon() as NativeNetworks;

/** In the order of the kinds in native code. */
const RESTRICTION_KINDS = ['prohibited', 'required', 'penalty'] as const;

/** Reason why edges cannot become a network, or why a file is not one. */
export class NetworkFault extends Error {}

/** Runs a native function, and throws its faults of networks as `NetworkFault`. */
function withFaults<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof Error && (error as NodeJS.ErrnoException).code === 'ERR_NETWORK') {
      throw new NetworkFault(error.message);
    }
    throw error;
  }
}

/** Unique ids in the order of their UTF-8 bytes, with their numbers. */
class IdTable {
  readonly numbers = new Map<string, number>();
  readonly first: Uint32Array;
  readonly text: Uint8Array;

  constructor(ids: Iterable<string>) {
    const sorted = Array.from(new Set(ids), (id) => Buffer.from(id)).sort(Buffer.compare);
    this.first = new Uint32Array(sorted.length + 1);
    sorted.forEach((bytes, i) => {
      this.numbers.set(bytes.toString(), i);
      this.first[i + 1] = this.first[i]! + bytes.byteLength;
    });
    this.text = Buffer.concat(sorted);
  }

  get size(): number {
    return this.first.length - 1;
  }

  find(id: string, what: string): number {
    const number = this.numbers.get(id);
    if (number === undefined) {
      throw new NetworkFault(`there is no ${what} '${id}'`);
    }
    return number;
  }
}

/**
 * Returns the bytes of a network file. The order of the edges and restrictions has no effect on them. Throws `NetworkFault` if the ids
 * are not unique, a restriction names edges that do not meet, or a number is invalid.
 */
export function buildNetworkFile(
  edges: readonly NetworkEdge[],
  restrictions: readonly TurnRestriction[],
  isGeographic: boolean,
): Buffer {
  const edgeIds = new IdTable(edges.map(({ id }) => id));
  const vertexIds = new IdTable(edges.flatMap(({ source, target }) => [source, target]));
  if (edgeIds.size !== edges.length) {
    throw new NetworkFault('two edges have the same id');
  }
  const ordered: NetworkEdge[] = [];
  for (const edge of edges) {
    ordered[edgeIds.find(edge.id, 'edge')] = edge;
  }
  if (edges.some(({ points }) => points.length % 2 !== 0)) {
    throw new NetworkFault('a geometry ends within a point');
  }
  const pointFirst = new Uint32Array(edges.length + 1);
  ordered.forEach(({ points }, i) => {
    pointFirst[i + 1] = pointFirst[i]! + Math.floor(points.length / 2);
  });
  const points = new Float64Array(2 * pointFirst[edges.length]!);
  ordered.forEach((edge, i) => {
    points.set(edge.points, 2 * pointFirst[i]!);
  });
  const findVertex = (id: string) => vertexIds.find(id, 'vertex');
  const rules = restrictions
    .map(({ kind, fromEdge, toEdge, viaVertex, penalty = 0 }) => [
      RESTRICTION_KINDS.indexOf(kind),
      edgeIds.find(fromEdge, 'edge'),
      edgeIds.find(toEdge, 'edge'),
      findVertex(viaVertex),
      penalty,
    ])
    // Sums of penalties depend on their order.
    .sort((a, b) => a.map((value, i) => value - b[i]!).find((difference) => difference !== 0) ?? 0);
  return withFaults(() =>
    addon().buildNetwork(
      vertexIds.size,
      isGeographic,
      Uint32Array.from(ordered, ({ source }) => findVertex(source)),
      Uint32Array.from(ordered, ({ target }) => findVertex(target)),
      Float64Array.from(ordered.flatMap(({ cost, reverseCost }) => [cost, reverseCost])),
      pointFirst,
      points,
      Float64Array.from(rules.flat()),
      edgeIds.first,
      edgeIds.text,
      vertexIds.first,
      vertexIds.text,
    ),
  );
}

/** Position on an edge, as a share of its length from the start of its geometry. */
export interface EdgePosition {
  edge: number;
  share: number;
}

export interface LocatedPosition extends EdgePosition {
  x: number;
  y: number;
  /** In metres for longitudes and latitudes, otherwise in units of the plane. */
  distance: number;
}

/** Part of a route along one edge, between two shares of its length. The route is in the direction from `from` to `to`. */
interface RoutePart {
  edge: number;
  isForward: boolean;
  from: number;
  to: number;
}

export interface NetworkRoute {
  cost: number;
  parts: RoutePart[];
}

export interface RouteGeometry {
  /** In metres for longitudes and latitudes, otherwise in units of the plane. */
  length: number;
  /** x and y of each point. */
  points: Float64Array;
}

/** Costs that differ from those in the file. */
export class NetworkCosts {
  readonly handle: CostsHandle;

  /** `costs`: cost and reverse cost of each edge. Default: those in the file. */
  constructor(network: NetworkHandle, costs?: Float64Array) {
    this.handle = addon().createNetworkCosts(network, costs ?? null);
  }

  /**
   * Changes costs of directed edges: 2e for edge e in the direction of its geometry, 2e + 1 for the opposite. Returns
   * the number of arcs of the hierarchy that changed.
   */
  update(directed: Uint32Array, values: Float64Array): number {
    return addon().updateNetworkCosts(this.handle, directed, values);
  }

  equals(other: NetworkCosts): boolean {
    return addon().compareNetworkCosts(this.handle, other.handle);
  }
}

/** A network file. It must not change while it is open, but it can be deleted. */
export class RoadNetwork {
  readonly #handle: NetworkHandle;
  readonly #query: QueryHandle;

  /** Throws `NetworkFault` if the file is not a network or is damaged. */
  constructor(path: string) {
    this.#handle = withFaults(() => addon().openNetwork(path));
    this.#query = addon().createNetworkQuery(this.#handle);
  }

  get counts(): NetworkCounts {
    return addon().describeNetwork(this.#handle);
  }

  edgeId(edge: number): string {
    return addon().readNetworkId(this.#handle, true, edge);
  }

  vertexId(vertex: number): string {
    return addon().readNetworkId(this.#handle, false, vertex);
  }

  /** Number of an edge, or -1. */
  findEdge(id: string): number {
    return addon().findNetworkId(this.#handle, true, id);
  }

  createCosts(costs?: Float64Array): NetworkCosts {
    return new NetworkCosts(this.#handle, costs);
  }

  /** The nearest position within a distance. `usable` has a number other than 0 for each edge that can be chosen. */
  locate(x: number, y: number, reach: number, usable?: Uint8Array): LocatedPosition | undefined {
    const position = addon().locateOnNetwork(this.#handle, x, y, reach, usable ?? null);
    if (!position) {
      return undefined;
    }
    const [edge, share, atX, atY, distance] = position as unknown as [number, number, number, number, number];
    return { edge, share, x: atX, y: atY, distance };
  }

  /** The cheapest route, or nothing if there is none. */
  route(from: EdgePosition, to: EdgePosition, costs?: NetworkCosts): NetworkRoute | undefined {
    const pair = Float64Array.of(from.edge, from.share, to.edge, to.share);
    const route = addon().findNetworkRoute(this.#query, costs?.handle ?? null, pair);
    if (!route) {
      return undefined;
    }
    const parts: RoutePart[] = [];
    for (let i = 1; i < route.length; i += 3) {
      const directed = route[i]!;
      parts.push({
        edge: Math.floor(directed / 2),
        isForward: directed % 2 === 0,
        from: route[i + 1]!,
        to: route[i + 2]!,
      });
    }
    return { cost: route[0]!, parts };
  }

  /** Costs of routes, each pair as edge, share, edge, share. Without a route, the cost is infinite. */
  costs(pairs: Float64Array, costs?: NetworkCosts): Float64Array {
    return addon().findNetworkCosts(this.#query, costs?.handle ?? null, pairs);
  }

  /** The geometry of a route. */
  geometry({ parts }: NetworkRoute): RouteGeometry {
    const numbers = parts.flatMap(({ edge, isForward, from, to }) => [
      2 * edge + (isForward ? 0 : 1),
      from,
      to,
    ]);
    const line = addon().readNetworkGeometry(this.#handle, Float64Array.from(numbers));
    return { length: line[0]!, points: line.subarray(1) };
  }
}
