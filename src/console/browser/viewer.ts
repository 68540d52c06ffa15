import type { Map as MapLibreMap } from 'maplibre-gl';
import type { MapData, ViewerData } from '../../gateway/pages/page-data.js';
import type { LayerIds } from './layers.js';
import { pageData } from './page.js';
import { startMap } from './start.js';
import { connectLayerSearch } from './viewer/add-layers.js';
import { identifyOn } from './viewer/identify.js';
import { LayerList } from './viewer/layer-list.js';
import { connectPanel } from './viewer/panel.js';
import { readPermalink, samePermalink, writePermalink } from './viewer/permalink.js';
import { TimeBar } from './viewer/time-bar.js';

/** The map viewer: puts list, popup, times and address of the page to one map. */
const place = document.querySelector<HTMLElement>('[data-map]');
if (place) {
  connectPanel();
  const { baseUrl, layers } = pageData<ViewerData>('viewer-data');
  connectLayerSearch(
    baseUrl,
    layers.map(({ id }) => id),
  );
  void startMap(place, { controls: control, alone: true, view: readPermalink(location.hash).view });
}

function control(map: MapLibreMap, data: MapData, ids: LayerIds): void {
  const viewer = pageData<ViewerData>('viewer-data');
  const layers = new LayerList(map, viewer, ids);
  const time = new TimeBar(map, data, viewer);
  identifyOn(map, data, viewer, ids, layers, time);
  let shown = location.hash;
  const apply = (isFirst = false) => {
    const link = readPermalink(location.hash);
    if (link.view && !isFirst) map.jumpTo(link.view);
    if (link.layers) layers.restore(link.layers);
    time.restore(link.time);
  };
  const write = () => {
    shown = writePermalink({ view: viewOf(map), layers: layers.state(), time: time.state() });
    if (!samePermalink(shown, location.hash)) history.replaceState(null, '', shown);
  };
  apply(true);
  map.on('moveend', write);
  layers.onChange(write);
  time.onChange(write);
  window.addEventListener('hashchange', () => {
    // Somebody wrote another address, or went back to one.
    if (!samePermalink(shown, location.hash)) apply();
  });
}

function viewOf(map: MapLibreMap) {
  const { lng, lat } = map.getCenter();
  return { center: [lng, lat] as [number, number], zoom: map.getZoom() };
}
