import type { ZoneMatchResult, ZoneMatchTask, ZoneTest } from '../../core/alerts/tasks.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import { JoinIndex } from '../../native/analytics.js';
import { geojsonToWkb } from '../../native/index.js';

/** Sets of tests that a thread keeps. Each layer with rules has one, and one more while its rules change. */
const KEPT = 64;
const PLANE = { from: CRS84.proj, to: CRS84.proj, maxVertices: 1_048_576 } as const;
const NONE = new Uint32Array(0);

/** Tests of one kind, under a tree of the areas. */
interface Group {
  readonly index: JoinIndex;
  /** Number in the set of each test of the group. */
  readonly numbers: number[];
}

const sets = boundedCache<string, readonly Group[]>(KEPT);

/** Finds the zones of geometries with indexes of the areas. The thread keeps the indexes. */
export function matchZones({ key, tests, geometries }: ZoneMatchTask): ZoneMatchResult {
  const groups = sets.get(key) ?? (tests && buildGroups(tests));
  if (!groups) return { isUnknown: true, pairs: NONE };
  sets.set(key, groups);
  const { blobs, owners } = readGeometries(geometries);
  const found: [geometry: number, test: number][] = [];
  for (const { index, numbers } of groups) {
    const { pairs } = index.match(blobs, Number.POSITIVE_INFINITY);
    for (let i = 0; i < pairs.length; i += 2) found.push([owners[pairs[i]!]!, numbers[pairs[i + 1]!]!]);
  }
  if (groups.length > 1 || blobs.length > geometries.length) found.sort(([a], [b]) => a - b);
  return { isUnknown: false, pairs: Uint32Array.from(found.flat()) };
}

function buildGroups(tests: readonly ZoneTest[]): readonly Group[] {
  const groups = new Map<string, Group>();
  tests.forEach(({ area, relation, metres }, i) => {
    const name = metres > 0 ? `${metres}` : relation;
    const group = groups.get(name) ?? { index: createIndex(relation, metres), numbers: [] };
    groups.set(name, group);
    group.index.add([geojsonToWkb(area, PLANE)]);
    group.numbers.push(i);
  });
  return [...groups.values()];
}

function createIndex(relation: ZoneTest['relation'], metres: number): JoinIndex {
  const crs = { left: CRS84.proj, right: CRS84.proj };
  return metres > 0 ? new JoinIndex('dwithin', crs, metres) : new JoinIndex(relation, crs);
}

/** Blobs of the geometries. One beyond 180 degrees is also where it is a turn further. */
function readGeometries(geometries: readonly (string | null)[]) {
  const blobs: (Uint8Array | null)[] = [];
  const owners: number[] = [];
  geometries.forEach((text, i) => {
    const shifted = text === null ? undefined : shiftIntoRange(text);
    for (const one of shifted === undefined ? [text] : [text, shifted]) {
      blobs.push(one === null ? null : geojsonToWkb(one, PLANE));
      owners.push(i);
    }
  });
  return { blobs, owners };
}

/** A number of at least 180, such as the longitudes that few stores write. */
const FAR = /(?<![\d.])-?(?:1[89]\d|[2-9]\d\d)(?![\d])/;

/** The geometry a turn further, if it has positions beyond 180 degrees. */
function shiftIntoRange(text: string): string | undefined {
  if (!FAR.test(text)) return undefined;
  const geometry = JSON.parse(text) as { coordinates?: unknown; geometries?: unknown };
  const longitudes: number[] = [];
  visitPositions(geometry, ([x]) => longitudes.push(x!));
  const west = longitudes.reduce((least, x) => Math.min(least, x), Infinity);
  const east = longitudes.reduce((most, x) => Math.max(most, x), -Infinity);
  if (west >= -180 && east <= 180) return undefined;
  const turn = east > 180 ? -360 : 360;
  visitPositions(geometry, (position) => {
    position[0]! += turn;
  });
  return JSON.stringify(geometry);
}

function visitPositions(part: unknown, visit: (position: number[]) => void): void {
  if (Array.isArray(part)) {
    if (typeof part[0] === 'number') visit(part);
    else for (const member of part) visitPositions(member, visit);
  } else if (typeof part === 'object' && part !== null) {
    const { coordinates, geometries } = part as { coordinates?: unknown; geometries?: unknown };
    visitPositions(coordinates ?? geometries, visit);
  }
}
