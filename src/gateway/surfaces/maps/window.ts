import type { Crs } from '../../../core/crs.js';
import { badParameter } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import type { Box } from '../../../core/tasks.js';
import { transformBox } from '../../../native/index.js';

/** What is drawn: a box in the map's CRS and a size in pixels. */
export interface MapWindow {
  /** x,y ordered. */
  bbox: Box;
  crs: Crs;
  width: number;
  height: number;
}

interface Asked {
  bbox: Box;
  bboxCrs: Crs;
  crs: Crs;
  width: number | undefined;
  height: number | undefined;
}

/** Smallest side of a box in CRS units; below it pixels cannot be told apart. */
const MIN_SIDE = 1e-9;

/** Puts the box into the map's CRS and derives a missing width or height from its shape. */
export function fitMap(asked: Asked): MapWindow {
  const bbox = inMapCrs(asked);
  const [minx, miny, maxx, maxy] = bbox;
  const spanX = maxx - minx;
  const spanY = maxy - miny;
  if (!(spanX > MIN_SIDE && spanY > MIN_SIDE)) throw badParameter('bbox', 'has no area');
  const { width, height } = sizeOf(asked, spanX / spanY);
  return { bbox, crs: asked.crs, width, height };
}

function inMapCrs({ bbox, bboxCrs, crs }: Asked): Box {
  if (bbox[0] > bbox[2])
    throw badParameter('bbox', 'crosses the antimeridian, which maps do not draw in one piece');
  if (bboxCrs.proj === crs.proj || bboxCrs.epsg === crs.epsg) return bbox;
  let box: Box;
  try {
    box = transformBox(bbox, bboxCrs.proj, crs.proj);
  } catch {
    throw badParameter('bbox', 'cannot be expressed in the CRS of the map');
  }
  if (!box.every(Number.isFinite)) throw badParameter('bbox', 'lies outside the CRS of the map');
  return box;
}

function sizeOf({ width, height }: Asked, aspect: number): { width: number; height: number } {
  const bounded = (pixels: number) => Math.min(Math.max(Math.round(pixels), 1), LIMITS.mapSide);
  if (width !== undefined && height !== undefined) return { width, height };
  if (width !== undefined) return { width, height: bounded(width / aspect) };
  if (height !== undefined) return { width: bounded(height * aspect), height };
  const side = LIMITS.mapSideDefault;
  return aspect >= 1
    ? { width: side, height: bounded(side / aspect) }
    : { width: bounded(side * aspect), height: side };
}
