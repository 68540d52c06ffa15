import { computeMercatorNorthing } from '../geometry/web-mercator.js';

/** Points of a layer, and their extent in CRS84; west > east crosses the antimeridian. */
export interface PointSpread {
  readonly count: number | undefined;
  readonly extent84: readonly [number, number, number, number] | undefined;
}

/** Layers with fewer points are drawn as points at all zooms. */
const MIN_MANY = 20_000;
/** Circles of layers with fewer points have their full size at all zooms. */
const MIN_CROWD = 500;
/** Points in a tile at which circles of 3 pixels cover a quarter of its 512 x 512 pixels. */
const CROWDED = 4096;
const FINEST = 16;
const MAX_LATITUDE = 85.05;

/** Returns the zoom from which on a layer of many points is drawn as points. Undefined for a layer with few points. */
export function findPointZoom(spread: PointSpread): number | undefined {
  return (spread.count ?? 0) < MIN_MANY ? undefined : computeClearZoom(spread);
}

/** Zoom up to which circles cover each other, and their radius in pixels there. Undefined if circles do not shrink. */
export function findCrowding(spread: PointSpread): { zoom: number; radius: number } | undefined {
  const { count = 0 } = spread;
  const zoom = count < MIN_CROWD ? undefined : computeClearZoom(spread);
  return zoom === undefined ? undefined : { zoom: Math.round(zoom), radius: count < MIN_MANY ? 2 : 1.5 };
}

/**
 * Zoom at which a tile has so few points, on average, that they can be distinguished. The extent is the only fact about
 * the distribution, so clusters are denser.
 */
function computeClearZoom({ count, extent84 }: PointSpread): number | undefined {
  if (count === undefined || !extent84) return undefined;
  const [west, south, east, north] = extent84;
  const width = (west > east ? east + 360 - west : east - west) / 360;
  const share = width * Math.abs(computeNorthing(north) - computeNorthing(south));
  // Points on a line, or all at one position, have no area.
  const zoom = Math.log(count / CROWDED / Math.max(share, 1e-12)) / Math.log(4);
  return Math.min(FINEST, Math.max(1, zoom));
}

function computeNorthing(latitude: number): number {
  return computeMercatorNorthing(Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, latitude)));
}
