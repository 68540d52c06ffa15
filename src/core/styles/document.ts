import { COLLECTION_SOURCE, type MapStyle, type StyleDocument } from './model.js';

/** The document of a style; of one that was not written as a document, its layers draw the collection. */
export function styleDocument({
  id,
  kind,
  style,
}: {
  id: string;
  kind: 'vector' | 'raster';
  style: MapStyle;
}): StyleDocument {
  if (style.document) return style.document;
  const source = { source: COLLECTION_SOURCE, ...(kind === 'vector' ? { 'source-layer': id } : {}) };
  const layers = style.layers.map((layer) => ({ ...layer, ...source }));
  return { version: 8, sources: { [COLLECTION_SOURCE]: { type: kind } }, layers } as StyleDocument;
}
