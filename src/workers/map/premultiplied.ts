import { promisify } from 'node:util';
import type { Image } from '@mapnik/mapnik';

/** Mapnik leaves its canvas not premultiplied after each call, but expects it premultiplied before. */
export async function premultiply(image: Image): Promise<void> {
  if (!image.premultiplied()) await promisify(image.premultiply.bind(image))();
}

export async function demultiply(image: Image): Promise<void> {
  if (image.premultiplied()) await promisify(image.demultiply.bind(image))();
}
