import type { Geometry, MultiLineString, MultiPolygon, Position } from 'geojson';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { GeometryServiceTask } from '../../../core/geoservices/geometry-service.js';
import { validateGeometry } from '../../../native/index.js';
import { writePlaneBlobs } from './blobs.js';
import { type Crossing, Guides } from './guides.js';
import { extractPath } from './pieces.js';
import { isSame, signedArea } from './vectors.js';

type Task = Extract<GeometryServiceTask, { verb: 'reshape' }>;

/**
 * Reshapes a line or an area along another line, from their first meeting point to the last. If this results in two
 * areas, the larger one is returned. Throws `invalid-input`.
 */
export function reshape(task: Task): Geometry {
  const [geometry] = task.geometries as [MultiLineString | MultiPolygon];
  const line = buildReshaper(task.by as MultiLineString);
  const paths = geometry.type === 'MultiPolygon' ? geometry.coordinates.flat() : geometry.coordinates;
  const [start, end] = endsOn(paths, line);
  const along = extractPath(line, start, end);
  const isArea = geometry.type === 'MultiPolygon';
  const path = (isArea ? reshapeRing : reshapeLine)(paths[start.guide]!, along, start.guideAt, end.guideAt);
  const result = withPath(geometry, start.guide, path);
  if (isArea) requireValid(result, task);
  return result;
}

function buildReshaper({ coordinates }: MultiLineString): Position[] {
  if (coordinates.length !== 1) throw new TaskFailure('invalid-input', 'reshaper: must have one path.');
  return coordinates[0]!;
}

/** The first and the last place where the line meets the paths. */
function endsOn(paths: readonly Position[][], line: readonly Position[]): [Crossing, Crossing] {
  const crossings = new Guides(paths).crossings(line);
  const [start, end] = [crossings[0], crossings.at(-1)];
  if (!start || !end || isSame(start.position, end.position))
    throw new TaskFailure('invalid-input', 'reshaper: must meet the target at two positions.');
  if (start.guide !== end.guide)
    throw new TaskFailure(
      'invalid-input',
      'reshaper: must start and end on the same path or ring of the target.',
    );
  return [start, end];
}

function reshapeLine(path: readonly Position[], along: Position[], start: number, end: number): Position[] {
  const [first, last, middle] = start <= end ? [start, end, along] : [end, start, [...along].reverse()];
  return distinct([...path.slice(0, Math.ceil(first)), ...middle, ...path.slice(Math.floor(last) + 1)]);
}

function reshapeRing(ring: readonly Position[], along: Position[], start: number, end: number): Position[] {
  const corners = ring.slice(0, -1);
  const rings = [
    [...along, ...cornersBetween(corners, end, start), along[0]!],
    [...along, ...cornersBetween(corners, start, end).reverse(), along[0]!],
  ].map(distinct);
  const [larger] = rings.sort((a, b) => Math.abs(signedArea(b)) - Math.abs(signedArea(a)));
  return signedArea(larger!) > 0 === signedArea(ring) > 0 ? larger! : larger!.reverse();
}

/** Corners after a place of a ring and before another, in its direction. */
function cornersBetween(corners: readonly Position[], from: number, to: number): Position[] {
  const [first, last] = [Math.floor(from) + 1, Math.ceil(to)];
  if (from <= to) return corners.slice(first, last);
  return [...corners.slice(first), ...corners.slice(0, last)];
}

const distinct = (path: Position[]) => path.filter((at, i) => i === 0 || !isSame(at, path[i - 1]!));

function withPath(
  geometry: MultiLineString | MultiPolygon,
  index: number,
  path: Position[],
): typeof geometry {
  let n = 0;
  const place = (one: Position[]) => (n++ === index ? path : one);
  if (geometry.type === 'MultiLineString')
    return { ...geometry, coordinates: geometry.coordinates.map(place) };
  return { ...geometry, coordinates: geometry.coordinates.map((rings) => rings.map(place)) };
}

function requireValid(geometry: Geometry, task: Task): void {
  const invalidity = validateGeometry(writePlaneBlobs([geometry], task)[0]!);
  if (invalidity)
    throw new TaskFailure('invalid-input', `reshaper: makes an invalid polygon: ${invalidity.reason}.`);
}
