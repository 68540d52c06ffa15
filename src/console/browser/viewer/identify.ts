import { type LngLat, type Map as MapLibreMap, Popup } from 'maplibre-gl';
import type { MapData, ViewerData } from '../../../core/catalog/page-data.js';
import { formatInstant } from '../../../core/values/instants.js';
import { type Point, pointAtFeatures, propertyList, titledCard } from '../inspect.js';
import type { LayerIds } from '../layers.js';
import type { LayerList } from './layer-list.js';
import { containsPosition, valuesAt } from './raster-value.js';
import type { TimeBar } from './time-bar.js';
import { findDrawnInstant } from './times.js';

/** Tells what is at a place: on a click, or in the middle of the map on Enter. */
export function identifyOn(
  map: MapLibreMap,
  data: MapData,
  viewer: ViewerData,
  ids: LayerIds,
  layers: LayerList,
  time: TimeBar,
): void {
  const findTemplate = (id: string) => viewer.layers.find((layer) => layer.id === id)?.popup;
  const cardsAt = pointAtFeatures(map, data, ids, findTemplate);
  const balloon = new Balloon(map);
  const identify = (point: Point, lngLat: LngLat, byKeyboard: boolean) => {
    const { lng, lat } = lngLat.wrap();
    const rasters = viewer.layers.filter(
      (layer) => layer.coverage && layers.isShown(layer.id) && containsPosition(layer, [lng, lat]),
    );
    const cards = cardsAt(point);
    if (cards.length === 0 && rasters.length === 0) return balloon.close();
    balloon.open(lngLat, cards, byKeyboard);
    const { signal } = balloon;
    for (const { title, coverage, time: times } of rasters) {
      const instant = findDrawnInstant(times, time.state());
      const about = instant === undefined ? {} : { Time: formatInstant(instant) };
      void valuesAt(coverage!, viewer.baseUrl, [lng, lat], time.state(), signal)
        .then((values) => values && titledCard(title, propertyList({ ...values, ...about })))
        .catch(() => undefined)
        .then((card) => balloon.add(signal, card));
    }
    balloon.expect(rasters.length);
  };
  map.on('click', ({ point, lngLat }) => identify(point, lngLat, false));
  connectKeys(map, balloon, identify);
}

function connectKeys(
  map: MapLibreMap,
  balloon: Balloon,
  identify: (point: Point, lngLat: LngLat, byKeyboard: boolean) => void,
): void {
  map.getContainer().append(crosshair());
  map.getCanvas().addEventListener('keydown', (event) => {
    if (event.key === 'Enter') {
      const { clientWidth, clientHeight } = map.getCanvas();
      identify({ x: clientWidth / 2, y: clientHeight / 2 }, map.getCenter(), true);
    } else if (event.key === 'Escape') {
      balloon.close();
    }
  });
}

/** Marks the middle of the map while its focus is that of a keyboard (style sheet). */
function crosshair(): HTMLElement {
  const mark = document.createElement('div');
  mark.className = 'crosshair';
  mark.setAttribute('aria-hidden', 'true');
  return mark;
}

/** The one popup of the viewer. Answers to an earlier question never get into it. */
class Balloon {
  #popup: Popup | undefined;
  #asking = new AbortController();
  #waiting = 0;
  readonly #box = document.createElement('div');

  constructor(private readonly map: MapLibreMap) {
    this.#box.className = 'popup';
    this.#box.tabIndex = -1;
    this.#box.setAttribute('role', 'dialog');
    this.#box.setAttribute('aria-label', 'Inspect');
    this.#box.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.close();
    });
  }

  /** Signal of the current request. */
  get signal(): AbortSignal {
    return this.#asking.signal;
  }

  open(lngLat: LngLat, cards: readonly HTMLElement[], takeFocus: boolean): void {
    this.close();
    this.#asking = new AbortController();
    this.#box.replaceChildren(...cards);
    this.#popup = new Popup({ maxWidth: '19rem', focusAfterOpen: false, closeOnClick: false })
      .setLngLat(lngLat)
      .setDOMContent(this.#box)
      .addTo(this.map);
    this.#popup.once('close', () => this.#closed());
    if (takeFocus) this.#box.focus();
  }

  /** Says that so many more cards may come. */
  expect(count: number): void {
    this.#waiting = count;
    this.#box.setAttribute('aria-busy', String(count > 0));
    if (count > 0 && this.#box.childElementCount === 0) this.#box.append(note('Looking…'));
  }

  add(signal: AbortSignal, card: HTMLElement | undefined): void {
    if (signal.aborted) return;
    this.#waiting -= 1;
    if (card) {
      this.#box.querySelector('.popup-note')?.remove();
      this.#box.append(card);
    }
    if (this.#waiting > 0) return;
    this.#box.setAttribute('aria-busy', 'false');
    const left = this.#box.querySelector('.popup-note');
    if (left) left.textContent = 'There is no data at this position.';
  }

  close(): void {
    this.#popup?.remove();
  }

  #closed(): void {
    this.#asking.abort();
    this.#popup = undefined;
    const active = document.activeElement;
    // The focused element was removed with the pop-up.
    if (active === document.body || this.#box.contains(active))
      this.map.getCanvas().focus({ preventScroll: true });
  }
}

function note(text: string): HTMLElement {
  const element = document.createElement('p');
  element.className = 'popup-note';
  element.textContent = text;
  return element;
}
