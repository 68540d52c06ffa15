import { PNG_FORMAT } from '../../../core/http/media.js';
import type { Exchange } from '../../../core/http/operation.js';
import { LEGEND_ZOOM, legendEntries } from '../../../core/maps/legend/entries.js';
import { SYMBOL, symbolPngs } from '../../../services/maps/legend.js';
import { mapLayerType } from './map-documents.js';
import type { DrawnLayer, MapDeps } from './map-layers.js';

/** Images of the symbols of a layer. */
export async function createLegendDocument(x: Exchange, { pools }: MapDeps, layer: DrawnLayer) {
  const entries = legendEntries(layer);
  const pictures = await symbolPngs(x, pools, entries, LEGEND_ZOOM);
  return {
    layerId: layer.layerId,
    layerName: layer.title,
    layerType: mapLayerType(layer),
    minScale: 0,
    maxScale: 0,
    legend: entries.map(({ label }, i) => ({
      label,
      url: `${layer.layerId}-${i}`,
      imageData: Buffer.from(pictures[i] ?? []).toString('base64'),
      contentType: PNG_FORMAT.mediaType,
      height: SYMBOL,
      width: SYMBOL,
    })),
  };
}
