import type { Feature, FeatureCollection } from 'geojson';
import { type GeoJSONSource, type Map as MapLibreMap, Popup } from 'maplibre-gl';
import type { FeaturesData } from '../../core/catalog/page-data.js';
import { computeBounds, findClosestZoom, viewBounds } from './bounds.js';
import { propertyList } from './inspect.js';
import { addStyled, FEATURES_SOURCE } from './layers.js';
import type { MapColors } from './theme.js';

/**
 * Draws the features of this page from GeoJSON and ties them to the rows of the table: pointing at one marks
 * the other. Features are numbered as they come, which is the order of the rows.
 */
export function showPageFeatures(
  map: MapLibreMap,
  fetched: readonly Feature[],
  data: FeaturesData,
  colors: MapColors,
): void {
  const features = numbered(fetched);
  const collection: FeatureCollection = { type: 'FeatureCollection', features };
  map.addSource(FEATURES_SOURCE, { type: 'geojson', data: collection });
  const ids = addStyled(map, { source: FEATURES_SOURCE, style: data.style, colors });
  tie(map, ids, features);
}

/** Features of a GeoJSON document. Rejects with a message for the reader. */
export async function fetchFeatures(url: string): Promise<Feature[]> {
  const response = await fetch(url, { headers: { accept: 'application/geo+json, application/json' } });
  if (!response.ok) throw new Error(`the features could not be loaded (${response.status})`);
  const document = (await response.json()) as Feature | FeatureCollection;
  return document.type === 'FeatureCollection' ? document.features : [document];
}

function numbered(features: readonly Feature[]): Feature[] {
  return features.map((feature, index) => ({ ...feature, id: index }));
}

function tie(map: MapLibreMap, layers: string[], features: readonly Feature[]): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const marker = new Marker(map, rows);
  map.on('mousemove', ({ point }) => {
    const index = map.queryRenderedFeatures(point, { layers })[0]?.id as number | undefined;
    map.getCanvas().style.cursor = index === undefined ? '' : 'pointer';
    marker.mark(index);
  });
  map.on('mouseout', () => marker.mark(undefined));
  map.on('click', ({ point, lngLat }) => {
    const index = map.queryRenderedFeatures(point, { layers })[0]?.id as number | undefined;
    if (index === undefined) return;
    rows[index]?.scrollIntoView({ block: 'nearest' });
    const box = document.createElement('div');
    box.className = 'popup';
    box.append(propertyList(features[index]?.properties ?? {}));
    new Popup({ maxWidth: '20rem' }).setLngLat(lngLat).setDOMContent(box).addTo(map);
  });
  for (const row of rows) {
    const index = Number(row.dataset.row);
    row.addEventListener('mouseenter', () => marker.mark(index));
    row.addEventListener('mouseleave', () => marker.mark(undefined));
    row.addEventListener('focusin', () => marker.mark(index));
    row.addEventListener('click', (event) => {
      if (event.target instanceof HTMLAnchorElement) return;
      const box = computeBounds([features[index]?.geometry ?? null]);
      if (box)
        map.fitBounds(viewBounds(box), {
          padding: 32,
          maxZoom: findClosestZoom(box),
          duration: reducedMotion() ? 0 : 400,
        });
    });
  }
}

function reducedMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** Marks one feature and its row at a time. */
class Marker {
  #current: number | undefined;

  constructor(
    readonly map: MapLibreMap,
    readonly rows: readonly HTMLElement[],
  ) {}

  mark(index: number | undefined): void {
    if (index === this.#current) return;
    this.#set(this.#current, false);
    this.#current = index;
    this.#set(index, true);
  }

  #set(index: number | undefined, hover: boolean): void {
    if (index === undefined) return;
    this.rows[index]?.classList.toggle('is-marked', hover);
    if (this.map.getSource<GeoJSONSource>(FEATURES_SOURCE)) {
      this.map.setFeatureState({ source: FEATURES_SOURCE, id: index }, { hover });
    }
  }
}
