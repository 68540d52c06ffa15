/** Points of a layer, and their extent in CRS84; west > east crosses the antimeridian. */
export interface PointSpread {
  readonly count: number | undefined;
  readonly extent84: readonly [number, number, number, number] | undefined;
}

/** Layers with fewer points are drawn as points at all zooms. */
const MIN_MANY = 20_000;
/** Points in a tile at which circles of 3 pixels cover a quarter of its 512 x 512 pixels. */
const CROWDED = 4096;
const FINEST = 16;
const MAX_LATITUDE = 85.05;

/**
 * Returns the zoom at which a tile has so few points, on average, that they can be distinguished. Undefined for a layer
 * with few points. The extent is the only fact about the distribution, so clusters are denser.
 */
export function findPointZoom({ count, extent84 }: PointSpread): number | undefined {
  if (count === undefined || count < MIN_MANY || !extent84) return undefined;
  const [west, south, east, north] = extent84;
  const width = (west > east ? east + 360 - west : east - west) / 360;
  const share = width * Math.abs(computeNorthing(north) - computeNorthing(south));
  // Points on a line, or all at one position, have no area.
  const zoom = Math.log(count / CROWDED / Math.max(share, 1e-12)) / Math.log(4);
  return Math.min(FINEST, Math.max(1, zoom));
}

/** Web Mercator northing in sides of the world. */
function computeNorthing(latitude: number): number {
  const radians = (Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, latitude)) * Math.PI) / 180;
  return Math.log(Math.tan(Math.PI / 4 + radians / 2)) / (2 * Math.PI);
}
