import type { StyleLayer } from './model.js';

/** Properties of a type of style layer. Tables elsewhere define its symbolizers, swatch and translations. */
export interface LayerType {
  /** Type of the source that layers of this type need, as the style specification names it. */
  readonly source: 'vector' | 'raster' | 'raster-dem';
  /** Esri's drawing information can say it. */
  readonly inDrawingInfo?: boolean;
  /** It draws a point at every vertex of lines and polygons. */
  readonly atVertices?: boolean;
  /** Marks and labels: drawn above all else, over the edge of a tile, and without a swatch where they have no icon. */
  readonly isMark?: boolean;
  /** Whether Graticule draws the layer itself as a surface, without Mapnik. */
  readonly isSurface?: boolean;
}

/** All supported types of style layers, in the order in which texts list them. */
export const LAYER_TYPES: Readonly<Record<StyleLayer['type'], LayerType>> = {
  fill: { source: 'vector', inDrawingInfo: true },
  line: { source: 'vector', inDrawingInfo: true },
  circle: { source: 'vector', inDrawingInfo: true, atVertices: true },
  symbol: { source: 'vector', inDrawingInfo: true, isMark: true },
  heatmap: { source: 'vector', isSurface: true },
  'fill-extrusion': { source: 'vector' },
  raster: { source: 'raster' },
  hillshade: { source: 'raster-dem' },
  'color-relief': { source: 'raster-dem' },
};

/** Layer types that draw features, or those that draw rasters. */
export function layerTypesFor(data: 'vector' | 'raster'): string[] {
  const types = Object.entries(LAYER_TYPES);
  return types
    .filter(([, { source }]) => (source === 'vector') === (data === 'vector'))
    .map(([name]) => name);
}

/** Source type of a layer type; `vector` for unknown types. */
export function getLayerSourceType(type: string): LayerType['source'] {
  return Object.hasOwn(LAYER_TYPES, type) ? LAYER_TYPES[type as StyleLayer['type']].source : 'vector';
}
