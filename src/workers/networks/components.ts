/** Directed graph: the heads of node v are `heads[first[v]]` to `heads[first[v + 1]]`. */
interface DirectedGraph {
  first: Uint32Array;
  heads: Uint32Array;
}

/** Groups arcs, each as tail and head, by their tails. */
function groupArcs(nodes: number, arcs: readonly (readonly [tail: number, head: number])[]): DirectedGraph {
  const first = new Uint32Array(nodes + 1);
  for (const [tail] of arcs) first[tail + 1]!++;
  for (let v = 0; v < nodes; v++) first[v + 1]! += first[v]!;
  const fill = first.slice();
  const heads = new Uint32Array(arcs.length);
  for (const [tail, head] of arcs) heads[fill[tail]!++] = head;
  return { first, heads };
}

const UNSEEN = 0xffffffff;

/**
 * Returns the number of the strongly connected component of each node, by the algorithm of Tarjan without recursion.
 * From each node of a component, a way leads to all its other nodes.
 */
export function findComponents(
  nodes: number,
  arcs: readonly (readonly [tail: number, head: number])[],
): Uint32Array {
  const { first, heads } = groupArcs(nodes, arcs);
  const component = new Uint32Array(nodes).fill(UNSEEN);
  const index = new Uint32Array(nodes).fill(UNSEEN);
  const low = new Uint32Array(nodes);
  const next = first.slice(0, nodes);
  const open: number[] = [];
  const path: number[] = [];
  let [seen, components] = [0, 0];
  const enter = (v: number) => {
    index[v] = low[v] = seen++;
    open.push(v);
    path.push(v);
  };
  const leave = (v: number) => {
    path.pop();
    const before = path.at(-1);
    if (before !== undefined) low[before] = Math.min(low[before]!, low[v]!);
    if (low[v] !== index[v]) return;
    for (let w = open.pop()!; ; w = open.pop()!) {
      component[w] = components;
      if (w === v) break;
    }
    components++;
  };
  for (let root = 0; root < nodes; root++) {
    if (index[root] === UNSEEN) enter(root);
    for (let v = path.at(-1); v !== undefined; v = path.at(-1)) {
      if (next[v] === first[v + 1]) {
        leave(v);
        continue;
      }
      const w = heads[next[v]!++]!;
      if (index[w] === UNSEEN) enter(w);
      else if (component[w] === UNSEEN) low[v] = Math.min(low[v]!, index[w]!);
    }
  }
  return component;
}
