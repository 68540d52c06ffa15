import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { type Box, computeEnvelope, wrapLongitude } from '../../../core/geometry/box.js';
import { CRS84, type Crs } from '../../../core/geometry/crs.js';
import type { Exchange } from '../../../core/http/operation.js';
import type { TimeRange } from '../../../core/http/params.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { transformPoints } from '../../../native/index.js';
import { geometryLiteral, spatialReference } from '../../../services/geoservices/geometry.js';
import { valuesByTime } from '../../../services/rasters/position.js';
import { parseMapBox, readSpatialReference } from '../maps/map-window.js';
import { type Members, readTextMember } from '../members.js';

/** Places in requests, and the pixel values of rasters there. */

const MAX_TEXT = 1000;

/** x,y ordered. */
export type PlacePosition = readonly [number, number];

export interface PlaceGeometry {
  readonly literal: ReturnType<typeof geometryLiteral>;
  /** Centre of the geometry, from its sides as sent: a literal across the antimeridian has different sides. */
  readonly middle: PlacePosition;
  /** CRS of the geometry: from the geometry itself, from `sr`, or `own`. */
  readonly crs: Crs;
}

/** The `geometry` of a request; two numbers are a point. Throws 400 naming the parameter. */
export function placeGeometry(members: Members, own: Crs): PlaceGeometry {
  const { geometry } = members;
  if (geometry === undefined || geometry === '') throw badParameter('geometry', 'is required');
  let crs = readSpatialReference(members, 'sr') ?? own;
  const isNumbers = typeof geometry === 'string' && !geometry.trim().startsWith('{');
  const type =
    readTextMember(members, 'geometryType', MAX_TEXT) ?? (isNumbers ? 'esriGeometryPoint' : undefined);
  const literal = geometryLiteral(geometry, type, (reference) => {
    if (reference !== undefined && reference !== null) crs = spatialReference('geometry', reference);
    return crs;
  });
  const sides = 'type' in literal ? computeEnvelope(literal)! : parseMapBox('geometry', geometry)!.bbox;
  return { literal, middle: computeMiddle(sides), crs };
}

const computeMiddle = ([minx, miny, maxx, maxy]: Box) => [(minx + maxx) / 2, (miny + maxy) / 2] as const;

/** Longitude, from -180 to 180, and latitude of a position; undefined outside the domain of the CRS. */
export function transformToDegrees(at: PlacePosition, crs: Crs): PlacePosition | undefined {
  const point = new Float64Array(at);
  transformPoints(point, crs.proj, CRS84.proj);
  return point.every(Number.isFinite) ? [wrapLongitude(point[0]!), point[1]!] : undefined;
}

/** Values of all bands at a place, for the latest time, as text; undefined outside the raster. */
export async function readPixel(
  x: Exchange,
  pools: Pools,
  collection: RasterCollection,
  { at, crs, datetime }: { at: PlacePosition; crs: Crs; datetime: TimeRange | undefined },
): Promise<string | undefined> {
  const place = transformToDegrees(at, crs);
  if (!place) return undefined;
  const { steps = [] } = (await valuesByTime(x, pools, collection, { place, datetime, most: 1 })) ?? {};
  return steps
    .at(-1)
    ?.values.map((value) => value ?? 'NoData')
    .join(', ');
}
