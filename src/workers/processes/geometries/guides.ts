import type { Position } from 'geojson';
import RBush from 'rbush';
import { TaskFailure } from '../../../core/errors/failure.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { cross, dot, isSame, type Vector, vector } from './vectors.js';

/** Position on a line: the index of a segment plus the fraction along it. */
type LinePosition = number;

/** Crossing of a path and a guide. */
export interface Crossing {
  /** Position on the path. */
  at: LinePosition;
  position: Position;
  /** Index of the guide, and the position on it. */
  guide: number;
  guideAt: LinePosition;
}

/** Side of the guides. `on` is for lines along a guide. */
export type GuideSide = 'left' | 'right' | 'on';

interface Segment {
  minX: number;
  minY: number;
  maxX: number;
  maxY: number;
  from: Position;
  to: Position;
  guide: number;
  index: number;
}

/** Shares of a segment that are as good as its ends. */
const ROUNDING = 1e-12;
/** Share of the largest ordinate that positions may be off, where another has computed them. */
const NOISE = 1e-13;

/** Lines by which geometries are cut, to which they are extended, or along which they are reshaped. */
export class Guides {
  readonly #segments = new RBush<Segment>();

  constructor(private readonly lines: readonly Position[][]) {
    this.#segments.load(lines.flatMap((line, guide) => listSegments(line, guide)));
  }

