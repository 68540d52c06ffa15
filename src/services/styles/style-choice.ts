import type { RasterCollection, VectorCollection } from '../../core/catalog/collection.js';

/** Identifier of the active style. */
export const DEFAULT_STYLE = 'default';

/** The collection in the style with that identifier. Undefined if there is no such style. */
export function styled<C extends VectorCollection | RasterCollection>(
  collection: C,
  styleId: string,
): C | undefined {
  if (styleId === DEFAULT_STYLE) return collection;
  const style = collection.styles?.find(({ id }) => id === styleId);
  return style && { ...collection, style: style.style };
}
