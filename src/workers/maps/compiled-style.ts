import { LRUCache } from 'lru-cache';
import { TaskFailure } from '../../core/errors/failure.js';
import { readDigits } from '../../core/styles/integer-texts.js';
import type { StyleLayer } from '../../core/styles/model.js';
import { isVisible } from '../../core/styles/values.js';
import { Fonts } from './fonts.js';
import type { Icons } from './icons.js';
import { LayerValues, type StylePlace } from './layer-values.js';
import { circleSymbolizers } from './symbolizers/circle.js';
import { fillSymbolizers } from './symbolizers/fill.js';
import { lineSymbolizers } from './symbolizers/line.js';
import { symbolSymbolizers } from './symbolizers/symbol.js';

/** One layer of a style that Mapnik draws, at one zoom. */
export interface CompiledLayer {
  readonly type: StyleLayer['type'];
  readonly values: LayerValues;
  readonly filter: ReturnType<LayerValues['filter']>;
  readonly sortKey: ReturnType<LayerValues['sortKey']>;
  /** True when expressions read the features' ids, so that features alike in attributes may look different. */
  readonly readsIds: boolean;
  /** Content of Mapnik's rule. */
  readonly symbolizers: string;
  readonly fontSets: ReadonlyMap<string, string>;
}

export interface StyleResources {
  facesOf(stack: readonly string[]): readonly string[];
  icons: Icons;
}

const CACHED = 500;
const compiled = new LRUCache<string, readonly CompiledLayer[]>({ max: CACHED });

/** The layers of a style (JSON) that show something at this zoom, bottom first. */
export function compiledStyle(
  style: string,
  place: StylePlace,
  resources: StyleResources,
): readonly CompiledLayer[] {
  const key = `${place.zoom} ${place.scale} ${place.tiled} ${style}`;
  let layers = compiled.get(key);
  if (!layers) {
    layers = compile(style, place, resources);
    compiled.set(key, layers);
  }
  return layers;
}

function compile(style: string, place: StylePlace, resources: StyleResources): CompiledLayer[] {
  try {
    return (readDigits(JSON.parse(style)) as StyleLayer[])
      .filter((layer) => isVisible(layer, place.zoom))
      .map((layer) => compileLayer(layer, place, resources));
  } catch (error) {
    throw new TaskFailure('invalid-input', 'The style cannot be used.', String(error));
  }
}

function compileLayer(
  layer: StyleLayer,
  place: StylePlace,
  { facesOf, icons }: StyleResources,
): CompiledLayer {
  const values = new LayerValues(layer, place);
  const fonts = new Fonts(facesOf);
  return {
    type: layer.type,
    values,
    filter: values.filter(),
    sortKey: values.sortKey(),
    readsIds: JSON.stringify(layer).includes('["id"]'),
    symbolizers: formatSymbolizers(values, fonts, icons),
    fontSets: fonts.sets,
  };
}

/**
 * Mapnik symbolizers of a layer, by its type. The server draws heatmaps itself, and raster layers are never drawn
 * here.
 */
const SYMBOLIZERS: {
  readonly [T in StyleLayer['type']]?: (values: LayerValues, fonts: Fonts, icons: Icons) => string;
} = {
  fill: (values, _fonts, icons) => fillSymbolizers(values, icons),
  'fill-extrusion': (values, _fonts, icons) => fillSymbolizers(values, icons),
  line: (values, _fonts, icons) => lineSymbolizers(values, icons),
  circle: circleSymbolizers,
  symbol: symbolSymbolizers,
  heatmap: () => '',
};

function formatSymbolizers(values: LayerValues, fonts: Fonts, icons: Icons): string {
  const { type } = values.layer;
  const write = SYMBOLIZERS[type];
  if (!write) throw new TypeError(`no layer type ${type}`);
  return write(values, fonts, icons);
}
