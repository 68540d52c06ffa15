import type { GeometryServiceTask } from '../../../core/geoservices/geometry-service.js';
import { processCollection, processGeometries } from '../../../native/processing.js';
import { measureGeometries } from '../../../native/proximity.js';
import { relateGeometries } from '../../../native/relations.js';
import { type Blob, requireBlobs, SRS_ID, writePlaneBlobs } from './blobs.js';

type Task = Extract<GeometryServiceTask, { verb: 'complete' }>;

/** Share of an area by which another may differ that is the same. */
const ROUNDING = 1e-9;

/** Returns the areas that lines enclose together with neighbouring areas. */
export function gaps(task: Task): Blob[] {
  const areas = writePlaneBlobs(task.geometries, task);
  const planes = { crs: task.plane, target: task.plane, srsId: SRS_ID };
  const outlines = requireBlobs(processGeometries(areas, { name: 'boundary' }, planes));
  const lines = writePlaneBlobs(task.others, task);
  const [faces, holes] = [outside([...outlines, ...lines], areas, planes), outside(outlines, areas, planes)];
  // Gaps that no line runs through were there before.
  const old =
    relateGeometries(listPoints(faces, planes), holes, { all: false, maxPairs: faces.length }) ?? [];
  const [sizes, sizesOfHoles] = [listSizes(faces, task), listSizes(holes, task)];
  const isOld = new Set(
    old
      .filter((one) => one.matrix[0] === '0' && sizes[one.left]! >= sizesOfHoles[one.right]! * (1 - ROUNDING))
      .map(({ left }) => left),
  );
  return faces.filter((_, i) => !isOld.has(i));
}

type Planes = Parameters<typeof processGeometries>[2];

/** Returns the faces of lines that are in none of the areas. */
function outside(lines: Blob[], areas: Blob[], planes: Planes): Blob[] {
  const faces = processCollection(lines, { name: 'polygonize' }, SRS_ID);
  const inside = relateGeometries(listPoints(faces, planes), areas, { all: false, maxPairs: 1e8 }) ?? [];
  const owners = new Set(inside.filter(({ matrix }) => matrix[0] === '0').map(({ left }) => left));
  return faces.filter((_, i) => !owners.has(i));
}

const listPoints = (faces: Blob[], planes: Planes) =>
  requireBlobs(processGeometries(faces, { name: 'point-on-surface' }, planes));

const listSizes = (faces: Blob[], { plane }: Task) =>
  measureGeometries(faces, plane, false).map((one) => one?.area ?? 0);
