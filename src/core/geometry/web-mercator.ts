/** Web Mercator northing of a latitude in degrees, in sides of the square of the world: 0 at the equator, 0.5 at its top. */
export function computeMercatorNorthing(latitude: number): number {
  return Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360)) / (2 * Math.PI);
}
