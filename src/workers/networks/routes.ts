import { LRUCache } from 'lru-cache';
import type { NetworkTasks, RouteLeg, RouteOutcome } from '../../core/networks/networks.js';
import { RoadNetwork } from '../../native/networks.js';

/** Networks of the latest routes of this thread. A file never changes, so its path names its content. */
const open = new LRUCache<string, RoadNetwork>({ max: 8 });

function openNetwork(path: string): RoadNetwork {
  let network = open.get(path);
  if (!network) {
    network = new RoadNetwork(path);
    open.set(path, network);
  }
  return network;
}

/** Routes between stops, each from the nearest position on an edge. All legs use one network. */
export function findRoute({ file, stops, reach }: NetworkTasks['network.route']['input']): RouteOutcome {
  const network = openNetwork(file);
  const positions = stops.map(({ x, y }) => network.locate(x, y, reach));
  const lost = positions.indexOf(undefined);
  if (lost >= 0) return { missing: 'edge', stop: lost };
  const legs: RouteLeg[] = [];
  for (let i = 0; i + 1 < positions.length; i++) {
    const route = network.route(positions[i]!, positions[i + 1]!);
    if (!route) return { missing: 'route', stop: i };
    const edges = route.parts.map(({ edge, isForward }) => ({ id: network.edgeId(edge), isForward }));
    legs.push({ cost: route.cost, ...network.geometry(route), edges });
  }
  return { legs };
}
