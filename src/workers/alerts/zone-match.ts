import type { ZoneMatchResult, ZoneMatchTask, ZoneTest } from '../../core/alerts/tasks.js';
import { wrapLongitude } from '../../core/geometry/box.js';
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
  if (groups.length > 1) found.sort(([a], [b]) => a - b);
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

/** A point as our writers write it. */
const POINT = /^\{"type":"Point","coordinates":\[(-?\d[\d.eE+-]*),(-?\d[\d.eE+-]*)[,\]]/;
/** Bytes of a point in WKB: byte order, type, x, y. */
const POINT_BYTES = 21;
const POINT_TYPE = 1;

/** Blobs of the geometries. A geometry with longitudes beyond 180 degrees has a second one, moved by a turn. */
function readGeometries(geometries: readonly (string | null)[]) {
  const blobs: (Uint8Array | null)[] = [];
  const owners: number[] = [];
  const points = new PointWriter(geometries.length);
  geometries.forEach((text, i) => {
    if (text === null) return;
    const point = points.write(text);
    const shifted = point ? undefined : shiftIntoRange(text);
    blobs.push(point ?? geojsonToWkb(text, PLANE));
    owners.push(i);
    if (shifted === undefined) return;
    blobs.push(geojsonToWkb(shifted, PLANE));
    owners.push(i);
  });
  return { blobs, owners };
}

/** Writes points as WKB into one array: most geometries are points, and an array for each costs more than its test. */
class PointWriter {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(count: number) {
    this.#bytes = new Uint8Array(count * POINT_BYTES);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Undefined for another geometry. */
  write(text: string): Uint8Array | undefined {
    const found = POINT.exec(text);
    const [x, y] = found ? [Number(found[1]), Number(found[2])] : [Number.NaN, Number.NaN];
    if (!Number.isFinite(x) || !Number.isFinite(y)) return undefined;
    const at = this.#at;
    this.#at += POINT_BYTES;
    this.#view.setUint8(at, 1);
    this.#view.setUint32(at + 1, POINT_TYPE, true);
    this.#view.setFloat64(at + 5, wrapLongitude(x), true);
    this.#view.setFloat64(at + 13, y, true);
    return this.#bytes.subarray(at, this.#at);
  }
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
