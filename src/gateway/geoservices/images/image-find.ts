import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { boxesTouch, unwrapped, wrapLongitude } from '../../../core/geometry/box.js';
import { CRS84, type Crs } from '../../../core/geometry/crs.js';
import { transformPoints } from '../../../native/index.js';
import { type Granule, listGranules } from '../../../services/rasters/granules.js';
import { member } from '../features/query-members.js';
import { createSpatialReference, layerCrs } from '../layer-documents.js';
import { type Members, readIntegerMember, readIntegersMember, readTextMember } from '../members.js';
import { type PlacePosition, placeGeometry, transformToDegrees } from './pixels.js';

/** Images that show a position: the operation `find` of image services. */

const MAX_IMAGES = 1000;
const MAX_TEXT = 1000;

export const FIND_PARAMS = {
  toGeometry: member('toGeometry', 'Position that the images must show: x,y, or a point as JSON.'),
  fromGeometry: member('fromGeometry', 'Position that the images are sorted by. Default: toGeometry.'),
  objectIds: member('objectIds', 'Numbers of images, from 1. Default: all.'),
  where: member('where', '1=1.'),
  maxCount: member('maxCount', `Maximum number of images. Default: ${MAX_IMAGES}.`),
};

interface FoundImage {
  readonly id: number;
  readonly granule: Granule;
  readonly center: PlacePosition;
  readonly distance: number;
}

export function findImages(collection: RasterCollection, members: Members): object {
  const { where } = members;
  if (where && !/^\s*1\s*=\s*1\s*$/.test(readTextMember(members, 'where', MAX_TEXT)!))
    throw badParameter('where', 'must be 1=1 for image services');
  const own = layerCrs(collection);
  const to = findPosition('toGeometry', members, own);
  if (!to) throw badParameter('toGeometry', 'is required. Send the position that the images must show');
  const from = findPosition('fromGeometry', members, own) ?? to;
  const ids = readIntegersMember(members, 'objectIds', MAX_IMAGES);
  const maxCount = readIntegerMember(members, 'maxCount') ?? MAX_IMAGES;
  if (!(maxCount >= 1)) throw badParameter('maxCount', `must be an integer from 1 to ${MAX_IMAGES}`);
  const found = listGranules(collection)
    .map((granule, i) => foundImage(granule, i + 1, from))
    .filter(({ id, granule }) => (!ids || ids.includes(id)) && boxesTouch([...to, ...to], granule.extent84))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, Math.min(maxCount, MAX_IMAGES));
  return { images: found.map((image) => imageView(image, own)) };
}

/** The position of a member in degrees; undefined without the member. */
function findPosition(name: string, members: Members, own: Crs): PlacePosition | undefined {
  const geometry = members[name];
  if (geometry === undefined || geometry === '') return undefined;
  const { middle, crs } = placeGeometry({ ...members, geometry, geometryType: 'esriGeometryPoint' }, own);
  const place = transformToDegrees(middle, crs);
  if (!place) throw badParameter(name, 'is outside the coordinate reference system');
  return place;
}

function foundImage(granule: Granule, id: number, from: PlacePosition): FoundImage {
  const [west, south, east, north] = unwrapped(granule.extent84);
  const center = [wrapLongitude((west + east) / 2), (south + north) / 2] as const;
  const apart = Math.abs(center[0] - from[0]);
  return { id, granule, center, distance: Math.hypot(Math.min(apart, 360 - apart), center[1] - from[1]) };
}

function imageView({ id, granule, center }: FoundImage, crs: Crs): object {
  const point = new Float64Array(center);
  transformPoints(point, CRS84.proj, crs.proj);
  const [x, y] = point;
  return {
    id,
    name: granule.id,
    acquisitionDate: granule.acquired ?? null,
    center: { x, y, spatialReference: createSpatialReference(crs) },
  };
}
