import type { RasterGrid } from '../../../../core/rasters/rasters.js';
import type { MemberFacts } from './facts.js';

/** Around all of them, on the pixels of the finest. */
export function gridAround(crs: string, facts: readonly MemberFacts[]): RasterGrid {
  const dx = Math.min(...facts.map(({ geoTransform }) => geoTransform[1]));
  const dy = Math.max(...facts.map(({ geoTransform }) => geoTransform[5]));
  const west = Math.min(...facts.map(({ geoTransform }) => geoTransform[0]));
  const north = Math.max(...facts.map(({ geoTransform }) => geoTransform[3]));
  const east = Math.max(...facts.map(({ geoTransform, width }) => geoTransform[0] + width * geoTransform[1]));
  const south = Math.min(
    ...facts.map(({ geoTransform, height }) => geoTransform[3] + height * geoTransform[5]),
  );
  return {
    crs,
    geoTransform: [west, dx, 0, north, 0, dy],
    width: Math.max(1, Math.round((east - west) / dx)),
    height: Math.max(1, Math.round((south - north) / dy)),
  };
}
