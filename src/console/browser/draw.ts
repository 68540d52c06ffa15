import {
  type GeoJSONSource,
  Map as MapLibreMap,
  NavigationControl,
  ScaleControl,
  setWorkerUrl,
} from 'maplibre-gl';
import type { MapData } from '../../gateway/pages/page-data.js';
import { panelMargins, viewBounds } from './bounds.js';
import { graticule, type View } from './graticule.js';
import { inspect } from './inspect.js';
import { addLayers, type LayerIds, recolor } from './layers.js';
import { onThisOrigin } from './page.js';
import { showPageFeatures } from './rows.js';
import { connectSwitcher } from './switcher.js';
import { type MapColors, mapColors, onThemeChange } from './theme.js';

/** File name of the library's worker, set by the build. */
declare const WORKER_FILE: string;

declare global {
  interface Window {
    /** True once every visible tile is drawn; screenshot tests wait for it. */
    graticuleMapReady?: boolean;
  }
}

const WORLD: [number, number, number, number] = [-170, -60, 180, 78];

/** What a page does with its map once the layers are on it. */
export type MapControls = (map: MapLibreMap, data: MapData, ids: LayerIds) => void;

const PAGE_CONTROLS: MapControls = (map, data, ids) => {
  connectSwitcher(map, ids);
  inspect(map, data, ids);
};

export interface DrawOptions {
  /** Checkboxes and popup of an ordinary page when absent. */
  readonly controls?: MapControls;
  /** Nothing scrolls around the map: one finger moves it. */
  readonly alone?: boolean;
}

/** Makes the map of a page. Throws when the browser offers no WebGL. */
export function drawMap(
  element: HTMLElement,
  data: MapData,
  { controls = PAGE_CONTROLS, alone = false }: DrawOptions = {},
): MapLibreMap {
  setWorkerUrl(new URL(WORKER_FILE, import.meta.url).href);
  const colors = mapColors(element);
  const bounds = data.bounds ?? WORLD;
  const map = new MapLibreMap({
    container: element,
    style: { version: 8, sources: {}, layers: [background(colors)], ...symbols(data) },
    bounds: viewBounds(bounds),
    fitBoundsOptions: { padding: alone ? panelMargins(bounds, element.clientWidth) : 24, maxZoom: 14 },
    attributionControl: false,
    cooperativeGestures: !alone && !matchMedia('(pointer: fine)').matches,
    dragRotate: false,
    pitchWithRotate: false,
    maxZoom: 20,
    locale: { 'Map.Title': element.getAttribute('aria-label') ?? 'Map' },
  });
  map.touchZoomRotate.disableRotation();
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right');
  map.addControl(new ScaleControl({}), 'bottom-left');
  reportErrors(map);
  map.once('load', () => void fill(map, element, data, colors, controls));
  return map;
}

function background(colors: MapColors) {
  return { id: 'background', type: 'background', paint: { 'background-color': colors.water } } as const;
}

/** Where labels and icons come from; without icons on the map their sheet is not loaded. */
function symbols({ baseUrl, layers }: MapData): { glyphs: string; sprite?: string } {
  const maps = onThisOrigin(`${baseUrl}/ogc/maps`, baseUrl);
  const glyphs = `${maps}/fonts/{fontstack}/{range}.pbf`;
  const styles = JSON.stringify(layers.map((layer) => (layer.kind === 'vector' ? layer.style : [])));
  return /"(icon-image|[a-z-]+-pattern)"/.test(styles)
    ? { glyphs, sprite: `${maps}/sprites/default` }
    : { glyphs };
}

async function fill(
  map: MapLibreMap,
  element: HTMLElement,
  data: MapData,
  colors: MapColors,
  controls: MapControls,
): Promise<void> {
  addGraticule(map, colors);
  const ids = addLayers(map, data, colors);
  // Above a backdrop's land and below the data.
  const firstLayer = [...ids.values()].flat()[0];
  map.moveLayer('graticule', firstLayer);
  controls(map, data, ids);
  onThemeChange(() => recolor(map, mapColors(element)));
  element.dataset.mapState = 'ready';
  if (data.features) {
    const url = onThisOrigin(data.features.href, data.baseUrl);
    await showPageFeatures(map, url, data.features, colors).catch((error: Error) =>
      tell(`${error.message}.`),
    );
  }
  map.on('idle', () => {
    element.dataset.mapState = 'idle';
    window.graticuleMapReady = true;
  });
  map.triggerRepaint();
}

function addGraticule(map: MapLibreMap, colors: MapColors): void {
  map.addSource('graticule', { type: 'geojson', data: graticule(viewOf(map)) });
  map.addLayer({
    id: 'graticule',
    type: 'line',
    source: 'graticule',
    paint: { 'line-color': colors.grid, 'line-width': 0.6 },
  });
  map.on('moveend', () => void map.getSource<GeoJSONSource>('graticule')?.setData(graticule(viewOf(map))));
}

function viewOf(map: MapLibreMap): View {
  const bounds = map.getBounds();
  return {
    west: bounds.getWest(),
    south: bounds.getSouth(),
    east: bounds.getEast(),
    north: bounds.getNorth(),
  };
}

/** One layer that fails leaves the others on the map; the reader is told once. */
function reportErrors(map: MapLibreMap): void {
  map.on('error', ({ error }) => {
    console.warn('map:', error);
    tell('A part of the map could not be loaded.');
  });
}

function tell(text: string): void {
  const message = document.querySelector<HTMLElement>('.map-message');
  if (!message) return;
  message.textContent = text;
  message.hidden = false;
}
