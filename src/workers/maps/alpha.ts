import { promisify } from 'node:util';
import mapnik, { type Image } from '@mapnik/mapnik';

/** Mapnik leaves its canvas not premultiplied after each call, but expects it premultiplied before. */
export async function premultiply(image: Image): Promise<void> {
  if (!image.premultiplied()) await promisify(image.premultiply.bind(image))();
}

export async function demultiply(image: Image): Promise<void> {
  if (image.premultiplied()) await promisify(image.demultiply.bind(image))();
}

/** Puts pixels (RGBA, not premultiplied) of the size of the canvas over it. */
export async function putOver(
  canvas: Image,
  rgba: Uint8Array,
  { width, height }: { width: number; height: number },
): Promise<void> {
  const pixels = Buffer.from(rgba.buffer, rgba.byteOffset, rgba.byteLength);
  const image = mapnik.Image.fromBufferSync(width, height, pixels, { premultiplied: false });
  await premultiply(image);
  await premultiply(canvas);
  await promisify(canvas.composite.bind(canvas))(image, {});
}
