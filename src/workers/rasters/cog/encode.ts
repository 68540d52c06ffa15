/** Image formats of the raster tasks: RGBA pixels to bytes. */

import sharp from 'sharp';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Box } from '../../../core/geometry/box.js';
import { encodePicturePng, type PixelWindow } from '../../../native/index.js';
import { getCrs } from '../../gdal/crs.js';
import { gdal, scratchPath } from '../../gdal/gdal.js';

// Each call has one encoder thread and no cache, because the engine runs several calls in parallel and never encodes
// the same pixels twice.
sharp.concurrency(1);
sharp.cache(false);

/** RGBA, 4 bytes a pixel, row by row from the top, not premultiplied. */
export interface Pixels {
  rgba: Uint8Array;
  width: number;
  height: number;
}

export const MEDIA_TYPES = {
  raw: 'application/octet-stream',
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  tiff: 'image/tiff; application=geotiff',
} as const;

export type ImageFormat = keyof typeof MEDIA_TYPES;

const DEFAULT_QUALITY = 85;

/** Encodes pixels. `box` and `crs` are written into formats that support them. JPEG shows transparent parts white. */
export async function encodeImage(
  pixels: Pixels,
  format: ImageFormat,
  place: { box: Box; crs: string },
  quality = DEFAULT_QUALITY,
): Promise<Uint8Array> {
  if (format === 'raw') return pixels.rgba;
  if (format === 'tiff') return encodeGeoTiff(pixels, place);
  const { rgba, width, height } = pixels;
  if (format !== 'jpeg') return encodePart(pixels, { x: 0, y: 0, width, height }, format, quality);
  const image = sharp(rgba, { raw: { width, height, channels: 4 } });
  return image.flatten({ background: '#ffffff' }).jpeg({ quality }).toBuffer();
}

/** Encodes a part of an image. */
export function encodePart(
  { rgba, width, height }: Pixels,
  part: PixelWindow,
  format: 'png' | 'webp',
  quality = DEFAULT_QUALITY,
): Promise<Uint8Array> {
  if (format === 'png') return encodePicturePng(rgba, width, part);
  const image = sharp(rgba, { raw: { width, height, channels: 4 } });
  const { x: left, y: top } = part;
  const window = image.extract({ left, top, width: part.width, height: part.height });
  return window.webp({ quality, effort: 1 }).toBuffer();
}

/** A four-band GeoTIFF (red, green, blue, alpha). */
async function encodeGeoTiff(pixels: Pixels, place: { box: Box; crs: string }): Promise<Uint8Array> {
  const { rgba, width, height } = pixels;
  const path = scratchPath('.tif');
  const memory = await gdal.drivers.get('MEM').createAsync('', width, height, 4, 'Byte');
  try {
    memory.srs = getCrs(place.crs).srs;
    const [minx, miny, maxx, maxy] = place.box;
    memory.geoTransform = [minx, (maxx - minx) / width, 0, maxy, 0, (miny - maxy) / height];
    const bands = [1, 2, 3, 4].map((number) => memory.bands.get(number));
    for (const [index, band] of bands.entries()) {
      const interleaved = { pixel_space: 4, line_space: 4 * width, offset: index };
      await band.pixels.writeAsync(0, 0, width, height, rgba, interleaved);
    }
    const options = ['-of', 'GTiff', '-co', 'COMPRESS=DEFLATE', '-co', 'PREDICTOR=2', '-co', 'TILED=YES'];
    const colors = ['red', 'green', 'blue', 'alpha'].flatMap((color, index) => [
      `-colorinterp_${index + 1}`,
      color,
    ]);
    const copy = await gdal.translateAsync(path, memory, [...options, ...colors]);
    copy.close();
    return gdal.vsimem.release(path);
  } catch (error) {
    throw new TaskFailure('internal', 'The GeoTIFF could not be written.', String(error));
  } finally {
    memory.close();
  }
}

/** Whether every pixel is opaque. */
export function isOpaque(rgba: Uint8Array): boolean {
  for (let at = 3; at < rgba.byteLength; at += 4) if (rgba[at] !== 255) return false;
  return true;
}

/** True when every pixel is fully transparent. */
export function isEmpty(rgba: Uint8Array): boolean {
  for (let at = 3; at < rgba.byteLength; at += 4) if (rgba[at] !== 0) return false;
  return true;
}
