import type { NetworkEdge, TopologyFinding, TurnRestriction } from '../../core/networks/networks.js';
import { findComponents } from './components.js';

/** Maximum number of ids in a finding. */
const MAX_IDS = 100;
const MAX_COST = 1e15;

type FindingKind = TopologyFinding['kind'];

/** Kinds that prevent a build. */
const ERRORS: ReadonlySet<FindingKind> = new Set([
  'repeated-edge',
  'invalid-geometry',
  'invalid-cost',
  'broken-restriction',
]);

/** Order of ids: that of their UTF-16 units, so that equal topologies have equal findings. */
const compareIds = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

class Findings {
  readonly #ids = new Map<FindingKind, string[]>();

  add(kind: FindingKind, id: string): void {
    const ids = this.#ids.get(kind) ?? [];
    ids.push(id);
    this.#ids.set(kind, ids);
  }

  list(): TopologyFinding[] {
    return [...this.#ids]
      .map(([kind, ids]) => ({
        kind,
        isError: ERRORS.has(kind),
        count: ids.length,
        ids: ids.sort(compareIds).slice(0, MAX_IDS),
      }))
      .sort((a, b) => compareIds(a.kind, b.kind));
  }
}

function checkEdges(edges: readonly NetworkEdge[], findings: Findings): void {
  const ids = new Set<string>();
  for (const { id, cost, reverseCost, points } of edges) {
    if (ids.has(id)) findings.add('repeated-edge', id);
    ids.add(id);
    const isGeometry =
      points.length >= 4 && points.length % 2 === 0 && Array.prototype.every.call(points, Number.isFinite);
    if (!isGeometry) findings.add('invalid-geometry', id);
    // NaN is not less than the maximum either.
    if (!(cost <= MAX_COST && reverseCost <= MAX_COST)) findings.add('invalid-cost', id);
    else if (cost < 0 && reverseCost < 0) findings.add('closed-edge', id);
  }
}

interface Vertex {
  number: number;
  /** Ends of edges at this vertex. */
  ends: number;
  x: number;
  y: number;
}

/** Vertices by id. Reports edges whose ends are too far from the first end at their vertex. */
function collectVertices(
  edges: readonly NetworkEdge[],
  tolerance: number,
  findings: Findings,
): Map<string, Vertex> {
  const vertices = new Map<string, Vertex>();
  const add = (id: string, x: number, y: number): boolean => {
    const vertex = vertices.get(id);
    if (!vertex) {
      vertices.set(id, { number: vertices.size, ends: 1, x, y });
      return true;
    }
    vertex.ends++;
    return Math.hypot(vertex.x - x, vertex.y - y) <= tolerance;
  };
  for (const { id, source, target, points } of edges) {
    const n = points.length;
    const isAtSource = add(source, points[0] ?? Number.NaN, points[1] ?? Number.NaN);
    const isAtTarget = add(target, points[n - 2] ?? Number.NaN, points[n - 1] ?? Number.NaN);
    if (!isAtSource || !isAtTarget) findings.add('missed-vertex', id);
  }
  return vertices;
}

function checkRestrictions(
  edges: readonly NetworkEdge[],
  restrictions: readonly TurnRestriction[],
  findings: Findings,
): void {
  const byId = new Map(edges.map((edge) => [edge.id, edge]));
  for (const { fromEdge, toEdge, viaVertex, penalty = 0 } of restrictions) {
    const meets = [fromEdge, toEdge].every((id) => {
      const edge = byId.get(id);
      return edge !== undefined && (edge.source === viaVertex || edge.target === viaVertex);
    });
    const isPenalty = penalty >= 0 && penalty <= MAX_COST;
    if (!meets || !isPenalty) findings.add('broken-restriction', `${fromEdge} > ${viaVertex} > ${toEdge}`);
  }
}

/** Reports vertices outside the largest part of the network in which each vertex can be reached from each other. */
function checkConnections(
  edges: readonly NetworkEdge[],
  vertices: ReadonlyMap<string, Vertex>,
  findings: Findings,
): void {
  const arcs = edges.flatMap(({ source, target, cost, reverseCost }) => {
    const [from, to] = [vertices.get(source)!.number, vertices.get(target)!.number];
    return [...(cost >= 0 ? [[from, to] as const] : []), ...(reverseCost >= 0 ? [[to, from] as const] : [])];
  });
  const component = findComponents(vertices.size, arcs);
  const sizes = new Map<number, number>();
  for (const c of component) sizes.set(c, (sizes.get(c) ?? 0) + 1);
  const largest = [...sizes].reduce((best, each) => (each[1] > best[1] ? each : best), [-1, 0] as const)[0];
  for (const [id, { number, ends }] of vertices) {
    if (component[number] !== largest) findings.add('island-vertex', id);
    if (ends === 1) findings.add('dangling-vertex', id);
  }
}

/**
 * Finds faults of a topology. `tolerance` is the maximum distance between the ends of edges at one vertex, in units of
 * the coordinates. The order of edges and restrictions has no effect.
 */
export function analyzeTopology(
  edges: readonly NetworkEdge[],
  restrictions: readonly TurnRestriction[],
  tolerance: number,
): TopologyFinding[] {
  const findings = new Findings();
  const sorted = [...edges].sort((a, b) => compareIds(a.id, b.id));
  checkEdges(sorted, findings);
  const vertices = collectVertices(sorted, tolerance, findings);
  checkRestrictions(sorted, restrictions, findings);
  checkConnections(sorted, vertices, findings);
  return findings.list();
}
