import { COLLECTION_SOURCE, type MapStyle, type StyleDocument } from './model.js';

/** The document of a style that was not written as one: the layers draw the collection. */
export function styleDocument({
  id,
  kind,
  style,
}: {
  id: string;
  kind: 'vector' | 'raster';
  style: MapStyle;
}): StyleDocument {
  const source = { source: COLLECTION_SOURCE, ...(kind === 'vector' ? { 'source-layer': id } : {}) };
  const layers = style.layers.map((layer) => ({ ...layer, ...source }));
  return { version: 8, sources: { [COLLECTION_SOURCE]: { type: kind } }, layers } as StyleDocument;
}
