import type { Feature, Geometry } from 'geojson';
import type { GeoJSONSource, LayerSpecification, Map as MapLibreMap } from 'maplibre-gl';
import { type FeatureChange, keyOf } from '../../../client/index.js';
import type { LiveLayer } from '../../../core/catalog/page-data.js';
import { computeBounds, viewBounds } from '../bounds.js';
import { sourceId } from '../layers.js';
import { mapColors } from '../theme.js';

const SOURCE = 'live-changes';
/** Milliseconds that a change is marked, and between two readings of the tiles. */
const FLASH_MS = 4000;
const REFRESH_MS = 1000;
const MAX_FLASHES = 500;
const CLOSEST = 12;

/** Marks what changed on the map for a moment, and has the tiles read again. */
export class Flashes {
  readonly #marked = new Map<string, { feature: Feature; until: number }>();
  readonly #stale = new Set<string>();
  readonly #layers: ReadonlyMap<number, LiveLayer>;
  #loaded = false;

  constructor(
    private readonly map: MapLibreMap,
    element: HTMLElement,
    layers: readonly LiveLayer[],
  ) {
    this.#layers = new Map(layers.map((layer) => [layer.layerId, layer]));
    // A tile in the browser cache may be older than the change that is shown.
    map.setTransformRequest((url, type) => (type === 'Tile' ? { url, cache: 'no-cache' } : { url }));
    map.once('load', () => {
      const color = mapColors(element).highlight;
      map.addSource(SOURCE, { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
      for (const layer of markLayers(color)) map.addLayer(layer);
      this.#loaded = true;
      this.#draw();
    });
    setInterval(() => this.#tick(), REFRESH_MS / 4);
  }

  add(changes: readonly FeatureChange[]): void {
    for (const change of changes) {
      const layer = this.#layers.get(change.layerId);
      if (layer) this.#stale.add(sourceId(layer.id));
      this.#mark(change, FLASH_MS);
    }
    this.#draw();
  }

  /** Brings a change into view. */
  show(change: FeatureChange): void {
    const box = computeBounds([change.geometry as Geometry]);
    if (!box) return;
    this.#mark(change, 2 * FLASH_MS);
    this.#draw();
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.map.fitBounds(viewBounds(box), { padding: 48, maxZoom: CLOSEST, duration: still ? 0 : 400 });
  }

  /** Everything may have changed. */
  refreshAll(): void {
    for (const { id } of this.#layers.values()) this.#stale.add(sourceId(id));
  }

  #mark(change: FeatureChange, ms: number): void {
    if (!change.geometry) return;
    const { operation, geometry } = change;
    const feature: Feature = { type: 'Feature', geometry: geometry as Geometry, properties: { operation } };
    this.#marked.set(keyOf(change), { feature, until: performance.now() + ms });
    for (const key of this.#marked.keys()) {
      if (this.#marked.size <= MAX_FLASHES) break;
      this.#marked.delete(key);
    }
  }

  #draw(): void {
    if (!this.#loaded) return;
    const features = [...this.#marked.values()].map(({ feature }) => feature);
    void this.map.getSource<GeoJSONSource>(SOURCE)?.setData({ type: 'FeatureCollection', features });
  }

  #refreshed = 0;

  #tick(): void {
    const now = performance.now();
    const over = [...this.#marked].filter(([, { until }]) => until <= now);
    for (const [key] of over) this.#marked.delete(key);
    if (over.length > 0) this.#draw();
    if (!this.#loaded || this.#stale.size === 0 || now - this.#refreshed < REFRESH_MS) return;
    this.#refreshed = now;
    for (const source of this.#stale) if (this.map.getSource(source)) this.map.refreshTiles(source);
    this.#stale.clear();
  }
}

/** Deleted features are drawn as outlines. */
function markLayers(color: string): LayerSpecification[] {
  const present = ['!=', ['get', 'operation'], 'delete'] as never;
  const points = ['==', ['geometry-type'], 'Point'] as never;
  return [
    {
      id: `${SOURCE}/fill`,
      type: 'fill',
      source: SOURCE,
      filter: ['all', present, ['==', ['geometry-type'], 'Polygon']] as never,
      paint: { 'fill-color': color, 'fill-opacity': 0.4 },
    },
    {
      id: `${SOURCE}/line`,
      type: 'line',
      source: SOURCE,
      filter: ['!=', ['geometry-type'], 'Point'] as never,
      paint: { 'line-color': color, 'line-width': 3 },
    },
    {
      id: `${SOURCE}/point`,
      type: 'circle',
      source: SOURCE,
      filter: points,
      paint: {
        'circle-radius': 9,
        'circle-color': color,
        'circle-opacity': ['case', present, 0.45, 0] as never,
        'circle-stroke-color': color,
        'circle-stroke-width': 2.5,
      },
    },
  ];
}
