/** Members of a mosaic that can hide all other members in a window: the members that are drawn last. */

import { findMosaicSource, ofMembers } from '../../core/catalog/raster-sources.js';
import type { Box } from '../../core/geometry/box.js';
import type { MosaicMember, RasterImageTask, RasterSource } from '../../core/rasters/rasters.js';
import { getCrs } from '../gdal/crs.js';
import { computeWindowBox, type ImageWindow } from './warp.js';

/** Members that cover the window in each try: one usually does, some where each has holes. */
const TRIES = [1, 4];

const CRS84 = getCrs('OGC:CRS84');

/**
 * Returns parts of a mosaic, each with more members. They are drawn until one leaves no pixel transparent, so a stack
 * of scenes costs only its uppermost scenes. Empty if the source is not a mosaic or if lower members can show
 * through.
 */
export function listFrontParts({ source, steps = [] }: RasterImageTask, window: ImageWindow): RasterSource[] {
  const { members = [], grid, merge } = findMosaicSource(source) ?? {};
  if (!grid || merge || members.length < 2) return [];
  if (steps.some(({ adjustment, hillshade }) => adjustment || hillshade)) return [];
  const box = computeWindowBox(window, CRS84);
  if (typeof box === 'string') return [];
  return listSizes(members, box).map((size) => ofMembers(source, members.slice(-size)));
}

/**
 * Returns the numbers of last members of which 1, 4, … cover the window. Each is less than the number of all members.
 */
function listSizes(members: readonly MosaicMember[], box: Box): number[] {
  const sizes: number[] = [];
  let count = 0;
  for (let size = 1; size < members.length && sizes.length < TRIES.length; size++)
    if (contains(members.at(-size)!.extent84, box) && ++count === TRIES[sizes.length]) sizes.push(size);
  return sizes;
}

/** Whether a box contains another box. False for boxes across the antimeridian. */
const contains = ([west, south, east, north]: Box, [minx, miny, maxx, maxy]: Box): boolean =>
  west <= minx && south <= miny && east >= maxx && north >= maxy;
