/** Parameters of map requests. */

import type { MapSettings } from '../../core/catalog/layer-settings.js';
import { badParameter } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { type Format, JPEG_FORMAT, TIFF_FORMAT, WEBP_FORMAT } from '../../core/http/media.js';
import type { TimeRange } from '../../core/http/params.js';
import type { AskedLook } from '../../core/rasters/look-params.js';

/** Default size of a pixel in millimetres (OGC 20-058, 8.5). */
export const PIXEL_MM = 0.28;
const INCH_MM = 25.4;

export function dpiToScaleFactor(dpi: number): number {
  return (dpi * PIXEL_MM) / INCH_MM;
}

export interface MapRequest extends AskedLook {
  bbox: Box | undefined;
  bboxCrs: Crs | undefined;
  crs: Crs | undefined;
  width: number | undefined;
  height: number | undefined;
  scaleDenominator: number | undefined;
  /** Scale of symbols, in three alternative parameters. */
  mmPerPixel: number | undefined;
  dpi: number | undefined;
  scale: number | undefined;
  quality: number | undefined;
  datetime: TimeRange | undefined;
  transparent: boolean | undefined;
  bgcolor: string | undefined;
}

/** Scale of symbols. Default: 1. Throws 400 if two parameters set it. */
export function symbolScale({
  mmPerPixel,
  dpi,
  scale,
}: Pick<MapRequest, 'mmPerPixel' | 'dpi' | 'scale'>): number {
  const said = { 'mm-per-pixel': mmPerPixel, dpi, scale };
  const [first, second] = Object.entries(said).filter(([, factor]) => factor !== undefined);
  if (second) throw badParameter(second[0], `cannot be combined with ${first![0]}`);
  return first?.[1] ?? 1;
}

/** The colour under the map. */
export function chooseBackground(
  format: Format,
  { transparent, bgcolor }: Pick<MapRequest, 'transparent' | 'bgcolor'>,
  { defaultTransparent }: Pick<MapSettings, 'defaultTransparent'>,
): string {
  if (bgcolor) return bgcolor;
  return (transparent ?? defaultTransparent) && format !== JPEG_FORMAT ? 'transparent' : '#ffffff';
}

/** The name of an image format, as the drawing of maps has it. */
export function imageName(format: Format): 'png' | 'jpeg' | 'tiff' | 'webp' {
  if (format === JPEG_FORMAT) return 'jpeg';
  if (format === WEBP_FORMAT) return 'webp';
  return format === TIFF_FORMAT ? 'tiff' : 'png';
}
