/** The worker's side of MapLibre, for a page: tiles of either encoding, until they are ready to be drawn. */
import { VectorTile } from '@mapbox/vector-tile';
import { derefLayers } from '@maplibre/maplibre-gl-style-spec';
import { PbfReader } from 'pbf';
import { SubdivisionGranularitySetting } from '../../node_modules/maplibre-gl/src/render/subdivision_granularity_settings.ts';
import { MLTVectorTile } from '../../node_modules/maplibre-gl/src/source/vector_tile_mlt.ts';
import { WorkerTile } from '../../node_modules/maplibre-gl/src/source/worker_tile.ts';
import { StyleLayerIndex } from '../../node_modules/maplibre-gl/src/style/style_layer_index.ts';
import { OverscaledTileID } from '../../node_modules/maplibre-gl/src/tile/tile_id.ts';

const actor = { sendAsync: () => Promise.resolve({}) };
const layerOf = (type, paint) => ({ id: type, type, source: 'data', 'source-layer': 'layer', paint });
const LAYERS = {
  fill: [layerOf('fill', { 'fill-color': '#369' })],
  'fill, line': [layerOf('fill', { 'fill-color': '#369' }), layerOf('line', { 'line-color': '#000' })],
  line: [layerOf('line', { 'line-color': '#000' })],
  circle: [layerOf('circle', { 'circle-color': '#369' })],
};

const open = {
  mvt: (buffer) => new VectorTile(new PbfReader(new Uint8Array(buffer))),
  mlt: (buffer) => new MLTVectorTile(buffer),
};

function readAll(buffer, format) {
  for (const layer of Object.values(open[format](buffer).layers))
    for (let i = 0; i < layer.length; i++) layer.feature(i).loadGeometry();
}

function parse(buffer, format, index) {
  const tileID = new OverscaledTileID(4, 0, 4, 8, 8);
  const tile = new WorkerTile({
    ...{ type: 'data', tileID, zoom: 4, tileSize: 512, source: 'data', uid: '0', pixelRatio: 1 },
    ...{ request: { url: '' }, showCollisionBoxes: false, returnDependencies: false },
    subdivisionGranularity: SubdivisionGranularitySetting.noSubdivision,
  });
  return tile.parse(open[format](buffer), index, [], actor, SubdivisionGranularitySetting.noSubdivision);
}

/** At least so long is one figure measured. */
const SPAN_MS = 300;

const acts = {
  read: (buffer, format) => readAll(buffer, format),
  parse: (buffer, format, index) => parse(buffer, format, index),
};

let buffers = {};
let index;

/** Takes the tiles of a collection, in base64 by format, and the style that they are parsed by. */
globalThis.take = async (texts, style) => {
  index = new StyleLayerIndex(derefLayers(LAYERS[style]));
  buffers = {};
  for (const [format, all] of Object.entries(texts)) {
    const responses = all.map((text) => fetch(`data:application/octet-stream;base64,${text}`));
    buffers[format] = await Promise.all(responses.map(async (response) => (await response).arrayBuffer()));
  }
};

/** Reads or parses all tiles as often as makes up the span; returns how many. */
globalThis.repeat = async (act, format) => {
  const start = performance.now();
  let count = 0;
  do {
    for (const buffer of buffers[format]) await acts[act](buffer, format, index);
    count += buffers[format].length;
  } while (performance.now() - start < SPAN_MS);
  return count;
};
