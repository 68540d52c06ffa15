import { groupItems } from '../values/group-items.js';
import type { StyleLayer } from './model.js';

/** Layers of one filter draw the same features. The key is the filter as JSON, `null` for none. */
export function layersByFilter(layers: readonly StyleLayer[]): Map<string, StyleLayer[]> {
  return groupItems(layers, (layer) => JSON.stringify('filter' in layer ? (layer.filter ?? null) : null));
}

/** Legend title of the features of a layer, if the author or a translation set one. */
export function findLegendTitle({ metadata }: StyleLayer): string | undefined {
  const title = (metadata as Record<string, unknown> | undefined)?.['graticule:title'];
  return typeof title === 'string' ? title : undefined;
}
