import { createHash } from 'node:crypto';
import { type MapStyle, styleText } from '../../core/styles/model.js';

const tags = new WeakMap<MapStyle, string>();

/**
 * Key of the rendering of a style, the same in every process and server. Empty for a default style, which depends on
 * the collection and the release, and these are in cache keys anyway.
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
