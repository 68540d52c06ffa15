import type { LayerSpecification, Map as MapLibreMap } from 'maplibre-gl';
import type { SimpleStyle } from '../../core/tasks.js';
import type { MapData, MapGeometry, MapLayerData, VectorLayerData } from '../../gateway/pages/page-data.js';
import { onThisOrigin } from './page.js';
import type { MapColors } from './theme.js';

export const FEATURES_SOURCE = 'page-features';

/** Style layers of each published layer, so that it can be shown, hidden and asked for features. */
export type LayerIds = Map<string, string[]>;

type Expression = LayerSpecification extends { filter?: infer F } ? F : never;
const hovered = <T>(on: T, off: T) =>
  ['case', ['boolean', ['feature-state', 'hover'], false], on, off] as never;

/** Full width from zoom 5 on; thinner before, where outlines lie close together. */
const zoomed = (width: (share: number) => unknown) =>
  ['interpolate', ['linear'], ['zoom'], 0, width(0.4), 5, width(1)] as never;

/** Adds every layer of the page, the bottom one first. */
export function addLayers(map: MapLibreMap, data: MapData, colors: MapColors): LayerIds {
  const ids: LayerIds = new Map();
  if (data.backdrop) addBackdrop(map, data.backdrop, data.baseUrl, colors);
  for (const layer of [...data.layers].reverse())
    ids.set(layer.id, addLayer(map, layer, data.baseUrl, colors));
  return ids;
}

/** Adds the tiles of a layer as a source, once: the backdrop may be one of the layers. Returns its id. */
function addSource(map: MapLibreMap, layer: MapLayerData, baseUrl: string): string {
  const id = `layer-${layer.id}`;
  if (map.getSource(id)) return id;
  const source = sourceOf(layer, baseUrl);
  if (layer.kind === 'vector') map.addSource(id, { type: 'vector', ...source });
  else map.addSource(id, { type: 'raster', tileSize: 256, ...source });
  return id;
}

function sourceOf(layer: MapLayerData, baseUrl: string) {
  const { extent, minZoom, maxZoom } = layer;
  // The library cannot keep to bounds that cross the antimeridian: such a layer asks for all tiles.
  const bounded = extent && extent[0] <= extent[2];
  return {
    tiles: [onThisOrigin(layer.tiles, baseUrl)],
    minzoom: minZoom,
    maxzoom: maxZoom,
    ...(bounded ? { bounds: [...extent] as [number, number, number, number] } : {}),
  };
}

function addLayer(map: MapLibreMap, layer: MapLayerData, baseUrl: string, colors: MapColors): string[] {
  const source = addSource(map, layer, baseUrl);
  if (layer.kind === 'raster') {
    map.addLayer({ id: source, type: 'raster', source, paint: { 'raster-fade-duration': 0 } });
    return [source];
  }
  return layer.sourceLayers.flatMap((sourceLayer) =>
    addStyled(map, { source, sourceLayer, geometry: layer.geometry, style: layer.style, colors }),
  );
}

interface Styled {
  source: string;
  sourceLayer?: string;
  geometry: MapGeometry;
  style: SimpleStyle;
  colors: MapColors;
}

/** Fill, line and circle layers of one source, as its geometry asks. Returns their ids, bottom first. */
export function addStyled(map: MapLibreMap, styled: Styled): string[] {
  const layers = styleLayers(styled);
  for (const layer of layers) map.addLayer(layer);
  return layers.map((layer) => layer.id);
}

function styleLayers({ source, sourceLayer, geometry, style, colors }: Styled): LayerSpecification[] {
  const name = `${source}/${sourceLayer ?? ''}`;
  const base = { source, ...(sourceLayer === undefined ? {} : { 'source-layer': sourceLayer }) };
  const has = (kind: MapGeometry) => geometry === kind || geometry === 'mixed';
  const only = (type: string) => ['==', '$type', type] as unknown as Expression & never;
  const {
    fill,
    fillOpacity = 0.35,
    stroke,
    strokeWidth = 1,
    strokeOpacity = 0.9,
    pointColor,
    pointRadius = 4,
  } = style;
  const line = {
    'line-color': hovered(colors.highlight, stroke),
    'line-width': zoomed((share) => hovered(strokeWidth * share + 1.5, strokeWidth * share)),
    'line-opacity': hovered(1, strokeOpacity),
  };
  const lineWidth = Math.max(strokeWidth, 1.5);
  const round = { 'line-cap': 'round', 'line-join': 'round' } as const;
  const layers: LayerSpecification[] = [];
  if (has('polygon')) {
    const opacity = hovered(Math.min(1, fillOpacity + 0.25), fillOpacity);
    layers.push(
      {
        ...base,
        id: `${name}/fill`,
        type: 'fill',
        filter: only('Polygon'),
        paint: { 'fill-color': fill, 'fill-opacity': opacity, 'fill-antialias': false },
      },
      { ...base, id: `${name}/edge`, type: 'line', filter: only('Polygon'), layout: round, paint: line },
    );
  }
  if (has('line')) {
    layers.push({
      ...base,
      id: `${name}/line`,
      type: 'line',
      filter: only('LineString'),
      layout: round,
      paint: { ...line, 'line-width': zoomed((share) => hovered(lineWidth * share + 2, lineWidth * share)) },
    });
  }
  if (has('point')) {
    layers.push({
      ...base,
      id: `${name}/point`,
      type: 'circle',
      filter: only('Point'),
      paint: {
        'circle-color': pointColor,
        'circle-radius': hovered(pointRadius + 2, pointRadius),
        'circle-stroke-width': 1,
        'circle-stroke-color': hovered(colors.highlight, colors.water),
      },
    });
  }
  return layers;
}

function addBackdrop(map: MapLibreMap, layer: VectorLayerData, baseUrl: string, colors: MapColors): void {
  const source = addSource(map, layer, baseUrl);
  for (const sourceLayer of layer.sourceLayers) {
    const base = { source, 'source-layer': sourceLayer };
    const land = { 'fill-color': colors.land };
    const coast = { 'line-color': colors.coast, 'line-width': zoomed((share) => 0.9 * share) };
    map.addLayer({ ...base, id: `backdrop/${sourceLayer}/land`, type: 'fill', paint: land });
    map.addLayer({ ...base, id: `backdrop/${sourceLayer}/coast`, type: 'line', paint: coast });
  }
}

/** Puts the theme's colours on background, graticule and backdrop. */
export function recolor(map: MapLibreMap, colors: MapColors): void {
  map.setPaintProperty('background', 'background-color', colors.water);
  map.setPaintProperty('graticule', 'line-color', colors.grid);
  for (const { id } of map.getStyle().layers) {
    if (!id.startsWith('backdrop/')) continue;
    if (id.endsWith('/land')) map.setPaintProperty(id, 'fill-color', colors.land);
    else map.setPaintProperty(id, 'line-color', colors.coast);
  }
}
