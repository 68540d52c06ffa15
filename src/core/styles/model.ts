import type {
  BackgroundLayerSpecification,
  LayerSpecification,
  StyleSpecification,
} from '@maplibre/maplibre-gl-style-spec';
import type { SldDiagnostic } from './sld/report.js';

type WithoutSource<T> = T extends unknown ? Omit<T, 'source' | 'source-layer'> : never;

/** A layer of a MapLibre style that draws the one collection that the style belongs to. */
export type StyleLayer = WithoutSource<Exclude<LayerSpecification, BackgroundLayerSpecification>>;

/** Style of a collection: layers of a MapLibre style, bottom first, which all draw that collection. */
export interface MapStyle {
  /** Version, counted from 0 for the default style. */
  readonly version: number;
  readonly layers: readonly StyleLayer[];
  /** Checked document of the layers, which can contain more than the drawn parts. */
  readonly document?: StyleDocument;
}

/** One of several styles of a collection. */
export interface NamedStyle {
  /** Identifier in URLs. */
  readonly id: string;
  readonly title: string;
  readonly style: MapStyle;
  /** Losses of its translation. */
  readonly diagnostics?: readonly SldDiagnostic[];
}

/** Translated style in a file next to the data. */
export interface FileStyle {
  readonly name: string;
  readonly isDefault: boolean;
  /** Checked layers; empty if the style cannot be drawn. */
  readonly layers: readonly StyleLayer[];
  readonly diagnostics: readonly SldDiagnostic[];
}

/** A whole MapLibre style document. */
export type StyleDocument = StyleSpecification;

/** Source name of the layers of a stored style. */
export const COLLECTION_SOURCE = 'collection';

/** Style of a layer that an operator set. */
export interface LayerStyle {
  readonly layerId: number;
  /** The kind of collection that it is for. */
  readonly kind: 'vector' | 'raster';
  /** Counts the changes of the layer: newer ones take the place of older ones. */
  readonly revision: number;
  /** Undefined for the default style of the collection. */
  readonly style: MapStyle | undefined;
}

const texts = new WeakMap<MapStyle, string>();

/** The layers as JSON, as tasks carry them: the same text for the same style. */
export function styleText(style: MapStyle): string {
  let text = texts.get(style);
  if (text === undefined) {
    text = JSON.stringify(style.layers);
    texts.set(style, text);
  }
  return text;
}
