import type { LayerSpecification, Map as MapLibreMap } from 'maplibre-gl';
import type { MapData, MapLayerData } from '../../core/catalog/page-data.js';
import type { StyleLayer } from '../../core/styles/model.js';
import { findLabelLayer, recolorBasemap } from './basemap.js';
import { onThisOrigin } from './page.js';
import { COUNTED, computeRamp } from './points/sample.js';
import type { MapColors } from './theme.js';

export const FEATURES_SOURCE = 'page-features';

/** Ids of the style layers of each published layer, for showing, hiding and querying it. */
export type LayerIds = Map<string, string[]>;

/** 1 for the feature under the pointer, otherwise 0. */
const HOVERED = ['case', ['boolean', ['feature-state', 'hover'], false], 1, 0] as never;

/** Adds every layer of the page, the bottom one first. */
export function addLayers(map: MapLibreMap, data: MapData, colors: MapColors): LayerIds {
  const ids: LayerIds = new Map();
  for (const layer of [...data.layers].reverse())
    ids.set(layer.id, addLayer(map, layer, data.baseUrl, colors));
  return ids;
}

const SOURCE_PREFIX = 'layer-';

/** The source of a layer's tiles on the map. */
export function sourceId(layerId: string): string {
  return SOURCE_PREFIX + layerId;
}

/** The source, and the only style layer, of the cells of a layer. */
export function cellsSourceId(layerId: string): string {
  return `${SOURCE_PREFIX}:cells:${layerId}`;
}

/** Whether a map source contains the tiles of a layer. */
export function isDataSource(id: string): boolean {
  return id.startsWith(SOURCE_PREFIX);
}

/** Adds the tiles of a layer as a source. Returns its id. */
function addSource(map: MapLibreMap, layer: MapLayerData, baseUrl: string): string {
  const id = sourceId(layer.id);
  const source = mapSource(layer, baseUrl);
  if (layer.kind === 'vector') map.addSource(id, { type: 'vector', encoding: layer.encoding, ...source });
  else map.addSource(id, { type: 'raster', tileSize: 256, ...source });
  return id;
}

function mapSource(layer: MapLayerData, baseUrl: string) {
  const { extent, minZoom, maxZoom } = layer;
  // The library does not support bounds across the antimeridian: such a layer requests all tiles.
  const bounded = extent && extent[0] <= extent[2];
  return {
    tiles: [`${isCounted(layer) ? `${COUNTED}://` : ''}${onThisOrigin(layer.tiles, baseUrl)}`],
    minzoom: minZoom,
    maxzoom: maxZoom,
    ...(bounded ? { bounds: [...extent] as [number, number, number, number] } : {}),
  };
}

/** Whether the tiles of a layer can be a sample of its features. */
function isCounted(layer: MapLayerData): boolean {
  return layer.kind === 'vector' && layer.items !== null;
}

/** Adds the cells of a layer of many points. Returns the ids of its style layers. */
function addCells(map: MapLibreMap, layer: MapLayerData, baseUrl: string): string[] {
  if (layer.kind !== 'vector' || !layer.cells) return [];
  const { tiles, below, preferred } = layer.cells;
  const id = cellsSourceId(layer.id);
  const source = mapSource({ ...layer, tiles, maxZoom: below, items: null }, baseUrl);
  map.addSource(id, { type: 'vector', encoding: layer.encoding, ...source });
  raise(map, {
    id,
    type: 'fill',
    source: id,
    'source-layer': layer.id,
    ...(preferred === 'cells' ? { maxzoom: below } : { minzoom: 24 }),
    paint: { 'fill-color': computeRamp(1000) as never, 'fill-opacity': 0.8, 'fill-antialias': false },
  });
  return [id];
}

/** Adds a layer on top. Returns the ids of its style layers, bottom first. */
export function addLayer(
  map: MapLibreMap,
  layer: MapLayerData,
  baseUrl: string,
  colors: MapColors,
): string[] {
  const source = addSource(map, layer, baseUrl);
  if (layer.kind === 'raster') {
    raise(map, { id: source, type: 'raster', source, paint: { 'raster-fade-duration': 0 } });
    return [source];
  }
  const cells = addCells(map, layer, baseUrl);
  const own = layer.sourceLayers.flatMap((sourceLayer) =>
    addStyled(map, { source, sourceLayer, style: layer.style, colors }),
  );
  if (layer.cells?.preferred === 'cells')
    for (const id of own) map.setLayerZoomRange(id, layer.cells.below, 24);
  return [...cells, ...own];
}

/** Puts a layer above all data: labels on top, all else below the names of the base map. */
function raise(map: MapLibreMap, layer: LayerSpecification): void {
  map.addLayer(layer, layer.type === 'symbol' ? undefined : findLabelLayer(map));
}

/** The same for a layer that is on the map. */
export function raiseLayer(map: MapLibreMap, id: string): void {
  map.moveLayer(id, map.getLayer(id)?.type === 'symbol' ? undefined : findLabelLayer(map));
}

/** Takes a layer off the map. */
export function removeLayer(map: MapLibreMap, id: string, ids: LayerIds): void {
  for (const one of ids.get(id) ?? []) map.removeLayer(one);
  map.removeSource(sourceId(id));
  if (map.getSource(cellsSourceId(id))) map.removeSource(cellsSourceId(id));
  ids.delete(id);
}

/** The data with another name for each of its icons. */
export function withIcons(data: MapData, prefix: string): MapData {
  if (prefix === '') return data;
  const { features } = data;
  const renamed = (style: readonly StyleLayer[]) => style.map((layer) => iconsRenamed(layer, prefix));
  return {
    ...data,
    layers: data.layers.map((layer) =>
      layer.kind === 'vector' ? { ...layer, style: renamed(layer.style) } : layer,
    ),
    features: features && { ...features, style: renamed(features.style) },
  };
}

function iconsRenamed(layer: StyleLayer, prefix: string): StyleLayer {
  const rename = (values: object | undefined) =>
    values &&
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        /^icon-image$|-pattern$/.test(name) ? prefixed(value, prefix) : value,
      ]),
    );
  return { ...layer, paint: rename(layer.paint), layout: rename(layer.layout) } as StyleLayer;
}

