import { createHash } from 'node:crypto';
import type { VectorSource } from '../sources/vector-source.js';

const images = new WeakMap<VectorSource, string>();

/**
 * Names the form in which features show the rows of a table. Layers of one table that agree in it have the same features,
 * so an event of one is an event of the other.
 */
export function rowImage(source: VectorSource & { statedSrid?: number }): string {
  let image = images.get(source);
  if (image === undefined) {
    const { geometryColumn, idColumn, statedSrid = 0, fields } = source;
    const names = fields.map(({ name, sqlType, type }) => [name, sqlType ?? type]);
    const parts = JSON.stringify([geometryColumn, idColumn, statedSrid, names]);
    image = createHash('sha1').update(parts).digest('hex').slice(0, 16);
    images.set(source, image);
  }
  return image;
}
