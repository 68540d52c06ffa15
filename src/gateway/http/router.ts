import { findNearName } from '../../core/errors/near-names.js';
import type { Method, Operation } from '../../core/http/operation.js';

/** Operations of one path, by method. */
interface Route {
  readonly template: string;
  readonly names: readonly string[];
  readonly methods: Map<Method, Operation>;
  /** `GET, HEAD, OPTIONS`, for Allow. */
  allow: string;
}

export interface Match {
  readonly route: Route;
  /** Decoded path parameters in the order of `route.names`. */
  readonly values: readonly string[];
}

interface Node {
  literals: Map<string, Node>;
  wild?: Node;
  route?: Route;
  /** Route whose last parameter is the rest of the path. */
  rest?: Route;
}

/** Maximum length of an unknown path for which the router suggests another path. */
const MAX_SUGGESTION_LENGTH = 500;

const newNode = (): Node => ({ literals: new Map() });

/** Finds the operation of a path. Literal segments win over parameters, unless no operation matches the rest of the path. */
export class Router {
  readonly #root = newNode();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) this.#add(operation);
  }

  #add(operation: Operation): void {
    const segments = operation.path.split('/').slice(1);
    // The router ignores a trailing slash in definitions and in requests.
    if (segments.length > 1 && segments[segments.length - 1] === '') segments.pop();
    const names: string[] = [];
    let node = this.#root;
    const last = operation.takesRest ? segments.pop() : undefined;
    for (const segment of segments) {
      const parameter = /^\{(\w+)\}$/.exec(segment);
      if (parameter) {
        names.push(parameter[1]!);
        node.wild ??= newNode();
        node = node.wild;
      } else {
        const next = node.literals.get(segment) ?? newNode();
        node.literals.set(segment, next);
        node = next;
      }
    }
    if (last !== undefined) names.push(last.slice(1, -1));
    const end = last === undefined ? 'route' : 'rest';
    const route = (node[end] ??= { template: operation.path, names, methods: new Map(), allow: '' });
    if (route.methods.has(operation.method)) {
      throw new Error(`two operations on ${operation.method} ${operation.path}`);
    }
    if (route.names.join() !== names.join()) {
      throw new Error(`path parameters of ${operation.path} and ${route.template} are named differently`);
    }
    route.methods.set(operation.method, operation);
    route.allow = formatAllow([...route.methods.values()]);
  }

  /** Suggests an existing path for an unknown one: the same path with one literal segment corrected. */
  suggestPath(path: string): string | undefined {
    const segments = path.slice(0, MAX_SUGGESTION_LENGTH).split('/');
    // All nodes that the segments before `i` can reach.
    let nodes = [this.#root];
    for (let i = 1; i < segments.length; i++) {
      const segment = segments[i]!;
      const literals = nodes.flatMap((node) => [...node.literals.keys()]);
      const corrected = findNearName(segment, literals);
      if (corrected !== undefined) {
        // The literal can belong to another node than the rest of the path.
        const candidate = segments.with(i, corrected).join('/');
        if (this.find(candidate)) return candidate;
      }
      nodes = nodes
        .flatMap(({ literals: named, wild }) => [named.get(segment), wild])
        .filter((one) => one !== undefined);
    }
    return undefined;
  }

  /** Route of a path, and the values of its parameters. Undefined if no operation has this path. */
  find(path: string): Match | undefined {
    const segments = path.split('/');
    if (segments.length > 2 && segments[segments.length - 1] === '') segments.pop();
    const values: string[] = [];
    const route = walk(this.#root, segments, 1, values);
    return route && { route, values };
  }
}

function walk(node: Node, segments: readonly string[], index: number, values: string[]): Route | undefined {
  if (index === segments.length) return node.route;
  const segment = segments[index]!;
  const literal = node.literals.get(segment);
  if (literal) {
    const route = walk(literal, segments, index + 1, values);
    if (route) return route;
  }
  // A parameter is never empty.
  const decoded = segment === '' ? undefined : decode(segment);
  if (node.wild && decoded !== undefined) {
    values.push(decoded);
    const route = walk(node.wild, segments, index + 1, values);
    if (route) return route;
    values.pop();
  }
  return node.rest && walkRest(node.rest, segments.slice(index), values);
}

function walkRest(route: Route, segments: readonly string[], values: string[]): Route | undefined {
  const decoded = segments.map((segment) => (segment === '' ? undefined : decode(segment)));
  if (decoded.includes(undefined)) return undefined;
  values.push(decoded.join('/'));
  return route;
}

function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Value of the Allow header for these operations of one path. */
export function formatAllow(operations: readonly Operation[]): string {
  const methods: string[] = operations.map(({ method }) => method);
  if (methods.includes('GET')) methods.push('HEAD');
  methods.push('OPTIONS');
  return methods.join(', ');
}
