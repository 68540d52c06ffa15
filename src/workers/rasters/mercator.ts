/** Rasters in Mercator projections, whose poles are infinitely far away: GDAL would take its pixels from there. */

import { LRUCache } from 'lru-cache';
import { type Box, commonArea, WEB_MERCATOR_BOUNDS } from '../../core/geometry/box.js';
import { CRS84_NAME, type GdalCrs, getCrs, pointTransform, sameCrs, transformGdalBox } from '../gdal/crs.js';
import { type Dataset, gdal } from '../gdal/gdal.js';
import { getGeoreference } from './georeference.js';
import { findCrsPeriod, outlineIn } from './pixels/continuous.js';

/** Two latitudes whose distance is much greater on Mercator maps than on all other cylindrical maps. */
const [HIGH, HIGHER] = [80, 89];
const STRETCH = 1.5;

const stretched = new LRUCache<string, boolean>({ max: 64 });

function isMercator(crs: GdalCrs): boolean {
  let answer = stretched.get(crs.text);
  if (answer === undefined) stretched.set(crs.text, (answer = findStretch(crs)));
  return answer;
}

function findStretch(crs: GdalCrs): boolean {
  if (crs.srs.isGeographic() || findCrsPeriod(crs) === null) return false;
  const move = pointTransform(getCrs(CRS84_NAME), crs);
  const [near, far] = [move(0, HIGH), move(0, HIGHER)];
  return near !== null && far !== null && Math.abs(far[1]) > STRETCH * Math.abs(near[1]);
}

/** Position of a raster on a Mercator map, and the pixel size that preserves its detail. */
export interface MercatorGrid {
  readonly box: Box;
  readonly step: number;
}

/**
 * The grid of a raster that reaches beyond 85.05 degrees, where the square of Web Mercator ends; undefined for other
 * rasters, and for other projections, whose grids GDAL suggests.
 */
export async function mercatorGrid(raster: Dataset, target: GdalCrs): Promise<MercatorGrid | undefined> {
  const { crs, extent, northUp } = getGeoreference(raster);
  if (!northUp || sameCrs(crs, target) || findCrsPeriod(crs) === null || !isMercator(target))
    return undefined;
  const world = transformGdalBox(WEB_MERCATOR_BOUNDS, getCrs(CRS84_NAME), crs);
  const [minx, miny, maxx, maxy] = extent;
  const inside = world && commonArea(extent, [minx, world[1], maxx, world[3]]);
  if (!inside || (inside[1] === miny && inside[3] === maxy)) return undefined;
  const box = outlineIn(inside, crs, target);
  const { x: columns, y: rows } = raster.rasterSize;
  const height = (maxy - miny) / rows;
  const top = Math.ceil((maxy - inside[3]) / height);
  const count = Math.floor((maxy - inside[1]) / height) - top;
  if (!box || count < 1) return undefined;
  const part = await gdal.translateAsync('', raster, [
    '-of',
    'VRT',
    '-srcwin',
    ...[0, top, columns, count].map(String),
  ]);
  try {
    const { geoTransform } = await gdal.suggestedWarpOutputAsync({
      src: part,
      s_srs: crs.srs,
      t_srs: target.srs,
    });
    return { box, step: Math.abs(geoTransform[1]!) };
  } finally {
    part.close();
  }
}

/** Arguments of a warp that give a raster this grid; `pixelSize` takes the place of its step. */
export function gridArguments({ box, step }: MercatorGrid, pixelSize?: number): string[] {
  const sides = ['-te', ...box.map(String)];
  if (pixelSize !== undefined) return sides;
  const size = [box[2] - box[0], box[3] - box[1]].map((length) =>
    String(Math.max(1, Math.round(length / step))),
  );
  return [...sides, '-ts', ...size];
}
