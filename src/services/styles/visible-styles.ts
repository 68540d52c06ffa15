import type { VectorCollection } from '../../core/catalog/collection.js';
import { defaultStyle } from '../../core/styles/default-style.js';
import { styleFacts } from '../../core/styles/facts.js';
import type { MapStyle } from '../../core/styles/model.js';

const texts = new WeakMap<object, string>();

/** Styles as one sees them who may not read some attributes: what tells of these is left out. */
export function stylesWithout(
  { id, source, style, styles }: VectorCollection,
  hidden: readonly string[],
): Pick<VectorCollection, 'style' | 'styles' | 'unreadStyles'> {
  const own = tellsHidden(style, style, hidden) ? defaultStyle(source.geometryType, id) : style;
  const others = styles?.filter((one) => !tellsHidden(one, one.style, hidden));
  // What is said of a style that was not read may name anything.
  return { style: own, ...(others ? { styles: others } : {}), unreadStyles: [] };
}

/** Whether it names one of the attributes, or may read any. */
function tellsHidden(part: object, style: MapStyle, hidden: readonly string[]): boolean {
  if (styleFacts(style).names === undefined) return true;
  let text = texts.get(part);
  if (text === undefined) texts.set(part, (text = JSON.stringify(part)));
  return hidden.some((name) => text.includes(inText(name)));
}

/** The name as it stands within a text of JSON: as an attribute of its own, in braces, or in words. */
const inText = (name: string) => JSON.stringify(name).slice(1, -1);
