import { type MapGeoJSONFeature, type Map as MapLibreMap, type PointLike, Popup } from 'maplibre-gl';
import type { MapData, MapLayerData } from '../../core/catalog/page-data.js';
import { filledTitle, labelled, type PopupTemplate } from '../../core/features/popup.js';
import type { LayerIds } from './layers.js';
import { onThisOrigin } from './page.js';

export interface Point {
  x: number;
  y: number;
}

const MAX_PROPERTIES = 40;
const MAX_FEATURES = 4;
const MAX_TEXT = 300;
/** Pixels around the pointer in which thin lines and points are still met. */
const REACH = 4;

/** Highlights the feature under the pointer, and shows its properties on a click. */
export function addInspection(map: MapLibreMap, data: MapData, ids: LayerIds): void {
  const cardsAt = pointAtFeatures(map, data, ids);
  map.on('click', ({ point, lngLat }) => {
    const cards = cardsAt(point);
    if (cards.length === 0) return;
    const box = document.createElement('div');
    box.className = 'popup';
    box.append(...cards);
    new Popup({ maxWidth: '20rem' }).setLngLat(lngLat).setDOMContent(box).addTo(map);
  });
}

/** Highlights the feature under the pointer. Returns a function for the features at a point of the map's element. */
export function pointAtFeatures(
  map: MapLibreMap,
  data: MapData,
  ids: LayerIds,
  templateOf: (id: string) => PopupTemplate | null | undefined = () => undefined,
): (point: Point) => HTMLElement[] {
  const highlight = new Highlight(map);
  const at = (point: Point) => {
    // Layers come and go.
    const vectorIds = [...layersByIds(data, ids).keys()].filter((id) => map.getLayer(id)?.type !== 'raster');
    if (vectorIds.length === 0) return [];
    const exact = map.queryRenderedFeatures([point.x, point.y], { layers: vectorIds });
    return exact.length > 0 ? exact : map.queryRenderedFeatures(around(point), { layers: vectorIds });
  };
  map.on('mousemove', ({ point }) => {
    const [top] = at(point);
    map.getCanvas().style.cursor = top ? 'pointer' : '';
    highlight.show(top);
  });
  map.on('mouseout', () => highlight.show(undefined));
  return (point) => {
    const layers = layersByIds(data, ids);
    return distinct(at(point))
      .slice(0, MAX_FEATURES)
      .map((feature) => {
        const layer = layers.get(feature.layer.id)!;
        return featureCard(feature, layer, data.baseUrl, templateOf(layer.id) ?? undefined);
      });
  };
}

/** Layers of the page by those of the map. */
function layersByIds(data: MapData, ids: LayerIds): Map<string, MapLayerData> {
  return new Map(data.layers.flatMap((layer) => (ids.get(layer.id) ?? []).map((id) => [id, layer] as const)));
}

function around({ x, y }: Point): [PointLike, PointLike] {
  return [
    [x - REACH, y - REACH],
    [x + REACH, y + REACH],
  ];
}

/** Sets the hover state of one feature at a time; features without an id cannot have one. */
class Highlight {
  #current: MapGeoJSONFeature | undefined;

  constructor(readonly map: MapLibreMap) {}

  show(feature: MapGeoJSONFeature | undefined): void {
    if (same(feature, this.#current)) return;
    this.#set(this.#current, false);
    this.#current = feature;
    this.#set(feature, true);
  }

  #set(feature: MapGeoJSONFeature | undefined, hover: boolean): void {
    const id = findId(feature);
    if (feature === undefined || id === undefined) return;
    const { source, sourceLayer } = feature;
    this.map.setFeatureState({ id, source, ...(sourceLayer ? { sourceLayer } : {}) }, { hover });
  }
}

function same(a: MapGeoJSONFeature | undefined, b: MapGeoJSONFeature | undefined): boolean {
  return a?.source === b?.source && findId(a) === findId(b) && findId(a) !== undefined;
}

/** Integers beyond the range of other numbers have a type that JSON lacks. */
const withoutBigInts = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** MapLibre Tiles of features without an id have NaN there. */
function findId(feature: MapGeoJSONFeature | undefined): string | number | undefined {
  return Number.isNaN(feature?.id) ? undefined : feature?.id;
}

/** A feature cut by tile edges, or drawn as fill and edge, is met several times. */
function distinct(features: readonly MapGeoJSONFeature[]): MapGeoJSONFeature[] {
  const keys = new Set<string>();
  return features.filter((feature) => {
    const key = `${feature.source} ${findId(feature) ?? JSON.stringify(feature.properties, withoutBigInts)}`;
    if (keys.has(key)) return false;
    keys.add(key);
    return true;
  });
}

/** A part of a popup under a title. */
export function titledCard(title: string, ...content: HTMLElement[]): HTMLElement {
  const card = document.createElement('section');
  const heading = document.createElement('h3');
  heading.append(isolated(title));
  card.append(heading, ...content);
  return card;
}

function featureCard(
  feature: MapGeoJSONFeature,
  layer: MapLayerData,
  baseUrl: string,
  template: PopupTemplate = { title: null, fields: [] },
): HTMLElement {
  const { properties } = feature;
  const title = template.title === null ? '' : filledTitle(template.title, properties);
  const card = titledCard(title.trim() || layer.title, propertyList(labelled(template, properties)));
  const id = findId(feature);
  if (layer.kind === 'vector' && layer.items && id !== undefined) {
    const link = document.createElement('a');
    link.href = onThisOrigin(`${layer.items}/${encodeURIComponent(String(id))}?f=html`, baseUrl);
    link.textContent = `Feature ${id}`;
    card.append(link);
  }
  return card;
}

/** Names and values as text nodes: data is never parsed as markup. */
export function propertyList(properties: Readonly<Record<string, unknown>>): HTMLElement {
  const list = document.createElement('dl');
  for (const [name, value] of Object.entries(properties).slice(0, MAX_PROPERTIES)) {
    if (value === null || value === '') continue;
    const term = document.createElement('dt');
    term.append(isolated(name));
    const description = document.createElement('dd');
    description.append(isolated(formatText(value)));
    list.append(term, description);
  }
  return list;
}

function formatText(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** Keeps right-to-left text from turning its surroundings. */
function isolated(text: string): HTMLElement {
  const element = document.createElement('bdi');
  element.textContent = text;
  return element;
}
