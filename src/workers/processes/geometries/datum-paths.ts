import type { Geometry, Position } from 'geojson';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { DatumStep, GeometryServiceTask } from '../../../core/geoservices/geometry-service.js';
import { transformBox } from '../../../native/index.js';
import { findDatumOperations, transformByOperation } from '../../../native/operations.js';

/** Transformations of PROJ's database from one reference to another: paths of steps between datums, by their codes. */

const LON_LAT = 'OGC:CRS84';

/**
 * Returns the datum transformations. Empty if both references have the same datum. Codes are from EPSG, or from Esri
 * for transformations without an EPSG code.
 */
export function findDatumTransformations({
  from,
  target,
  area,
  areaCrs,
}: Extract<GeometryServiceTask, { verb: 'find-paths' }>) {
  const operations = findDatumOperations(from, target, area && transformBox(area, areaCrs, LON_LAT));
  if (operations.some((steps) => steps.length === 0)) return [];
  const paths = new Map<string, DatumStep[]>();
  for (const steps of operations) {
    const key = buildKey(steps);
    if (paths.has(key) || !steps.every(({ code }) => /^\d{1,9}$/.test(code))) continue;
    paths.set(
      key,
      steps.map(({ code, name, isInverse }) => ({ code: Number(code), name, isForward: !isInverse })),
    );
  }
  return [...paths.values()];
}

/** Transforms geometries by the transformation with these steps. Throws `invalid-input` if there is none. */
export function transformGeometries(task: Extract<GeometryServiceTask, { verb: 'transform' }>): Geometry[] {
  const { from, target, steps } = task;
  const place = findDatumOperations(from, target).findIndex(
    (one) =>
      one.length === steps.length &&
      steps.every(({ code, isForward }, i) => {
        const step = one[i]!;
        return Number(step.code) === code && (isForward === undefined || isForward === !step.isInverse);
      }),
  );
  if (place < 0) throw new TaskFailure('invalid-input', 'transformation: must transform from inSR to outSR.');
  const positions = task.geometries.flatMap(listPositions);
  const points = new Float64Array(positions.flatMap(([x, y]) => [x!, y!]));
  transformByOperation(points, from, target, place);
  if (!points.every(Number.isFinite))
    throw new TaskFailure('invalid-input', 'geometries: a position is outside the area of outSR.');
  for (const [i, position] of positions.entries())
    [position[0], position[1]] = [points[2 * i]!, points[2 * i + 1]!];
  return task.geometries;
}

const buildKey = (steps: ReturnType<typeof findDatumOperations>[number]) =>
  steps.map(({ authority, code, isInverse }) => `${isInverse ? '-' : ''}${authority}:${code}`).join();

/** Returns the positions themselves: changes of them change the geometry. */
function listPositions(geometry: Geometry): Position[] {
  switch (geometry.type) {
    case 'Point':
      return [geometry.coordinates];
    case 'MultiPoint':
      return geometry.coordinates;
    case 'MultiLineString':
      return geometry.coordinates.flat();
    default:
      // The last position of a ring can be the same object as its first position.
      return (geometry as { coordinates: Position[][][] }).coordinates.flatMap((rings) =>
        rings.flatMap((ring, i) => (rings[i] = ring.map((position) => [...position]))),
      );
  }
}
