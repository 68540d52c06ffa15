import type { Geometry } from 'geojson';
import { TaskFailure } from '../../core/failure.js';
import type { GeometryOperation } from '../../core/geometry-operations.js';
import type { GeometryServiceResult, GeometryServiceTask } from '../../core/geometry-service.js';
import { LIMITS } from '../../core/limits.js';
import { geojsonToWkb, geometryToGeoJSON } from '../../native/index.js';
import {
  GeometryUnion,
  OverlayIndex,
  type Processed,
  processCollection,
  processGeometries,
} from '../../native/processing.js';
import { distanceMatrix, measureGeometries } from '../../native/proximity.js';

/** Nobody reads the id that blobs on their way from one operation to the next have. */
const SRS_ID = 0;
/** Decimal places that tell any two doubles of degrees or metres apart. */
const PRECISION = 15;

type Blob = Uint8Array | null;

/** Computes what a GeometryServer is asked. Throws `invalid-input` and `too-large`. */
export function computeGeometries(task: GeometryServiceTask): GeometryServiceResult {
  const blobs = read(task.geometries, task);
  switch (task.verb) {
    case 'measure':
      return { geometries: [], measures: measured(blobs, task.plane, task.ground) };
    case 'distance': {
      const side = (list: Blob[]) => ({ blobs: list, crs: task.plane });
      const [distance] = distanceMatrix(side(blobs), side(read([task.by], task)), task.ground);
      return { geometries: [], measures: [], distance: distance! };
    }
    default:
      return { geometries: shown(shapes(task, blobs), task), measures: [] };
  }
}

type ShapeTask = Exclude<GeometryServiceTask, { verb: 'measure' | 'distance' }>;

function shapes(task: ShapeTask, blobs: Blob[]): Blob[] {
  switch (task.verb) {
    case 'each': {
      const results = task.operations.flatMap((operation) => each(blobs, operation, task.plane));
      return task.union ? united(results) : results;
    }
    case 'hull':
      return processCollection(blobs, { name: 'convex-hull' }, SRS_ID);
    case 'union':
      return united(blobs);
    default:
      return done(new OverlayIndex().add(read([task.by], task)).cut(blobs, task.verb, SRS_ID));
  }
}

function each(blobs: Blob[], operation: GeometryOperation, plane: string): Blob[] {
  if (operation.name === 'densify') refuseDense(blobs, operation.distance!, plane);
  return done(processGeometries(blobs, operation, { crs: plane, target: plane, srsId: SRS_ID }));
}

function refuseDense(blobs: Blob[], longest: number, plane: string): void {
  const length = measured(blobs, plane, false).reduce((sum, one) => sum + one.length + one.perimeter, 0);
  if (!(length / longest <= LIMITS.geometryPositions))
    throw tooLarge('maxSegmentLength makes more than', 'positions');
}

const tooLarge = (what: string, unit: string) =>
  new TaskFailure('too-large', `${what} ${LIMITS.geometryPositions} ${unit}.`);

function united(blobs: Blob[]): Blob[] {
  const union = new GeometryUnion();
  union.add(blobs);
  return [union.take(SRS_ID)];
}

function done(results: Processed[]): Blob[] {
  return results.map((result, i) => {
    if (typeof result !== 'string') return result;
    throw new TaskFailure('invalid-input', `geometries: number ${i} cannot be processed: ${result}`);
  });
}

/** Geometries in the plane. */
function read(geometries: Geometry[], { from, plane }: GeometryServiceTask): Blob[] {
  return geometries.map((geometry, i) => {
    try {
      return geojsonToWkb(geometry, { from, to: plane, dimension: 2 });
    } catch (error) {
      throw new TaskFailure('invalid-input', `geometries: number ${i}: ${(error as Error).message}`);
    }
  });
}

function measured(blobs: Blob[], plane: string, ground: boolean) {
  return measureGeometries(blobs, plane, ground).map((one) => one ?? { area: 0, perimeter: 0, length: 0 });
}

function shown(blobs: Blob[], { plane, target }: GeometryServiceTask): (Geometry | null)[] {
  let bytes = 0;
  for (const blob of blobs) bytes += blob?.byteLength ?? 0;
  // A position is two doubles.
  if (bytes / 16 > LIMITS.geometryPositions) throw tooLarge('The answer has more than', 'positions');
  return blobs.map((blob) => {
    if (!blob) return null;
    const text = geometryToGeoJSON(blob, { from: plane, to: target, precision: PRECISION });
    return ofOneKind(JSON.parse(text) as Geometry | null);
  });
}

/** Of a collection what has the highest dimension: GeoServices have none. */
function ofOneKind(geometry: Geometry | null): Geometry | null {
  if (geometry?.type !== 'GeometryCollection') return geometry;
  const all = (name: string) =>
    geometry.geometries.flatMap((one) => {
      if (one.type === 'GeometryCollection') return [];
      return one.type === name ? [one.coordinates] : one.type === `Multi${name}` ? one.coordinates : [];
    }) as never[];
  for (const name of ['Polygon', 'LineString', 'Point'] as const) {
    const coordinates = all(name);
    if (coordinates.length > 0) return { type: `Multi${name}`, coordinates };
  }
  return null;
}
