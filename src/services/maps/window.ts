import { type Collection, isUnmeasured, jointExtent } from '../../core/catalog/collection.js';
import type { MapSettings } from '../../core/catalog/layer-settings.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { type Box, unwrapped } from '../../core/geometry/box.js';
import { CRS84, type Crs, defaultCrs, normaliseBox, requireReachable } from '../../core/geometry/crs.js';
import { LIMITS } from '../../core/kit/limits.js';
import { mapSettings } from '../catalog/layers/map-settings.js';
import { inAxisOrder, storageExtent } from '../features/storage-extent.js';
import { boxInCrs, groundSize, pixelsAtScale } from './ground.js';
import { type MapRequest, symbolScale } from './request.js';

/** Area of a map: a box in the map's CRS and a size in pixels. */
export interface MapWindow {
  /**
   * Bounding box, x,y ordered. Across the antimeridian the coordinates continue beyond it: maxx is always greater
   * than minx.
   */
  bbox: Box;
  crs: Crs;
  width: number;
  height: number;
}

type WindowRequest = Pick<
  MapRequest,
  'bbox' | 'bboxCrs' | 'crs' | 'width' | 'height' | 'scaleDenominator' | 'mmPerPixel' | 'dpi' | 'scale'
>;

/** Area of a map of data with unknown location. */
const WORLD: Box = [-180, -90, 180, 90];

/** Minimum side of a box in CRS units. Smaller pixels cannot be distinguished. */
const MIN_SIDE = 1e-9;

/**
 * Transforms the requested box, or the extent of the collections, into the map's CRS. Derives missing width and
 * height from its shape or from the scale.
 * The default CRS is the storage CRS for a map of one collection, the `resource`, and otherwise CRS84 (OGC 20-058,
 * /req/core/map-response). Throws 400 with the name of the parameter, and 404 if the collections are empty.
 */
export function mapWindow(
  collections: readonly Collection[],
  params: WindowRequest,
  resource: Collection | undefined,
): MapWindow {
  for (const collection of collections)
    requireReachable({ crs: params.crs, 'bbox-crs': params.bboxCrs }, collection);
  const settings = mapSettings(collections[0]?.maps ?? {});
  const crs = params.crs ?? resource?.storageCrs ?? CRS84;
  const bbox = computeBox(collections, params, crs, resource);
  const [spanX, spanY] = [bbox[2] - bbox[0], bbox[3] - bbox[1]];
  if (!(spanX > MIN_SIDE && spanY > MIN_SIDE))
    throw badParameter('bbox', `must have a width and a height greater than ${MIN_SIDE}`);
  if (!bbox.every((side) => Math.abs(side) <= LIMITS.mapReach))
    throw badParameter('bbox', 'must be inside the area of its coordinate reference system');
  const size =
    params.scaleDenominator === undefined
      ? readSize(params, spanX / spanY, settings)
      : sizeAtScale(bbox, crs, params.scaleDenominator, params);
  requireSize(size, settings);
  return { bbox, crs, ...size };
}

/** Box of the map, in the map's CRS. */
function computeBox(
  collections: readonly Collection[],
  params: WindowRequest,
  crs: Crs,
  resource: Collection | undefined,
): Box {
  if (!params.bbox) {
    const stored = resource && crs.uri === resource.storageCrs.uri ? storageExtent(resource) : undefined;
    if (stored) return withArea(unwrapped(stored), crs);
    const extent = collections.some(isUnmeasured) ? WORLD : jointExtent(collections);
    if (!extent) throw new ApiError('not-found', 'The collections are empty, so there is nothing to draw.');
    return withArea(boxInCrs('bbox', extent, CRS84, crs), crs);
  }
  const bboxCrs = params.bboxCrs ?? (resource ? defaultCrs(resource) : CRS84);
  const box = normaliseBox('bbox', params.bbox, bboxCrs);
  return boxInCrs('bbox', box, bboxCrs, crs);
}

/**
 * The extent of a single point, or of aligned points, as a box around it, because the client did not request an empty
 * area.
 */
function withArea(box: Box, { geographic }: Crs): Box {
  const [minx, miny, maxx, maxy] = box;
  const [width, height] = [maxx - minx, maxy - miny];
  if (width > MIN_SIDE && height > MIN_SIDE) return box;
  const margin = Math.max(width, height) / 2 || (geographic ? 0.005 : 500);
  const [x, y] = [width > MIN_SIDE ? 0 : margin, height > MIN_SIDE ? 0 : margin];
  return [minx - x, miny - y, maxx + x, maxy + y];
}

/** The window as clients know boxes: in the axis order of the CRS; across the antimeridian minx is greater than maxx. */
export function contentBox({ bbox, crs }: MapWindow): Box {
  const [minx, miny, maxx, maxy] = bbox;
  const crosses = crs.geographic && maxx > 180 && minx < 180 && maxx - minx < 360;
  return inAxisOrder(crosses ? [minx, miny, maxx - 360, maxy] : bbox, crs);
}

interface Size {
  width: number;
  height: number;
}

/** Throws 400 for a map that its service does not make. */
function requireSize({ width, height }: Size, { maxImageWidth, maxImageHeight }: MapSettings): void {
  if (width > maxImageWidth) throw badParameter('width', `must be at most ${maxImageWidth} pixels`);
  if (height > maxImageHeight) throw badParameter('height', `must be at most ${maxImageHeight} pixels`);
}

function readSize(params: WindowRequest, aspect: number, settings: MapSettings): Size {
  const { width, height } = params;
  const wide = (pixels: number) => bounded(pixels, settings.maxImageWidth);
  const high = (pixels: number) => bounded(pixels, settings.maxImageHeight);
  if (width !== undefined && height !== undefined) return { width, height };
  if (width !== undefined) return { width, height: high(width / aspect) };
  if (height !== undefined) return { width: wide(height * aspect), height };
  const scale = symbolScale(params);
  const widest = wide(settings.defaultImageWidth * scale);
  const highest = high(settings.defaultImageHeight * scale);
  return aspect >= widest / highest
    ? { width: widest, height: high(widest / aspect) }
    : { width: wide(highest * aspect), height: highest };
}

function bounded(pixels: number, max: number): number {
  return Math.min(Math.max(Math.round(pixels), 1), max);
}

/** Pixels of a map of that scale, over the ground in its middle (/req/scaling/scale-denominator-definition). */
function sizeAtScale(bbox: Box, crs: Crs, denominator: number, params: WindowRequest): Size {
  for (const name of ['width', 'height'] as const)
    if (params[name] !== undefined) throw badParameter(name, 'cannot be combined with scale-denominator');
  const scale = denominator / symbolScale(params);
  const [width, height] = groundSize(bbox, crs.proj).map((metres) => pixelsAtScale(metres, scale));
  if (Math.max(width!, height!) > LIMITS.mapSide)
    throw badParameter('scale-denominator', `must not make the map larger than ${LIMITS.mapSide} pixels`);
  return { width: width!, height: height! };
}
