import { hash } from 'node:crypto';
import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Format } from '../../core/http/media.js';

/**
 * Strong entity tags of one feature. A tag names one representation (RFC 9110, 8.8.3): the stored row, the format and
 * the CRS. It is the same behind every host name.
 */
export function itemTag(row: string, format: Format, crs: { uri: string }): string {
  return hash('sha1', `${row}\u0000${format.name}\u0000${crs.uri}`).slice(0, 16);
}

/** Whether a tag names any representation of the row: whichever a client read, it read this row. */
export function namesRow(
  tags: readonly string[],
  row: string,
  collection: VectorCollection,
  formats: readonly Format[],
): boolean {
  return formats.some((format) => collection.crs.some((crs) => tags.includes(itemTag(row, format, crs))));
}
