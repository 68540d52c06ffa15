import type { Feature } from 'geojson';
import {
  type GeoJSONSource,
  Map as MapLibreMap,
  type MapSourceDataEvent,
  NavigationControl,
  ScaleControl,
  setWorkerUrl,
} from 'maplibre-gl';
import type { MapData, MapLayerData } from '../../core/catalog/page-data.js';
import { addOwnBasemap, baseStyle, findGroundLayer } from './basemap.js';
import { computeBounds, findClosestZoom, panelMargins, viewBounds } from './bounds.js';
import { graticule, type MapView } from './graticule.js';
import { addInspection } from './inspect.js';
import { addLayer, addLayers, isDataSource, type LayerIds, recolor, withIcons } from './layers.js';
import { onThisOrigin } from './page.js';
import { connectDensePoints, countTiles } from './points/dense.js';
import { connectPrinting } from './print.js';
import { fetchFeatures, showPageFeatures } from './rows.js';
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

/** Adds a layer to the map above the others, and its ids to the list. */
export type DrawLayer = (layer: MapLayerData) => void;

/** Sets up a page's map after its layers were added. */
export type MapControls = (map: MapLibreMap, data: MapData, ids: LayerIds, draw: DrawLayer) => void;

const PAGE_CONTROLS: MapControls = (map, data, ids) => {
  connectSwitcher(map, ids);
  addInspection(map, data, ids);
};

export interface DrawOptions {
  /** The default controls if absent: checkboxes and pop-up. */
  readonly controls?: MapControls;
  /** Initial position; the extent of the data if absent. */
  readonly view?: { readonly center: [number, number]; readonly zoom: number } | undefined;
  /** Nothing scrolls around the map: one finger moves it. */
  readonly alone?: boolean;
}

/** Makes the map of a page, where its data is. Rejects when the browser offers no WebGL. */
export async function createPageMap(
  element: HTMLElement,
  page: MapData,
  { controls = PAGE_CONTROLS, alone = false, view }: DrawOptions = {},
): Promise<MapLibreMap> {
  countTiles();
  setWorkerUrl(new URL(WORKER_FILE, import.meta.url).href);
  const colors = mapColors(element);
  const [base, features] = await Promise.all([
    baseStyle(page.basemap, { ...symbols(page), colors, baseUrl: page.baseUrl }),
    pageFeatures(page),
  ]);
  const data = withIcons(page, base.iconPrefix);
  const box = computeBounds(features?.map(({ geometry }) => geometry) ?? []);
  const bounds = box ?? data.bounds ?? WORLD;
  const padding = alone ? panelMargins(bounds, element.clientWidth) : 24;
  const place = view ?? {
    bounds: viewBounds(bounds),
    fitBoundsOptions: { padding, maxZoom: box ? findClosestZoom(box) : 14 },
  };
  const map = new MapLibreMap({
    container: element,
    style: base.style,
    ...place,
    attributionControl: data.basemap && data.basemap.kind !== 'own' ? {} : false,
    cooperativeGestures: !alone && !matchMedia('(pointer: fine)').matches,
    dragRotate: false,
    pitchWithRotate: false,
    minZoom: oneWorld(element),
    maxZoom: 20,
    // The container has its own label: two regions with the same label cannot be distinguished.
    locale: { 'Map.Title': 'Map canvas' },
    ...(base.glyphsUrl && {
      transformRequest: (url: string, type?: string) => ({
        url: type === 'Glyphs' ? base.glyphsUrl!(url) : url,
      }),
    }),
  });
  map.touchZoomRotate.disableRotation();
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right');
  map.addControl(new ScaleControl({}), 'bottom-left');
  map.on('resize', () => void map.setMinZoom(oneWorld(element)));
  reportErrors(map);
  connectPrinting(map, element);
  // Not once the base map is drawn: the tiles of both are fetched side by side.
  map.once('style.load', () =>
    fill(map, element, { data, colors, controls, features, iconPrefix: base.iconPrefix }),
  );
  return map;
}

/** Zoom at which the world is as wide as the map: further out it would be there twice. */
function oneWorld({ clientWidth }: HTMLElement): number {
  return Math.log2(Math.max(256, clientWidth) / 512);
}

/** The features of the page; none, and a word about it, when they cannot be had. */
async function pageFeatures({ features, baseUrl }: MapData): Promise<Feature[] | undefined> {
  if (!features) return undefined;
  if (features.href === undefined) return [...(features.inline ?? [])];
  try {
    return await fetchFeatures(onThisOrigin(features.href, baseUrl));
  } catch (error) {
    tell(`${(error as Error).message}.`);
    return undefined;
  }
}

