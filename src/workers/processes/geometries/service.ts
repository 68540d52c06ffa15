import { TaskFailure } from '../../../core/errors/failure.js';
import type { GeometryOperation } from '../../../core/geometry/geometry-operations.js';
import type {
  GeometryServiceResult,
  GeometryServiceTask,
} from '../../../core/geoservices/geometry-service.js';
import { LIMITS } from '../../../core/kit/limits.js';
import {
  GeometryUnion,
  OverlayIndex,
  processCollection,
  processGeometries,
} from '../../../native/processing.js';
import { distanceMatrix, measureGeometries } from '../../../native/proximity.js';
import {
  type Blob,
  createPositionsFailure,
  readPlaneBlobs,
  requireBlobs,
  SRS_ID,
  writePlaneBlobs,
} from './blobs.js';
import { cuts } from './cuts.js';
import { findDatumTransformations, transformGeometries } from './datum-paths.js';
import { gaps } from './gaps.js';
import { formatNotations, parseNotations } from './notations.js';
import { relations } from './relations.js';
import { reshape } from './reshape.js';
import { densifySlopes } from './slopes.js';
import { trimExtend } from './trim-extend.js';

/** Computes an operation of a GeometryServer. Throws `invalid-input` and `too-large`. */
export function computeGeometries(task: GeometryServiceTask): GeometryServiceResult {
  try {
    return compute(task);
  } catch (error) {
    // Errors of GEOS and PROJ are caused by the input. Other errors are errors of the server.
    if (!(error instanceof Error) || error.constructor !== Error) throw error;
    throw new TaskFailure('invalid-input', `The geometries cannot be processed: ${error.message}.`);
  }
}

function compute(task: GeometryServiceTask): GeometryServiceResult {
  switch (task.verb) {
    case 'measure':
      return {
        geometries: [],
        measures: listMeasures(writePlaneBlobs(task.geometries, task), task.plane, task.ground),
      };
    case 'distance':
      return { geometries: [], measures: [], distance: computeDistance(task) };
    case 'relate':
      return { geometries: [], measures: [], relations: relations(task) };
    case 'cut':
      return { ...cuts(task), measures: [] };
    case 'reshape':
      return { geometries: [reshape(task)], measures: [] };
    case 'trim-extend':
      return { geometries: trimExtend(task), measures: [] };
    case 'complete':
      return { geometries: readPlaneBlobs(gaps(task), task), measures: [] };
    case 'find-paths':
      return { geometries: [], measures: [], paths: findDatumTransformations(task) };
    case 'transform':
      return { geometries: transformGeometries(task), measures: [] };
    case 'write':
      return {
        geometries: [],
        measures: [],
        strings: formatNotations(task.geometries, task.from, task.notation),
      };
    case 'read':
      return { geometries: parseNotations(task.strings, task.target, task.notation), measures: [] };
    default:
      return { geometries: readPlaneBlobs(shapes(task), task), measures: [] };
  }
}

type Verb = 'each' | 'hull' | 'union' | 'clip' | 'subtract';
type ShapeTask = Extract<GeometryServiceTask, { verb: Verb }>;

function shapes(task: ShapeTask): Blob[] {
  const heights = task.verb === 'each' && task.heights === true;
  const blobs = writePlaneBlobs(task.geometries, task, { heights });
  switch (task.verb) {
    case 'each': {
      const [first] = task.operations;
      if (heights && first?.name === 'densify' && !first.ground) return withSlopes(task, blobs, first);
      const results = task.operations.flatMap((operation) => each(blobs, operation, task.plane));
      return task.union ? union(results) : results;
    }
    case 'hull':
      return processCollection(blobs, { name: 'convex-hull' }, SRS_ID);
    case 'union':
      return union(blobs);
    default: {
      const overlay = new OverlayIndex().add(writePlaneBlobs([task.by], task));
      requireBlobs(overlay.reasons);
      return requireBlobs(overlay.cut(blobs, task.verb, SRS_ID));
    }
  }
}

function each(blobs: Blob[], operation: GeometryOperation, plane: string): Blob[] {
  if (operation.name === 'densify') refuseDense(blobs, operation, plane);
  return requireBlobs(processGeometries(blobs, operation, { crs: plane, target: plane, srsId: SRS_ID }));
}

function withSlopes(task: ShapeTask, blobs: Blob[], operation: GeometryOperation): Blob[] {
  refuseDense(blobs, operation, task.plane);
  const geometries = task.geometries.map((geometry) => densifySlopes(geometry, operation.distance!));
  return writePlaneBlobs(geometries, task, { heights: true });
}

function refuseDense(blobs: Blob[], { distance, ground = false }: GeometryOperation, plane: string): void {
  const length = listMeasures(blobs, plane, ground).reduce((sum, one) => sum + one.length + one.perimeter, 0);
  if (!(length / distance! <= LIMITS.geometryPositions))
    throw createPositionsFailure('maxSegmentLength: makes more than', 'positions');
}

function union(blobs: Blob[]): Blob[] {
  const all = new GeometryUnion();
  all.add(blobs);
  return [all.take(SRS_ID)];
}

function listMeasures(blobs: Blob[], plane: string, ground: boolean) {
  return measureGeometries(blobs, plane, ground).map((one, i) => {
    if (one) return one;
    throw new TaskFailure('invalid-input', `geometries: number ${i} cannot be measured.`);
  });
}

function computeDistance(task: Extract<GeometryServiceTask, { verb: 'distance' }>): number {
  const side = (list: Blob[]) => ({ blobs: list, crs: task.plane });
  const [one, other] = [side(writePlaneBlobs(task.geometries, task)), side(writePlaneBlobs([task.by], task))];
  const [distance] = distanceMatrix(one, other, task.ground);
  if (Number.isFinite(distance)) return distance!;
  throw new TaskFailure('invalid-input', 'geometry1 and geometry2: the distance cannot be computed.');
}
