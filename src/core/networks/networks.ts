/** Road networks: their edges, turn restrictions and routes. */

export interface NetworkEdge {
  id: string;
  /** Ids of the vertices at the start and the end of the geometry. */
  source: string;
  target: string;
  /** Costs in the direction of the geometry and in the opposite direction, up to 1e15. Negative: closed. */
  cost: number;
  reverseCost: number;
  /** x and y of each point; at least two points. */
  points: ArrayLike<number>;
}

export interface TurnRestriction {
  kind: 'prohibited' | 'required' | 'penalty';
  fromEdge: string;
  toEdge: string;
  /** Vertex of both edges. */
  viaVertex: string;
  /** Cost of the turn. Default: 0. */
  penalty?: number;
}

/** Line of a topology snapshot. */
export type SnapshotRecord = { edge: NetworkEdge } | { restriction: TurnRestriction };

/** Topology snapshot that becomes a network file. */
interface NetworkBuild {
  /** File with a `SnapshotRecord` as JSON in each line. */
  snapshot: string;
  /** The file appears under this path when it is complete. */
  output: string;
  /** Whether coordinates are longitudes and latitudes. */
  isGeographic: boolean;
  /** Maximum distance between the ends of edges at one vertex, in units of the coordinates. */
  tolerance: number;
}

export interface TopologyFinding {
  kind:
    | 'repeated-edge'
    | 'invalid-geometry'
    | 'invalid-cost'
    | 'broken-restriction'
    /** Edge that is closed in both directions. */
    | 'closed-edge'
    /** Edge whose geometry does not end at its vertex. */
    | 'missed-vertex'
    /** Vertex with only one end of an edge. */
    | 'dangling-vertex'
    /** Vertex outside the largest part in which each vertex can be reached from each other. */
    | 'island-vertex';
  /** Whether it prevents the build. */
  isError: boolean;
  count: number;
  /** Ids of edges or vertices, or the parts of restrictions, in ascending order: at most the first 100. */
  ids: string[];
}

export interface NetworkBuildOutcome {
  findings: TopologyFinding[];
  /** SHA-256 of the findings and the file, in hexadecimal digits. Equal topologies have equal digests. */
  evidenceDigest: string;
  /** Without a file if a finding is an error. */
  file?: { digest: string; bytes: number; edges: number; vertices: number };
}

interface RouteTask {
  /** Path of the network file. */
  file: string;
  /** At least two positions, in the order of travel. */
  stops: readonly { x: number; y: number }[];
  /** Maximum distance from a stop to its edge, in metres for longitudes and latitudes, otherwise in units of the plane. */
  reach: number;
}

/** Part of a route between two stops. */
export interface RouteLeg {
  cost: number;
  /** In metres for longitudes and latitudes, otherwise in units of the plane. */
  length: number;
  /** Edges in the order of travel. `isForward`: in the direction of the geometry of the edge. */
  edges: { id: string; isForward: boolean }[];
  /** x and y of each point. */
  points: Float64Array;
}

export type RouteOutcome =
  | { legs: RouteLeg[] }
  /** No edge is within reach of this stop, or no route leads from it to the next. */
  | { missing: 'edge' | 'route'; stop: number };

export interface NetworkTasks {
  'network.build': { input: NetworkBuild; output: NetworkBuildOutcome };
  'network.route': { input: RouteTask; output: RouteOutcome };
}
