import type { Map as MapLibreMap } from 'maplibre-gl';
import type { ViewerData, ViewerLayerData } from '../../../core/catalog/page-data.js';
import type { Box } from '../../../core/geometry/box.js';
import { panelMargins, viewBounds } from '../bounds.js';
import { type LayerIds, raiseLayer } from '../layers.js';
import { OPACITY_PROPERTIES, scaledOpacity } from './opacity.js';
import type { LayerState } from './permalink.js';

/** One layer of the list with its part of the page. */
interface Row {
  readonly layer: ViewerLayerData;
  readonly element: HTMLElement;
  readonly box: HTMLInputElement;
  readonly opacity: HTMLInputElement;
  /** Style layers on the map, bottom first. */
  readonly ids: readonly string[];
}

function buildRow(layer: ViewerLayerData, element: HTMLElement, ids: readonly string[]): Row {
  const box = element.querySelector<HTMLInputElement>('[data-layer]')!;
  const opacity = element.querySelector<HTMLInputElement>('[data-opacity]')!;
  return { layer, element, box, opacity, ids };
}

/** The list of layers with their visibility, opacity and order. */
export class LayerList {
  /** Top first. */
  #rows: Row[];
  readonly #list = document.querySelector<HTMLElement>('[data-layers]');
  /** Opacities as the styles have them. */
  readonly #own = new Map<string, unknown>();
  readonly #listeners: (() => void)[] = [];

  constructor(
    private readonly map: MapLibreMap,
    data: ViewerData,
    ids: LayerIds,
  ) {
    this.#rows = data.layers.flatMap((layer) => {
      const element = this.#list?.querySelector<HTMLElement>(`[data-layer-row="${CSS.escape(layer.id)}"]`);
      return element ? [buildRow(layer, element, ids.get(layer.id) ?? [])] : [];
    });
    for (const row of this.#rows) this.#connect(row);
    this.#markEnds();
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Adds a layer on top of the others. */
  add(layer: ViewerLayerData, element: HTMLElement, ids: readonly string[]): void {
    const row = buildRow(layer, element, ids);
    this.#rows.unshift(row);
    this.#changed(() => {
      this.#arrange();
      this.#connect(row);
    });
  }

  /** Leaves a layer out. */
  remove(id: string): void {
    const row = this.#rows.find(({ layer }) => layer.id === id);
    if (!row) return;
    this.#rows = this.#rows.filter((one) => one !== row);
    this.#changed(() => {
      row.element.remove();
      this.#markEnds();
      this.#count();
    });
  }

  isShown(id: string): boolean {
    return this.#rows.some(({ layer, box }) => layer.id === id && box.checked);
  }

  /** Those that are shown, top first. */
  state(): LayerState[] {
    return this.#rows
      .filter(({ box }) => box.checked)
      .map(({ layer, opacity }) => ({ id: layer.id, opacity: Number(opacity.value) }));
  }

  /** Shows only these layers, in this order. Other layers keep their order below them. */
  restore(states: readonly LayerState[]): void {
    const places = new Map(states.map(({ id }, i) => [id, i]));
    const opacities = new Map(states.map(({ id, opacity }) => [id, opacity]));
    const findPlace = ({ layer }: Row) => places.get(layer.id) ?? states.length;
    this.#rows = [...this.#rows].sort((a, b) => findPlace(a) - findPlace(b));
    for (const row of this.#rows) {
      row.box.checked = places.has(row.layer.id);
      row.opacity.value = String(opacities.get(row.layer.id) ?? 100);
      this.#show(row);
      this.#fade(row);
    }
    this.#arrange();
  }

  #connect(row: Row): void {
    const { element, box, opacity, layer } = row;
    const button = (name: string) => element.querySelector<HTMLButtonElement>(`[${name}]`)!;
    box.hidden = false;
    box.addEventListener('change', () => this.#changed(() => this.#show(row)));
    opacity.addEventListener('input', () => this.#fade(row));
    opacity.addEventListener('change', () => this.#changed(() => this.#fade(row)));
    button('data-up').addEventListener('click', () => this.#changed(() => this.#move(row, -1)));
    button('data-down').addEventListener('click', () => this.#changed(() => this.#move(row, 1)));
    button('data-zoom').disabled = !layer.extent;
    button('data-zoom').addEventListener('click', () => {
      if (layer.extent) this.#zoomTo(layer.extent);
    });
    // A browser keeps the state of fields over a reload.
    this.#show(row);
    this.#fade(row);
  }

  #zoomTo(extent: Box): void {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const padding = panelMargins(extent, this.map.getContainer().clientWidth);
    this.map.fitBounds(viewBounds(extent), { padding, maxZoom: 14, duration: still ? 0 : 600 });
  }

  #changed(change: () => void): void {
    change();
    for (const listener of this.#listeners) listener();
  }

  #show({ ids, box, element }: Row): void {
    element.classList.toggle('is-off', !box.checked);
    for (const id of ids) this.map.setLayoutProperty(id, 'visibility', box.checked ? 'visible' : 'none');
    this.#count();
  }

  #count(): void {
    const count = document.querySelector('[data-layer-count]');
    if (count) count.textContent = `${this.state().length} of ${this.#rows.length}`;
  }

  #fade({ ids, opacity, element }: Row): void {
    const output = element.querySelector('[data-opacity-shown]');
    if (output) output.textContent = `${opacity.value} %`;
    for (const id of ids) {
      // Layers that highlight the feature under the pointer keep their opacity.
      if (id.includes('/hovered-')) continue;
      for (const name of OPACITY_PROPERTIES[this.map.getLayer(id)?.type ?? ''] ?? []) {
        const key = `${id} ${name}`;
        if (!this.#own.has(key)) this.#own.set(key, this.map.getPaintProperty(id, name as never));
        const value = scaledOpacity(this.#own.get(key), Number(opacity.value) / 100);
        this.map.setPaintProperty(id, name as never, value as never);
      }
    }
  }

  #move(row: Row, by: -1 | 1): void {
    const from = this.#rows.indexOf(row);
    const other = this.#rows[from + by];
    if (!other) return;
    this.#rows[from] = other;
    this.#rows[from + by] = row;
    const focused = document.activeElement;
    this.#arrange();
    // The button may have been moved, or be of no use any more.
    const next = row.element.querySelector<HTMLButtonElement>(by < 0 ? '[data-down]' : '[data-up]');
    if (focused instanceof HTMLButtonElement && focused.disabled) next?.focus();
    else if (focused instanceof HTMLElement) focused.focus();
  }

  /** Puts list and map into the order of the rows. */
  #arrange(): void {
    this.#list?.append(...this.#rows.map(({ element }) => element));
    for (const { ids } of [...this.#rows].reverse()) for (const id of ids) raiseLayer(this.map, id);
    this.#markEnds();
  }

  #markEnds(): void {
    this.#rows.forEach(({ element }, i) => {
      element.querySelector<HTMLButtonElement>('[data-up]')!.disabled = i === 0;
      element.querySelector<HTMLButtonElement>('[data-down]')!.disabled = i === this.#rows.length - 1;
    });
  }
}