const prefixed = (value: unknown, prefix: string) =>
  typeof value === 'string' ? prefix + value : ['concat', prefix, value];

interface StyleSource {
  source: string;
  sourceLayer?: string;
  style: readonly StyleLayer[];
  colors: MapColors;
}

/** The layers of a style over one source, which mark the feature under the pointer. Returns their ids, bottom first. */
export function addStyled(map: MapLibreMap, { source, sourceLayer, style, colors }: StyleSource): string[] {
  const name = `${source}/${sourceLayer ?? ''}`;
  const base = { source, ...(sourceLayer === undefined ? {} : { 'source-layer': sourceLayer }) };
  const own = style.map((layer) => ({
    ...marking(layer, colors.highlight),
    ...base,
    id: `${name}/${layer.id}`,
  }));
  const marks = own.some(({ type }) => type in MARKED) ? [] : [outline(name, base, colors.highlight)];
  const layers = [...own, ...marks] as LayerSpecification[];
  for (const layer of layers) raise(map, layer);
  return layers.map((layer) => layer.id);
}

/** Properties that mark a feature, by the type of the layer: a colour, and a width that grows. */
const MARKED: Partial<Record<StyleLayer['type'], [color: string, width: string]>> = {
  line: ['line-color', 'line-width'],
  circle: ['circle-stroke-color', 'circle-stroke-width'],
};

/** The layer with another colour and more width for the feature under the pointer. */
function marking(layer: StyleLayer, highlight: string): StyleLayer {
  const names = MARKED[layer.type];
  if (!names) return layer;
  const [color, width] = names;
  const paint = layer.paint as Record<string, unknown> | undefined;
  const [ownColor, ownWidth] = [
    paint?.[color] ?? '#000000',
    paint?.[width] ?? (layer.type === 'line' ? 1 : 0),
  ];
  const marked = {
    [color]: atEachZoom(ownColor, (value) => ['case', ['==', HOVERED, 1], highlight, value]),
    [width]: atEachZoom(ownWidth, (value) => ['+', value, ['*', 1.5, HOVERED]]),
  };
  return { ...layer, paint: { ...paint, ...marked } } as StyleLayer;
}

/** Changes a value, or its value at each zoom: zoom expressions cannot be nested in other expressions. */
function atEachZoom(value: unknown, change: (value: unknown) => unknown): unknown {
  if (!Array.isArray(value)) return change(value);
  const [operator, ...rest] = value as unknown[];
  const first = operator === 'interpolate' ? 2 : operator === 'step' ? 1 : undefined;
  const input = first === undefined ? undefined : rest[first - 1];
  if (first === undefined || JSON.stringify(input) !== '["zoom"]') return change(value);
  // Zooms and values alternate; a step starts with the value for zooms below the first one.
  const isValue = (i: number) => (operator === 'step' ? (i - first) % 2 === 0 : (i - first) % 2 === 1);
  return [operator, ...rest.map((part, i) => (i >= first && isValue(i) ? change(part) : part))];
}

/** Marks features of styles that have no lines and circles. */
function outline(
  name: string,
  base: { source: string; 'source-layer'?: string },
  color: string,
): LayerSpecification {
  return {
    ...base,
    id: `${name}/hovered`,
    type: 'line',
    paint: { 'line-color': color, 'line-width': 2.5, 'line-opacity': HOVERED },
  };
}

/** Applies the colours of the theme to the graticule and the base map; an external style keeps its colours. */
export function recolor(map: MapLibreMap, { basemap }: MapData, colors: MapColors): void {
  if (map.getLayer('graticule')) map.setPaintProperty('graticule', 'line-color', colors.grid);
  if (basemap?.kind === 'style') return;
  map.setPaintProperty('background', 'background-color', colors.water);
  recolorBasemap(map, colors);
}
