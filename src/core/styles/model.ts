import type {
  BackgroundLayerSpecification,
  LayerSpecification,
  StyleSpecification,
} from '@maplibre/maplibre-gl-style-spec';
import type { SldDiagnostic } from './sld/report.js';

type WithoutSource<T> = T extends unknown ? Omit<T, 'source' | 'source-layer'> : never;

/** A layer of a MapLibre style that draws the one collection that the style belongs to. */
export type StyleLayer = WithoutSource<Exclude<LayerSpecification, BackgroundLayerSpecification>>;

/** How a collection looks: the layers of a MapLibre style, bottom first, which all draw that collection. */
export interface MapStyle {
  /** Counts the changes; 0 is the default style, which nobody chose. */
  readonly version: number;
  readonly layers: readonly StyleLayer[];
  /** The checked document that they are of, where there is one: it may hold more than what is drawn. */
  readonly document?: StyleDocument;
}

/** One of several styles of a collection. */
export interface NamedStyle {
  /** Identifier in URLs. */
  readonly id: string;
  readonly title: string;
  readonly style: MapStyle;
  /** What its translation lost. */
  readonly diagnostics?: readonly SldDiagnostic[];
}

/** A style that a file holds beside its data, translated. */
export interface FileStyle {
  readonly name: string;
  readonly isDefault: boolean;
  /** Checked; none when it cannot be drawn. */
  readonly layers: readonly StyleLayer[];
  readonly diagnostics: readonly SldDiagnostic[];
}

/** A whole MapLibre style document. */
export type StyleDocument = StyleSpecification;

/** What the layers of a stored style name as their source. */
export const COLLECTION_SOURCE = 'collection';

/** The style of a layer that somebody put. */
export interface LayerStyle {
  readonly layerId: number;
  /** The kind of collection that it is for. */
  readonly kind: 'vector' | 'raster';
  /** Counts the changes of the layer: newer ones take the place of older ones. */
  readonly revision: number;
  /** Undefined for the style that the collection has by itself. */
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
