import type { Map as MapLibreMap, RasterTileSource, VectorTileSource } from 'maplibre-gl';
import type { MapData } from '../../../core/catalog/page-data.js';
import { appendQuery } from '../../../core/rasters/color-query.js';
import { sourceId } from '../layers.js';
import { onThisOrigin } from '../page.js';

interface Parameters {
  readonly datetime?: string | undefined;
  readonly colors?: string;
}

/** Parameters of the tiles of each layer: time, bands and colours. */
export class TileParameters {
  readonly #parameters = new Map<string, Parameters>();

  constructor(
    private readonly map: MapLibreMap,
    private readonly data: MapData,
  ) {}

  /** Changes parameters of a layer, and loads its tiles again if they differ. */
  set(id: string, change: Parameters): void {
    const before = this.#parameters.get(id) ?? {};
    const now = { ...before, ...change };
    this.#parameters.set(id, now);
    const query = formatQuery(now);
    if (query === formatQuery(before)) return;
    const layer = this.data.layers.find((one) => one.id === id);
    if (!layer) return;
    const source = this.map.getSource<RasterTileSource | VectorTileSource>(sourceId(id));
    source?.setTiles([appendQuery(onThisOrigin(layer.tiles, this.data.baseUrl), query)]);
  }

  /** Forgets a layer that is removed from the map. */
  remove(id: string): void {
    this.#parameters.delete(id);
  }
}

function formatQuery({ datetime, colors }: Parameters): string {
  const time = datetime === undefined ? '' : `datetime=${encodeURIComponent(datetime)}`;
  return [time, colors ?? ''].filter((part) => part !== '').join('&');
}
