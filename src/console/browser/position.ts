import type { Feature, Point } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { pageMap } from './page-map.js';
import { loadPart } from './part.js';

/** Values of a raster at a place that is pressed on the map, or typed. */

const place = document.querySelector<HTMLElement>('[data-position-place]');
const form = place?.querySelector('form');
if (place && form) connect(place, form);

function connect(place: HTMLElement, form: HTMLFormElement): void {
  const field = form.querySelector<HTMLInputElement>('[name="coords"]')!;
  const action = form.getAttribute('action')!;
  const mark = () => void pageMap.then((map) => map && markPosition(map, readPosition(field.value)));
  const show = () => {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) query.set(name, String(value));
    const url = `${action}?${query}`;
    // The page of a position has it in its URL; the page of a collection stays the same.
    if (location.pathname.endsWith(action)) history.replaceState(null, '', `${location.pathname}?${query}`);
    mark();
    void loadPart(place, url, 'position');
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    show();
  });
  void pageMap.then((map) =>
    map?.on('click', ({ lngLat }) => {
      const { lng, lat } = lngLat.wrap();
      field.value = `${lng.toFixed(5)} ${lat.toFixed(5)}`;
      show();
    }),
  );
  if (field.value) mark();
}

/** Longitude and latitude of `7.4 46.9` or `POINT(7.4 46.9)`; undefined for other text. */
function readPosition(text: string): [number, number] | undefined {
  const [lng, lat] = (text.match(/[+-]?[\d.]+(?:e[+-]?\d+)?/gi) ?? []).map(Number);
  if (lng === undefined || lat === undefined || !Number.isFinite(lng) || !Number.isFinite(lat))
    return undefined;
  return [lng, lat];
}

const SOURCE = 'position';

/** Draws a dot at a position, above all layers. */
function markPosition(map: MapLibreMap, position: [number, number] | undefined): void {
  if (!position) return;
  const data: Feature<Point> = {
    type: 'Feature',
    properties: {},
    geometry: { type: 'Point', coordinates: position },
  };
  const source = map.getSource<GeoJSONSource>(SOURCE);
  if (source) {
    void source.setData(data);
    return;
  }
  const add = () => {
    map.addSource(SOURCE, { type: 'geojson', data });
    map.addLayer({
      id: SOURCE,
      type: 'circle',
      source: SOURCE,
      paint: {
        'circle-radius': 6,
        'circle-color': '#d1495b',
        'circle-stroke-color': '#ffffff',
        'circle-stroke-width': 2,
      },
    });
  };
  if (map.isStyleLoaded()) add();
  else map.once('idle', () => markPosition(map, position));
}
