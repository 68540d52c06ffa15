import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection, VectorCollection } from '../../../core/catalog/collection.js';
import { defaultStyle } from '../../../core/styles/default-style.js';
import type { StyleLayer } from '../../../core/styles/model.js';

/**
 * Style of the few features on a page. An archive has no style, so it gets the default style. The default style of
 * dense points has small symbols for tiles with all points: a page gets the default style for few points instead.
 */
export function getPageStyle(collection: Collection): readonly StyleLayer[] {
  if (!hasFeatures(collection)) return defaultStyle('Geometry', collection.id).layers;
  const { source, id, style } = collection;
  return hasDenseStyle(collection) ? defaultStyle(source.geometryType, id).layers : style.layers;
}

function hasDenseStyle({ source, id, featureCount, extent84, style }: VectorCollection): boolean {
  if (!source.geometryType.endsWith('Point')) return false;
  const dense = defaultStyle(source.geometryType, id, { count: featureCount, extent84 });
  return JSON.stringify(style.layers) === JSON.stringify(dense.layers);
}
