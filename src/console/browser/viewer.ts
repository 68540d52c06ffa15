import type { Map as MapLibreMap } from 'maplibre-gl';
import type { MapData, ViewerData } from '../../core/catalog/page-data.js';
import type { DrawLayer, MapControls } from './draw.js';
import type { LayerIds } from './layers.js';
import { pageData } from './page.js';
import { readDrawing, writeDrawing } from './points/sample.js';
import { startMap } from './start.js';
import { connectLayerSearch, reloadingLayers, type ViewerLayers } from './viewer/add-layers.js';
import { identifyOn } from './viewer/identify.js';
import { ColorForms } from './viewer/layer-colors.js';
import { LayerList } from './viewer/layer-list.js';
import { connectPanel } from './viewer/panel.js';
import { readPermalink, samePermalink, writePermalink } from './viewer/permalink.js';
import { ShownLayers } from './viewer/shown-layers.js';
import { TileParameters } from './viewer/tile-parameters.js';
import { TimeBar } from './viewer/time-bar.js';

/** The map viewer: puts list, popup, times and address of the page to one map. */
const place = document.querySelector<HTMLElement>('[data-map]');
if (place) {
  connectPanel();
  const { baseUrl, layers } = pageData<ViewerData>('viewer-data');
  let current: ViewerLayers = reloadingLayers(layers.map(({ id }) => id));
  connectLayerSearch(baseUrl, {
    ids: () => current.ids(),
    add: (id) => current.add(id),
    remove: (id) => current.remove(id),
  });
  const controls: MapControls = (...about) => {
    current = control(...about);
  };
  void startMap(place, { controls, alone: true, view: readPermalink(location.hash).view });
}

function control(map: MapLibreMap, page: MapData, ids: LayerIds, draw: DrawLayer): ViewerLayers {
  const about = pageData<ViewerData>('viewer-data');
  const data = { ...page, layers: [...page.layers] };
  const viewer = { ...about, layers: [...about.layers] };
  const list = new LayerList(map, viewer, ids);
  const tiles = new TileParameters(map, data);
  const time = new TimeBar(map, data, viewer, tiles);
  const colors = new ColorForms(tiles);
  identifyOn(map, data, viewer, ids, list, time);
  let lastHash = location.hash;
  const apply = (isFirst = false) => {
    const link = readPermalink(location.hash);
    if (link.view && !isFirst) map.jumpTo(link.view);
    if (link.layers) list.restore(link.layers);
    colors.restore(link.colors);
    time.restore(link.time);
  };
  const write = () => {
    const link = writePermalink({
      view: readCamera(map),
      layers: list.state(),
      time: time.state(),
      colors: colors.state(),
    });
    lastHash = writeDrawing(link, readDrawing(location.hash));
    if (!samePermalink(lastHash, location.hash)) history.replaceState(null, '', lastHash);
  };
  apply(true);
  map.on('moveend', write);
  list.onChange(write);
  time.onChange(write);
  colors.onChange(write);
  window.addEventListener('hashchange', () => {
    // The user entered another URL, or navigated in the history.
    if (!samePermalink(lastHash, location.hash)) apply();
  });
  return new ShownLayers({ map, data, viewer, ids, draw, list, time, colors });
}

function readCamera(map: MapLibreMap) {
  const { lng, lat } = map.getCenter();
  return { center: [lng, lat] as [number, number], zoom: map.getZoom() };
}
