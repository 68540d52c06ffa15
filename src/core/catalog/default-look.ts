import type { RasterLook } from '../rasters/raster-look.js';
import type { RasterImageTask } from '../rasters/rasters.js';
import { rasterSteps } from '../styles/raster-steps.js';
import type { RasterCollection } from './collection.js';
import { listMosaicMembers } from './raster-sources.js';

/** Zoom level at which styles determine the bands and colours of images without a scale. */
const ZOOM = 10;

/** Bands and colours of the collection in its style; undefined for the default rendering. */
export function findDefaultLook({ style }: RasterCollection, zoom = ZOOM): RasterLook | undefined {
  return rasterSteps(style, zoom)?.find(({ look }) => look !== undefined)?.look;
}

/** Standard deviations from the mean within which values are shown. */
const DEVIATIONS = 2.5;

/**
 * Displayed minimum and maximum by band, if all members of a mosaic or all times must have the same. Undefined for
 * other rasters, whose ranges follow from their own values.
 */
export function listDrawnRanges({ raster, bands }: RasterCollection): RasterImageTask['ranges'] {
  if (listMosaicMembers(raster.source) === undefined)
    return (raster.times?.length ?? 0) > 1 ? bands.map(({ usualRange }) => usualRange ?? null) : undefined;
  return bands.map(({ statistics }) => {
    if (!statistics || statistics.max <= statistics.min) return null;
    const { min, max, mean, stdDev } = statistics;
    if (bands.length < 3) return [min, max];
    return [Math.max(min, mean - DEVIATIONS * stdDev), Math.min(max, mean + DEVIATIONS * stdDev)];
  });
}
