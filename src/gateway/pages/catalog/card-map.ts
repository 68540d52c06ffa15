import { isDrawable } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { Box } from '../../../core/geometry/box.js';
import { computeMercatorNorthing } from '../../../core/geometry/web-mercator.js';

/** Pixels of the image on a card. */
const WIDTH = 480;
const HEIGHT = 240;
/** Fraction of the image that the data fills. */
const SHARE = 0.9;
/** Minimum width of the image in degrees, for layers of one point. */
const MIN_WIDTH = 0.02;
/** Latitude at which the square of Web Mercator ends. */
const MAX_LATITUDE = 85;

const DEGREE = Math.PI / 180;
/** Web Mercator in degrees of longitude. */
const project = (latitude: number) => computeMercatorNorthing(latitude) * 360;
const unproject = (y: number) => 2 * (Math.atan(Math.exp(y * DEGREE)) / DEGREE - 45);

/**
 * Path of a small map of a collection, below `root`. The window around the extent has the shape of the image. Undefined for
 * collections that have no maps.
 */
export function cardMapUrl(root: string, collection: Collection): string | undefined {
  const { extent84, layerId, storageCrs } = collection;
  if (!isDrawable(collection)) return undefined;
  const map = `${root}/ogc/maps/collections/${layerId}/map?f=webp&transparent=true&width=${WIDTH}&height=${HEIGHT}`;
  if (storageCrs.isPlane || !extent84) return map;
  return `${map}&crs=EPSG:3857&bbox=${computeWindow(extent84).map(round).join(',')}`;
}

/** Window in degrees: west, south, east, north; west is greater than east across the antimeridian. */
export function computeWindow([west, south, east, north]: Box): Box {
  const clamp = (latitude: number) => Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, latitude));
  const [bottom, top] = [project(clamp(south)), project(clamp(north))];
  const across = west > east ? east + 360 - west : east - west;
  const ratio = WIDTH / HEIGHT;
  const width = Math.min(360, Math.max(MIN_WIDTH, across / SHARE, ((top - bottom) / SHARE) * ratio));
  const height = width / ratio;
  const limit = project(MAX_LATITUDE) - height / 2;
  const middle = Math.min(limit, Math.max(-limit, (bottom + top) / 2));
  const latitudes = [unproject(middle - height / 2), unproject(middle + height / 2)] as const;
  if (width === 360) return [-180, latitudes[0], 180, latitudes[1]];
  const left = west + across / 2 - width / 2;
  return [wrap(left), latitudes[0], wrap(left + width), latitudes[1]];
}

function wrap(longitude: number): number {
  return longitude < -180 ? longitude + 360 : longitude > 180 ? longitude - 360 : longitude;
}

const round = (value: number) => Math.round(value * 1e6) / 1e6;
