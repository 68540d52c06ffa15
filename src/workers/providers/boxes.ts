import { TaskFailure } from '../../core/errors/failure.js';
import { type Box, plainBoxes } from '../../core/geometry/box.js';
import { transformBox } from '../../native/index.js';

/**
 * Converts a bounding box, which can cross the antimeridian, to plain boxes in the source's CRS: usually one, rarely
 * two. Throws `invalid-input` if the box is outside the area where the CRS is defined.
 */
export function boxesInSource(source: { crs: string }, box: Box, crs: string): Box[] {
  return plainBoxes(box).flatMap((part) => plainBoxes(inSource(part, crs, source.crs)));
}

function inSource(box: Box, from: string, to: string): Box {
  try {
    return transformBox(box, from, to);
  } catch (error) {
    const message = 'The bounding box cannot be expressed in the CRS of the data.';
    throw new TaskFailure('invalid-input', message, (error as Error).message);
  }
}

/** A box with margins at its sides. */
export const withMargins = ([minx, miny, maxx, maxy]: Box, x: number, y: number): Box => [
  minx - x,
  miny - y,
  maxx + x,
  maxy + y,
];

/** Maximum ratio of the lengths of a degree at the equator and of a degree of latitude. */
const FLATTENING = 1.02;

/** A box of degrees with a margin of a distance in degrees of the equator; cut where it passes the antimeridian. */
export function expandBoxOnGlobe(box: Box, distance: number): Box[] {
  const latitudes = distance * FLATTENING;
  const highest = Math.max(Math.abs(box[1]), Math.abs(box[3])) + latitudes;
  const longitudes = highest < 89 ? latitudes / Math.cos((highest * Math.PI) / 180) : 360;
  const [minx, miny, maxx, maxy] = withMargins(box, longitudes, latitudes);
  if (maxx - minx >= 360) return [[-180, miny, 180, maxy]];
  const windows: Box[] = [[minx, miny, maxx, maxy]];
  if (minx <= -180) windows.push([minx + 360, miny, 180, maxy]);
  if (maxx >= 180) windows.push([-180, miny, maxx - 360, maxy]);
  return windows;
}
