import type { Geometry } from 'geojson';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { GeometryServiceTask, RelationName } from '../../../core/geoservices/geometry-service.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { relateGeometries } from '../../../native/relations.js';
import { type Blob, writePlaneBlobs } from './blobs.js';

type Task = Extract<GeometryServiceTask, { verb: 'relate' }>;

/** A pair of geometries: their matrix (DE-9IM) and dimensions. */
interface Pair {
  matrix: string;
  left: number;
  right: number;
}

/** Indices in a matrix of the interior, boundary and exterior of the left geometry and of the right geometry. */
const [II, IB, IE, BI, BB, BE, EI] = [0, 1, 2, 3, 4, 5, 6];
const EMPTY = 'F';

const meet = ({ matrix }: Pair, ...places: number[]) => places.some((place) => matrix[place] !== EMPTY);
const isDisjoint = (pair: Pair) => !meet(pair, II, IB, BI, BB);
const touch = (pair: Pair) => !meet(pair, II) && !isDisjoint(pair);
/** Returns the highest dimension at these indices. 0 for none, as for points. */
const dimensionAt = ({ matrix }: Pair, ...places: number[]) =>
  Math.max(...places.map((place) => Number(matrix[place] === EMPTY ? 0 : matrix[place])));

const RELATIONS: Record<Exclude<RelationName, 'Relation'>, (pair: Pair) => boolean> = {
  Disjoint: isDisjoint,
  Intersection: (pair) => !isDisjoint(pair),
  InteriorIntersection: (pair) => meet(pair, II),
  In: (pair) => meet(pair, II) && !meet(pair, IE, BE),
  // Same as above, but points on a boundary also count as within.
  Within: (pair) => !isDisjoint(pair) && !meet(pair, IE, BE),
  Touch: touch,
  PointTouch: (pair) => touch(pair) && dimensionAt(pair, IB, BI, BB) === 0,
  LineTouch: (pair) => touch(pair) && dimensionAt(pair, IB, BI, BB) === 1,
  LineCoincidence: (pair) => pair.left > 0 && pair.right > 0 && dimensionAt(pair, outlines(pair)) === 1,
  Cross: crosses,
  Overlap: ({ matrix, left, right }) =>
    left === right && (left === 1 ? matrix[II] === '1' : matrix[II] !== EMPTY) && meetOutside(matrix),
};

/**
 * Index where the outlines of both geometries meet. The outline of an area is its boundary; a line is its own
 * outline.
 */
function outlines({ left, right }: Pair): number {
  if (left === 1) return right === 1 ? II : IB;
  return right === 1 ? BI : BB;
}

function crosses(pair: Pair): boolean {
  const { left, right, matrix } = pair;
  if (left === right) return left === 1 && matrix[II] === '0';
  return meet(pair, II) && meet(pair, left < right ? IE : EI);
}

const meetOutside = (matrix: string) => matrix[IE] !== EMPTY && matrix[EI] !== EMPTY;

/** Pairs of geometries in a relation. Throws `invalid-input` and `too-large`. */
export function relations(task: Task): [left: number, right: number][] {
  const test = buildTest(task);
  // All other relations require a common interior or boundary, so the envelopes must intersect.
  const all = task.relation === 'Disjoint' || task.relation === 'Relation';
  const [left, right] = [task.geometries, task.others].map((list) => list.map(computeDimension)) as [
    number[],
    number[],
  ];
  return listPairs(writePlaneBlobs(task.geometries, task), writePlaneBlobs(task.others, task), all)
    .filter((one) => test({ matrix: one.matrix, left: left[one.left]!, right: right[one.right]! }))
    .map((one) => [one.left, one.right]);
}

function listPairs(left: readonly Blob[], right: readonly Blob[], all: boolean) {
  const maxPairs = PROCESS_LIMITS.geometryPairs;
  const beyond = () => new TaskFailure('too-large', `There are more than ${maxPairs} pairs to relate.`);
  if (all && left.length * right.length > maxPairs) throw beyond();
  try {
    const pairs = relateGeometries(left, right, { all, maxPairs });
    if (pairs) return pairs;
  } catch (error) {
    throw new TaskFailure('invalid-input', `geometries cannot be related: ${(error as Error).message}`);
  }
  throw beyond();
}

function buildTest({ relation, pattern }: Task): (pair: Pair) => boolean {
  if (relation !== 'Relation') return RELATIONS[relation];
  const letters = [...pattern!];
  return ({ matrix }) =>
    letters.every((letter, i) => {
      if (letter === '*') return true;
      return letter === 'T' ? matrix[i] !== EMPTY : matrix[i] === letter;
    });
}

function computeDimension({ type }: Geometry): number {
  return type.endsWith('Polygon') ? 2 : type.endsWith('LineString') ? 1 : 0;
}
