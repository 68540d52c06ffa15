import type { StyleLayer } from './model.js';

/** What a type of style layers declares. Its symbolizers, swatch and translations are found by the tables that name it. */
export interface LayerType {
  /** What it draws: the source of the style specification that its layers need. */
  readonly source: 'vector' | 'raster' | 'raster-dem';
  /** Esri's drawing information can say it. */
  readonly inDrawingInfo?: boolean;
  /** It draws a point at every vertex of lines and polygons. */
  readonly atVertices?: boolean;
  /** Marks and labels: drawn above all else, over the edge of a tile, and without a swatch where they have no icon. */
  readonly isMark?: boolean;
  /** Drawn by ourselves as a surface, not by Mapnik. */
  readonly isSurface?: boolean;
}

/** Every type of layers that a style may have, in the order in which they are told. */
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

/** The types that draw features, or those that draw rasters. */
export function layerTypesFor(data: 'vector' | 'raster'): string[] {
  const types = Object.entries(LAYER_TYPES);
  return types
    .filter(([, { source }]) => (source === 'vector') === (data === 'vector'))
    .map(([name]) => name);
}

/** What a layer of this type draws; features for a type that is none. */
export function getLayerSourceType(type: string): LayerType['source'] {
  return Object.hasOwn(LAYER_TYPES, type) ? LAYER_TYPES[type as StyleLayer['type']].source : 'vector';
}
