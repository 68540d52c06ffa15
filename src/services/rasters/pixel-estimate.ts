import type { RasterCollection } from '../../core/catalog/collection.js';
import { type Box, commonArea } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { transformBox } from '../../native/index.js';
import type { Scaling } from './scaling.js';

interface EstimatedRequest {
  readonly place: { readonly bbox: Box; readonly bboxCrs: Crs } | undefined;
  /** CRS of the response. */
  readonly crs: Crs;
  readonly scaling: Scaling;
}

/**
 * Estimates the pixels of a response, which determine whether the request is heavy. If the location cannot be
 * expressed in the CRS of the raster, the complete raster counts.
 */
export function estimatePixels(
  { raster }: RasterCollection,
  { place, crs, scaling }: EstimatedRequest,
): number {
  const { extent, width, height } = raster;
  const { size = [0, 0], pixel, resolution } = scaling;
  const inRaster = place ? within(extent, place.bboxCrs.proj, raster.crs, place.bbox) : extent;
  const native = [width * share(extent, inRaster, 0), height * share(extent, inRaster, 1)];
  const inAnswer = resolution && crs.proj !== raster.crs ? project(inRaster, raster.crs, crs.proj) : inRaster;
  const side = (axis: 0 | 1): number => {
    if (size[axis]) return size[axis];
    if (pixel) return computeLength(inRaster, axis) / pixel[axis];
    if (resolution?.[axis] && inAnswer) return computeLength(inAnswer, axis) / resolution[axis];
    return native[axis]!;
  };
  return Math.round(side(0) * side(1));
}

const computeLength = (box: Box, axis: 0 | 1): number => Math.abs(box[axis + 2]! - box[axis]!);
const share = (whole: Box, part: Box, axis: 0 | 1): number =>
  Math.min(1, computeLength(part, axis) / computeLength(whole, axis));

/** The part of an extent within a box. The complete extent if the box crosses the antimeridian. */
function within(extent: Box, from: string, to: string, bbox: Box): Box {
  const box = bbox[0] > bbox[2] ? undefined : project(bbox, from, to);
  return (box && commonArea(extent, box)) ?? extent;
}

function project(box: Box, from: string, to: string): Box | undefined {
  try {
    return transformBox(box, from, to);
  } catch {
    return undefined;
  }
}
