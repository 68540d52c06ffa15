import * as maplibre from 'maplibre-gl';
import MVT from 'ol/format/MVT.js';
import TileLayer from 'ol/layer/Tile.js';
import VectorTileLayer from 'ol/layer/VectorTile.js';
import OlMap from 'ol/Map.js';
import OGCMapTile from 'ol/source/OGCMapTile.js';
import OGCVectorTile from 'ol/source/OGCVectorTile.js';
import Fill from 'ol/style/Fill.js';
import Stroke from 'ol/style/Stroke.js';
import Style from 'ol/style/Style.js';
import View from 'ol/View.js';

/** Runs in the browser: draws tiles of the server under test as users of the two libraries do. */

interface PageRequest {
  url: string;
  center: [number, number];
  zoom: number;
  /** Of MapLibre's tiles: MVT when absent. */
  encoding?: 'mlt';
}

/** Countries are filled red, the borders of states are blue. */
const FILL = '#ff0000';
const LINE = '#0000ff';

maplibre.setWorkerUrl('/worker.js');

let map: maplibre.Map | undefined;

function drawWithMapLibre({ url, center, zoom, encoding }: PageRequest): Promise<void> {
  map?.remove();
  map = new maplibre.Map({
    container: 'map',
    center,
    zoom,
    fadeDuration: 0,
    style: {
      version: 8,
      sources: { data: { type: 'vector', url, ...(encoding && { encoding }) } },
      layers: [
        { id: 'c', type: 'fill', source: 'data', 'source-layer': 'countries', paint: { 'fill-color': FILL } },
        {
          id: 's',
          type: 'line',
          source: 'data',
          'source-layer': 'states_provinces',
          paint: { 'line-color': LINE, 'line-width': 2 },
        },
      ],
    },
  });
  return new Promise((resolve, reject) => {
    map!.on('error', ({ error }) => reject(error));
    map!.once('idle', () => resolve());
  });
}

interface AskedOfOl extends PageRequest {
  kind: 'vector' | 'map';
  collections?: string[];
  /** Of the map; Web Mercator when absent. `center` is in it. */
  projection?: string;
}

function drawWithOpenLayers({ url, center, zoom, kind, collections, projection }: AskedOfOl): Promise<void> {
  const source =
    kind === 'map'
      ? new OGCMapTile({ url, ...(collections ? { collections } : {}), crossOrigin: 'anonymous' })
      : new OGCVectorTile({ url, format: new MVT(), ...(collections ? { collections } : {}) });
  const fill = new Style({ fill: new Fill({ color: FILL }) });
  const line = new Style({ stroke: new Stroke({ color: LINE, width: 2 }) });
  const layer =
    source instanceof OGCMapTile
      ? new TileLayer({ source })
      : new VectorTileLayer({
          source,
          style: (feature) => (feature.get('layer') === 'countries' ? fill : line),
        });
  const view = new View({ center, zoom, ...(projection ? { projection } : {}) });
  return new Promise((resolve, reject) => {
    source.on('change', () => {
      if (source.getState() === 'error') reject(new Error('the tileset was not understood'));
      if (source.getState() !== 'ready') return;
      const map = new OlMap({ target: 'map', layers: [layer], view, controls: [] });
      map.once('rendercomplete', () => resolve());
    });
  });
}

Object.assign(window, { drawWithMapLibre, drawWithOpenLayers });
