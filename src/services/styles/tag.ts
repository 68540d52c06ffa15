import { createHash } from 'node:crypto';
import { type MapStyle, styleText } from '../../core/styles/model.js';

const tags = new WeakMap<MapStyle, string>();

/**
 * Names what a style draws, in every process and server. Empty for one that nobody put: it follows from the collection
 * and from the release, which keys have in them anyway.
 */
export function styleTag(style: MapStyle): string {
  if (style.version === 0) return '';
  let tag = tags.get(style);
  if (tag === undefined) {
    tag = createHash('sha1').update(styleText(style)).digest('hex').slice(0, 12);
    tags.set(style, tag);
  }
  return tag;
}