/** URLs of glyphs and icons. The sprite is omitted if no layer has icons. */
function symbols({ baseUrl, layers }: MapData): { glyphs: string; sprite?: string } {
  const maps = onThisOrigin(`${baseUrl}/ogc/maps`, baseUrl);
  const glyphs = `${maps}/fonts/{fontstack}/{range}.pbf`;
  const styles = JSON.stringify(layers.map((layer) => (layer.kind === 'vector' ? layer.style : [])));
  return /"(icon-image|[a-z-]+-pattern)"/.test(styles)
    ? { glyphs, sprite: `${maps}/sprites/default` }
    : { glyphs };
}

interface MapContents {
  data: MapData;
  colors: MapColors;
  controls: MapControls;
  features: Feature[] | undefined;
  iconPrefix: string;
}

function fill(map: MapLibreMap, element: HTMLElement, filling: MapContents): void {
  const { data, colors, controls, features, iconPrefix } = filling;
  if (data.basemap?.kind !== 'own') addGraticule(map, colors);
  const ids = addLayers(map, data, colors);
  connectDensePoints(map, data, ids);
  controls(map, data, ids, (layer) => {
    const [named] = withIcons({ ...data, layers: [layer], features: null }, iconPrefix).layers;
    const { sprite } = symbols({ ...data, layers: [layer] });
    if (sprite && map.getSprite().length === 0) map.addSprite('default', sprite);
    ids.set(layer.id, addLayer(map, named!, data.baseUrl, mapColors(element)));
  });
  onThemeChange(() => recolor(map, data, mapColors(element)));
  const complete = completeLater(map, element, data);
  element.dataset.mapState = 'ready';
  if (data.features && features) showPageFeatures(map, features, data.features, colors);
  map.on('idle', () => {
    if (complete()) return;
    element.dataset.mapState = 'idle';
    window.graticuleMapReady = true;
  });
  map.triggerRepaint();
}

/** Milliseconds after which the base map no longer waits for the data. */
const LONGEST_WAIT = 1000;

/**
 * Adds our base map after the first tile of the data, because its styles would delay the data. The returned function adds it
 * immediately, and returns false if the map already has it.
 */
function completeLater(map: MapLibreMap, element: HTMLElement, data: MapData): () => boolean {
  let isWhole = false;
  const complete = () => {
    if (isWhole) return false;
    isWhole = true;
    addGround(map, element, data);
    map.triggerRepaint();
    return true;
  };
  onFirstPicture(map, complete);
  setTimeout(complete, data.layers.length > 0 ? LONGEST_WAIT : 0);
  return complete;
}

/** Marks the time (User Timing) at which the first tile of the data is on the screen, and calls `then`. */
function onFirstPicture(map: MapLibreMap, then: () => void): void {
  const look = ({ sourceId, tile }: MapSourceDataEvent) => {
    if (!tile || !isDataSource(sourceId)) return;
    map.off('sourcedata', look);
    map.once('render', () => {
      performance.mark('first-picture');
      setTimeout(then);
    });
  };
  map.on('sourcedata', look);
}

/** Adds our base map and its graticule under the data. */
function addGround(map: MapLibreMap, element: HTMLElement, { basemap, baseUrl }: MapData): void {
  if (basemap?.kind !== 'own') return;
  const colors = mapColors(element);
  addOwnBasemap(map, basemap, baseUrl, colors);
  addGraticule(map, colors);
}

function addGraticule(map: MapLibreMap, colors: MapColors): void {
  map.addSource('graticule', { type: 'geojson', data: graticule(readCamera(map)) });
  map.addLayer(
    {
      id: 'graticule',
      type: 'line',
      source: 'graticule',
      paint: { 'line-color': colors.grid, 'line-width': 0.5, 'line-opacity': 0.7 },
    },
    findGroundLayer(map),
  );
  map.on(
    'moveend',
    () => void map.getSource<GeoJSONSource>('graticule')?.setData(graticule(readCamera(map))),
  );
}

function readCamera(map: MapLibreMap): MapView {
  const bounds = map.getBounds();
  return {
    west: bounds.getWest(),
    south: bounds.getSouth(),
    east: bounds.getEast(),
    north: bounds.getNorth(),
  };
}

/** If a layer fails, the others stay on the map. The reader is informed once. */
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
