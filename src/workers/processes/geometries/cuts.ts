import type { Geometry, MultiLineString, MultiPolygon, Position } from 'geojson';
import type { GeometryServiceTask } from '../../../core/geoservices/geometry-service.js';
import { GeometryUnion, processCollection, processGeometries } from '../../../native/processing.js';
import { relateGeometries } from '../../../native/relations.js';
import { type Blob, readPlaneBlobs, requireBlobs, SRS_ID, writePlaneBlobs } from './blobs.js';
import { type GuideSide, Guides } from './guides.js';
import { splitAtGuides } from './pieces.js';
import { dot, signedArea, vector } from './vectors.js';

type Task = Extract<GeometryServiceTask, { verb: 'cut' }>;

/** The parts of a geometry by their side of the cutter; undefined where one is on both sides, or on none. */
type Parts<T> = readonly { side: GuideSide | undefined; part: T }[];

/**
 * Cuts geometries by lines. Returns the part on the left, the part on the right, and each part on neither side. Uncut
 * geometries have no result.
 */
export function cuts(task: Task): { geometries: (Geometry | null)[]; cutIndexes: number[] } {
  const guides = new Guides((task.by as MultiLineString).coordinates);
  const each = task.geometries.map((geometry) =>
    geometry.type === 'MultiPolygon'
      ? cutArea(geometry, guides, task)
      : cutLines(geometry as MultiLineString, guides),
  );
  return { geometries: each.flat(), cutIndexes: each.flatMap((list, i) => list.map(() => i)) };
}

function cutLines({ coordinates }: MultiLineString, guides: Guides): Geometry[] {
  const parts = coordinates.flatMap((path) =>
    splitAtGuides(path, guides).map(({ path: part, side }) => ({
      side: side === 'on' ? 'right' : side,
      part,
    })),
  );
  if (parts.length === coordinates.length) return [];
  return listGroups<Position[]>(parts as Parts<Position[]>).map((paths) => ({
    type: 'MultiLineString',
    coordinates: paths,
  }));
}

/** Groups of a response: left parts, right parts, and each other part separately. Empty if no part has a side. */
function listGroups<T>(parts: Parts<T>): T[][] {
  const of = (wish: GuideSide) => parts.flatMap(({ side, part }) => (side === wish ? [part] : []));
  const sides = [of('left'), of('right')].filter((list) => list.length > 0);
  if (sides.length === 0) return [];
  return [...sides, ...parts.flatMap(({ side, part }) => (side === undefined ? [[part]] : []))];
}

function cutArea(area: MultiPolygon, guides: Guides, task: Task): Geometry[] {
  const faces = listFaces(area, task);
  if (faces.length <= area.coordinates.length) return [];
  const shapes = readPlaneBlobs(faces, task);
  const parts = faces.map((part, i) => ({ side: sideOfFace(shapes[i]!, guides), part }));
  const blobs = listGroups<Blob>(parts).map((group) => {
    const union = new GeometryUnion();
    union.add(group);
    return union.take(SRS_ID);
  });
  return readPlaneBlobs(blobs, task).filter((one) => one !== null);
}

/** The faces into which lines divide an area. */
function listFaces(area: MultiPolygon, task: Task): Blob[] {
  const [whole, cutter] = [writePlaneBlobs([area], task), writePlaneBlobs([task.by], task)];
  const crossing = relateGeometries(whole, cutter, { all: false, maxPairs: 1 });
  if (!crossing?.some(({ matrix }) => matrix[0] !== 'F')) return [];
  const planes = { crs: task.plane, target: task.plane, srsId: SRS_ID };
  const outline = requireBlobs(processGeometries(whole, { name: 'boundary' }, planes));
  const faces = processCollection([...outline, ...cutter], { name: 'polygonize' }, SRS_ID);
  const points = requireBlobs(processGeometries(faces, { name: 'point-on-surface' }, planes));
  const inside = relateGeometries(points, whole, { all: false, maxPairs: points.length }) ?? [];
  return inside.filter(({ matrix }) => matrix[0] === '0').map(({ left }) => faces[left]!);
}

function sideOfFace(face: Geometry, guides: Guides): GuideSide | undefined {
  const polygons = face.type === 'Polygon' ? [face.coordinates] : (face as MultiPolygon).coordinates;
  const sides = new Set(
    polygons.flatMap((rings) => rings.flatMap((ring, i) => sidesOfRing(ring, i > 0, guides))),
  );
  return sides.size === 1 ? [...sides][0] : undefined;
}

/** Sides of the cutter on which a face is, along the edges that the face shares with it. */
function sidesOfRing(ring: readonly Position[], isHole: boolean, guides: Guides): GuideSide[] {
  // The face is left of an exterior that runs counterclockwise, and of a hole that runs clockwise.
  const isLeft = signedArea(ring) > 0 !== isHole;
  return ring.slice(1).flatMap((to, i): GuideSide[] => {
    const along = guides.along(ring[i]!, to);
    if (!along) return [];
    return [dot(along, vector(ring[i]!, to)) > 0 === isLeft ? 'left' : 'right'];
  });
}
