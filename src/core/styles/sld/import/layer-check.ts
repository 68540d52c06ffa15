import { type StyleSpecification, validateStyleMin } from '@maplibre/maplibre-gl-style-spec';
import { LAYER_TYPES } from '../../layer-types.js';
import type { StyleLayer } from '../../model.js';
import type { SldReport } from '../report.js';

/** Layers that are valid by the style specification; invalid ones are reported. */
export function checkedLayers(layers: readonly StyleLayer[], report: SldReport): StyleLayer[] {
  const style = {
    version: 8,
    sources: {
      vector: { type: 'vector', url: 'x:' },
      raster: { type: 'raster', url: 'x:' },
      'raster-dem': { type: 'raster-dem', url: 'x:' },
    },
    glyphs: 'x:{fontstack}/{range}',
    layers: layers.map((layer) => ({ ...layer, ...layerSource(layer) })),
  } as unknown as StyleSpecification;
  const wrong = new Map<number, string>();
  for (const { message } of validateStyleMin(style)) {
    const [, index] = /^layers\[(\d+)\]/.exec(message) ?? [];
    if (index !== undefined) wrong.set(Number(index), message);
  }
  for (const [index, message] of wrong) {
    report.ruleName = (layers[index]!.metadata as Record<string, string> | undefined)?.['graticule:title'];
    report.error(layers[index]!.type, message.replace(/^layers\[\d+\]\.?/, ''));
  }
  return layers.filter((_, i) => !wrong.has(i));
}

function layerSource({ type }: StyleLayer): { source: string; 'source-layer'?: string } {
  const source = LAYER_TYPES[type].source;
  return source === 'vector' ? { source, 'source-layer': 'x' } : { source };
}