  /**
   * Returns the crossings of a path in its direction, and both ends where it runs along a guide. Throws `too-large`.
   */
  crossings(path: readonly Position[]): Crossing[] {
    const all: Crossing[] = [];
    for (const one of listSegments(path, 0)) {
      for (const other of this.#segments.search(one)) all.push(...meetings(one, other));
      if (all.length > LIMITS.geometryPositions)
        throw new TaskFailure(
          'too-large',
          `The lines meet at more than ${LIMITS.geometryPositions} positions. Send fewer lines.`,
        );
    }
    return all.sort((a, b) => a.at - b.at);
  }

  /** On which side of a guide a direction leads from a place on it. */
  sideOf({ guide, guideAt }: Crossing, direction: Vector): GuideSide {
    const line = this.lines[guide]!;
    const index = Math.min(Math.floor(guideAt), line.length - 2);
    const isCorner = guideAt === index || guideAt === index + 1;
    if (!isCorner) return sideOfVector(vector(line[index]!, line[index + 1]!), direction);
    const [before, after] = neighbours(line, guideAt);
    if (!before || !after) return sideOfVector((before ?? after)!, direction);
    return sideOfCorner(before, after, direction);
  }

  /** The nearest place on a ray beyond its origin; undefined where it meets no guide. */
  firstOnRay(origin: Position, direction: Vector): Position | undefined {
    const { minX, minY, maxX, maxY } = this.#segments.toJSON() as unknown as Segment;
    const [x, y] = origin as [number, number];
    const window = {
      minX: direction[0] < 0 ? Math.min(minX, x) : x,
      maxX: direction[0] > 0 ? Math.max(maxX, x) : x,
      minY: direction[1] < 0 ? Math.min(minY, y) : y,
      maxY: direction[1] > 0 ? Math.max(maxY, y) : y,
    };
    let [least, nearest]: [number, Position | undefined] = [Infinity, undefined];
    for (const segment of this.#segments.search(window)) {
      const hit = onRay(origin, direction, segment);
      if (hit && hit.distance < least) [least, nearest] = [hit.distance, hit.position];
    }
    return nearest;
  }

  /** Returns the direction of the guide along an edge, if the edge is on a guide. */
  along(from: Position, to: Position): Vector | undefined {
    const [x1, y1, x2, y2] = [from[0]!, from[1]!, to[0]!, to[1]!];
    const noise = NOISE * Math.max(...[x1, y1, x2, y2].map(Math.abs));
    const window = {
      minX: Math.min(x1, x2) - noise,
      minY: Math.min(y1, y2) - noise,
      maxX: Math.max(x1, x2) + noise,
      maxY: Math.max(y1, y2) + noise,
    };
    const segment = this.#segments
      .search(window)
      .find((one) => isNear(one, from, noise) && isNear(one, to, noise));
    return segment && vector(segment.from, segment.to);
  }
}

function listSegments(line: readonly Position[], guide: number): Segment[] {
  return line.slice(1).flatMap((to, index) => {
    const from = line[index]!;
    if (isSame(from, to)) return [];
    return [
      {
        minX: Math.min(from[0]!, to[0]!),
        minY: Math.min(from[1]!, to[1]!),
        maxX: Math.max(from[0]!, to[0]!),
        maxY: Math.max(from[1]!, to[1]!),
        from,
        to,
        guide,
        index,
      },
    ];
  });
}

/** Returns the crossing of two segments, or the ends of their common part. */
function meetings(one: Segment, other: Segment): Crossing[] {
  const [r, s] = [vector(one.from, one.to), vector(other.from, other.to)];
  const between = vector(one.from, other.from);
  const area = cross(r, s);
  if (Math.abs(area) <= ROUNDING * Math.hypot(...r) * Math.hypot(...s)) return overlap(one, other);
  const [t, u] = [share(cross(between, s) / area), share(cross(between, r) / area)];
  if (t === undefined || u === undefined) return [];
  const position =
    findEnd(one, t) ?? findEnd(other, u) ?? ([one.from[0]! + t * r[0], one.from[1]! + t * r[1]] as Position);
  return [{ at: one.index + t, position, guide: other.guide, guideAt: other.index + u }];
}

function overlap(one: Segment, other: Segment): Crossing[] {
  const ends = [
    ...[one.from, one.to].map((position) => ({
      position,
      t: findShare(one, position),
      u: findShare(other, position),
    })),
    ...[other.from, other.to].map((position) => ({
      position,
      t: findShare(one, position),
      u: findShare(other, position),
    })),
  ];
  return ends.flatMap(({ position, t, u }) =>
    t === undefined || u === undefined
      ? []
      : [{ at: one.index + t, position, guide: other.guide, guideAt: other.index + u }],
  );
}

/** Returns the position of a point on a segment. Undefined if the point is not on it. */
function findShare(segment: Segment, position: Position): number | undefined {
  const line = vector(segment.from, segment.to);
  const offset = vector(segment.from, position);
  const square = dot(line, line);
  return Math.abs(cross(line, offset)) <= ROUNDING * square ? share(dot(line, offset) / square) : undefined;
}

function share(value: number): number | undefined {
  if (Math.abs(value) <= ROUNDING) return 0;
  if (Math.abs(value - 1) <= ROUNDING) return 1;
  return value > 0 && value < 1 ? value : undefined;
}

function findEnd({ from, to }: Segment, t: number): Position | undefined {
  return t === 0 ? from : t === 1 ? to : undefined;
}

function onRay(origin: Position, direction: Vector, { from, to }: Segment) {
  const s = vector(from, to);
  const area = cross(direction, s);
  const between = vector(origin, from);
  const distance = cross(between, s) / area;
  const u = share(cross(between, direction) / area);
  if (area === 0 || u === undefined || !(distance > ROUNDING)) return undefined;
  const position = u === 0 ? from : u === 1 ? to : [from[0]! + u * s[0], from[1]! + u * s[1]];
  return { distance, position };
}

function isNear({ from, to }: Segment, position: Position, noise: number): boolean {
  const line = vector(from, to);
  const offset = vector(from, position);
  const length = Math.hypot(...line);
  const along = dot(line, offset) / length;
  return Math.abs(cross(line, offset)) / length <= noise && along >= -noise && along <= length + noise;
}

/** Returns the segments before and after a corner. Rings continue at their start. */
function neighbours(line: readonly Position[], at: number): [Vector | undefined, Vector | undefined] {
  const last = line.length - 1;
  const isClosed = isSame(line[0]!, line[last]!);
  const step = (from: number, to: number) =>
    from < 0 || to > last ? undefined : vector(line[from]!, line[to]!);
  return [
    step(at - 1, at) ?? (isClosed ? step(last - 1, last) : undefined),
    step(at, at + 1) ?? (isClosed ? step(0, 1) : undefined),
  ];
}

function sideOfVector(line: Vector, direction: Vector): GuideSide {
  const area = cross(line, direction);
  if (Math.abs(area) <= ROUNDING * Math.hypot(...line) * Math.hypot(...direction)) return 'on';
  return area > 0 ? 'left' : 'right';
}

function sideOfCorner(before: Vector, after: Vector, direction: Vector): GuideSide {
  const [first, second] = [sideOfVector(before, direction), sideOfVector(after, direction)];
  if (second === 'on' && dot(after, direction) > 0) return 'on';
  if (first === 'on' && dot(before, direction) < 0) return 'on';
  const isLeft = [first, second].map((side) => side === 'left');
  const turnsLeft = cross(before, after) > 0;
  return (turnsLeft ? isLeft.every(Boolean) : isLeft.some(Boolean)) ? 'left' : 'right';
}
