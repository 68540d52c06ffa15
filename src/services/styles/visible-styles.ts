import type { VectorCollection } from '../../core/catalog/collection.js';
import { defaultStyle } from '../../core/styles/default-style.js';
import { styleFacts } from '../../core/styles/facts.js';
import type { MapStyle } from '../../core/styles/model.js';

const texts = new WeakMap<object, string>();

/** Styles for callers who cannot read some attributes. Parts that would reveal these are omitted. */
export function stylesWithout(
  { id, source, style, styles, featureCount, extent84 }: VectorCollection,
  hidden: readonly string[],
): Pick<VectorCollection, 'style' | 'styles' | 'unreadStyles'> {
  const own = tellsHidden(style, style, hidden)
    ? defaultStyle(source.geometryType, id, { count: featureCount, extent84 })
    : style;
  const others = styles?.filter((one) => !tellsHidden(one, one.style, hidden));
  // Diagnostics of an unread style can mention any attribute.
  return { style: own, ...(others ? { styles: others } : {}), unreadStyles: [] };
}

/** Whether it names one of the attributes, or may read any. */
function tellsHidden(part: object, style: MapStyle, hidden: readonly string[]): boolean {
  if (styleFacts(style).names === undefined) return true;
  let text = texts.get(part);
  if (text === undefined) texts.set(part, (text = JSON.stringify(part)));
  return hidden.some((name) => text.includes(inText(name)));
}

/** The name in a JSON text: as a separate attribute, in braces, or in words. */
const inText = (name: string) => JSON.stringify(name).slice(1, -1);
