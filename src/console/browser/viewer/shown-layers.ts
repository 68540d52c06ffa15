import type { Map as MapLibreMap } from 'maplibre-gl';
import type { MapData, MapLayerData, ViewerData, ViewerLayerData } from '../../../core/catalog/page-data.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { DrawLayer } from '../draw.js';
import { type LayerIds, removeLayer } from '../layers.js';
import { onThisOrigin } from '../page.js';
import { buildCollectionsQuery, connectRemoval, type ViewerLayers } from './add-layers.js';
import type { ColorForms } from './layer-colors.js';
import type { LayerList } from './layer-list.js';
import { connectOptions } from './panel.js';
import type { TimeBar } from './time-bar.js';

/** Data of a page whose layers change while it is open. */
interface OpenData {
  readonly data: MapData & { readonly layers: MapLayerData[] };
  readonly viewer: ViewerData & { readonly layers: ViewerLayerData[] };
}

export interface ShownParts extends OpenData {
  readonly map: MapLibreMap;
  readonly ids: LayerIds;
  readonly draw: DrawLayer;
  readonly list: LayerList;
  readonly time: TimeBar;
  readonly colors: ColorForms;
}

/** Adds and removes layers of a map without affecting the other layers. */
export class ShownLayers implements ViewerLayers {
  constructor(private readonly parts: ShownParts) {}

  ids(): string[] {
    return this.parts.viewer.layers.map(({ id }) => id);
  }

  /** Rejects when the server does not have the collection. */
  async add(id: string): Promise<void> {
    const { data, viewer, ids, draw, list, time, colors } = this.parts;
    if (this.ids().length >= LIMITS.collectionsPerRequest)
      throw new Error(`A map has ${LIMITS.collectionsPerRequest} layers at most: remove one first.`);
    const { layer, about, row } = await this.#fetch(id);
    if (this.ids().includes(id)) return;
    data.layers.unshift(layer);
    viewer.layers.unshift(about);
    draw(layer);
    list.add(about, row, ids.get(id) ?? []);
    colors.add(row);
    connectOptions(row.querySelector<HTMLButtonElement>('[data-more]')!);
    connectRemoval(row, this);
    this.#changed(about.time !== null, time);
  }

  remove(id: string): void {
    const { map, data, viewer, ids, list, time, colors } = this.parts;
    const at = this.ids().indexOf(id);
    const [about] = viewer.layers.splice(at, 1);
    data.layers.splice(at, 1);
    colors.remove(id);
    list.remove(id);
    removeLayer(map, id, ids);
    this.#changed(about?.time !== null, time);
  }

  #changed(hasTime: boolean, time: TimeBar): void {
    history.replaceState(null, '', `${buildCollectionsQuery(this.ids())}${location.hash}`);
    if (hasTime) time.refresh();
  }

  /** Data of a collection, from the viewer page that shows only this collection. */
  async #fetch(id: string): Promise<{ layer: MapLayerData; about: ViewerLayerData; row: HTMLElement }> {
    const { baseUrl } = this.parts.viewer;
    const url = `${baseUrl}/ogc/maps/viewer?collections=${encodeURIComponent(id)}`;
    const answer = await fetch(onThisOrigin(url, baseUrl), { headers: { accept: 'text/html' } });
    if (!answer.ok) throw new Error(`The layer could not be loaded (${answer.status}).`);
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const [layer] = dataIn<MapData>(page, 'map-data').layers;
    const [about] = dataIn<ViewerData>(page, 'viewer-data').layers;
    const row = page.querySelector<HTMLElement>('[data-layer-row]');
    if (!layer || !about || !row) throw new Error('The layer cannot be drawn.');
    return { layer, about, row: document.importNode(row, true) };
  }
}

function dataIn<T>(page: Document, id: string): T {
  return JSON.parse(page.getElementById(id)!.textContent!) as T;
}
