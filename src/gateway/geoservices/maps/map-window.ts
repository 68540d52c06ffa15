import type { MapSettings } from '../../../core/catalog/layer-settings.js';
import { badParameter } from '../../../core/errors/errors.js';
import type { Box } from '../../../core/geometry/box.js';
import type { Crs } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { WEB_MERCATOR } from '../../../core/tiles/tile-matrix.js';
import { mapSettings } from '../../../services/catalog/layers/map-settings.js';
import { parseLenientJson, spatialReference } from '../../../services/geoservices/geometry.js';
import { scalarNumber } from '../../../services/geoservices/scalar.js';
import type { MapWindow } from '../../../services/maps/window.js';
import { boxIn } from '../layer-documents.js';
import { type Members, readTextMember } from '../members.js';

/** Extents and sizes of requested maps and images. Each reader throws 400 with the name of the parameter. */

const MAX_TEXT = 1000;
/** Minimum side of an extent: below it, pixels would coincide. */
const MIN_SIDE = 1e-9;

interface WindowContext {
  /** Spatial reference of the service. */
  readonly own: Crs;
  /** Extent of the whole map, in the CRS `own`. */
  readonly whole: Box | undefined;
  readonly settings: WindowSettings;
}

/** The settings of the service, and the same with defaults. */
export interface WindowSettings {
  readonly own: Partial<MapSettings>;
  readonly all: MapSettings;
}

export const windowSettings = (own: Partial<MapSettings> = {}): WindowSettings => ({
  own,
  all: mapSettings(own),
});

/** The drawn extent: `bbox` in `imageSR`, widened to the aspect ratio of `size`. Throws 400. */
export function imageWindow(members: Members, { own, whole, settings }: WindowContext): MapWindow {
  const [width, height] = readSize(members, settings);
  const box = parseMapBox('bbox', members['bbox']);
  const from = box?.crs ?? readSpatialReference(members, 'bboxSR') ?? own;
  const crs = readSpatialReference(members, 'imageSR') ?? from;
  const bbox = box ? boxIn(box.bbox, from, crs) : whole && boxIn(whole, own, crs);
  if (!bbox) throw badParameter('bbox', 'is required, because the layers have no known extent');
  if (!(bbox[2] - bbox[0] > MIN_SIDE && bbox[3] - bbox[1] > MIN_SIDE))
    throw badParameter('bbox', `must have a width and a height greater than ${MIN_SIDE}`);
  if (!bbox.every((side) => Math.abs(side) <= LIMITS.mapReach))
    throw badParameter('bbox', 'must be inside the area of its coordinate reference system');
  return { bbox: widened(bbox, width / height), crs, width, height };
}

/** A spatial reference; undefined if absent. */
export function readSpatialReference(members: Members, name: string): Crs | undefined {
  const value = members[name];
  return value === undefined || value === '' ? undefined : spatialReference(name, value);
}

/**
 * `xmin,ymin,xmax,ymax`, or an envelope as JSON, which may have a spatial reference. Clients write the corners in any
 * order: Esri Leaflet writes the upper one first.
 */
export function parseMapBox(name: string, value: unknown): { bbox: Box; crs: Crs | undefined } | undefined {
  if (value === undefined || value === '') return undefined;
  const isText = typeof value === 'string' && !value.trim().startsWith('{');
  const json = isText
    ? undefined
    : ((typeof value === 'string' ? parseLenientJson(name, value) : value) as Members);
  const sides = json
    ? [json['xmin'], json['ymin'], json['xmax'], json['ymax']]
    : (value as string).split(',');
  const numbers = sides.map((side) => scalarNumber(name, side ?? ''));
  if (numbers.length !== 4 || !numbers.every(Number.isFinite))
    throw badParameter(name, 'must be xmin,ymin,xmax,ymax');
  const [x1, y1, x2, y2] = numbers;
  const reference = json?.['spatialReference'];
  return {
    bbox: [Math.min(x1!, x2!), Math.min(y1!, y2!), Math.max(x1!, x2!), Math.max(y1!, y2!)],
    crs: reference === undefined || reference === null ? undefined : spatialReference(name, reference),
  };
}

/** Pixels of an image whose size neither the request nor the service names. */
const USUAL_SIDE = 400;

function readSize(members: Members, { own, all: most }: WindowSettings): [number, number] {
  const { defaultImageWidth = USUAL_SIDE, defaultImageHeight = USUAL_SIDE } = own;
  const text = readTextMember(members, 'size', MAX_TEXT) ?? `${defaultImageWidth},${defaultImageHeight}`;
  const sides = text.split(',').map((side) => (/^\s*\d{1,6}\s*$/.test(side) ? Number(side) : 0));
  const [width = 0, height = 0, ...more] = sides;
  if (more.length > 0 || width < 1 || height < 1)
    throw badParameter('size', 'must be width,height in pixels');
  if (width > most.maxImageWidth || height > most.maxImageHeight)
    throw badParameter('size', `must be at most ${most.maxImageWidth} x ${most.maxImageHeight} pixels`);
  return [width, height];
}

/** A box of that ratio of width to height around another, in its middle. */
function widened([minx, miny, maxx, maxy]: Box, aspect: number): Box {
  const [width, height] = [maxx - minx, maxy - miny];
  const [wider, higher] = [Math.max(width, height * aspect), Math.max(height, width / aspect)];
  const [x, y] = [(wider - width) / 2, (higher - height) / 2];
  return [minx - x, miny - y, maxx + x, maxy + y];
}

export const MAP_CRS = WEB_MERCATOR;
