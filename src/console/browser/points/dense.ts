import type { Map as MapLibreMap } from 'maplibre-gl';
import type { MapData, PointDrawing, VectorLayerData } from '../../../core/catalog/page-data.js';
import { cellsSourceId, type LayerIds, sourceId } from '../layers.js';
import { onThisOrigin } from '../page.js';
import {
  computeRamp,
  formatSample,
  listCellColors,
  readDrawing,
  SAMPLES,
  type TileSample,
  tilesInView,
  writeDrawing,
} from './sample.js';

/** Numbers of features of the tiles that are a sample, by URL. */
const samples = new Map<string, { shown: number; total: number }>();

/** Receives the numbers of the tiles that workers read. */
export function countTiles(): void {
  new BroadcastChannel(SAMPLES).addEventListener('message', ({ data }: MessageEvent<TileSample>) => {
    const { url, shown, dropped } = data;
    if (dropped > 0 && shown > 0) samples.set(url, { shown, total: shown + dropped });
    else samples.delete(url);
  });
}

/** Says which layers show a sample, and lets the reader choose between cells and points. */
export function connectDensePoints(map: MapLibreMap, data: MapData, ids: LayerIds): void {
  const drawn = readDrawing(location.hash);
  for (const field of document.querySelectorAll<HTMLElement>('[data-drawn-as]')) {
    const layer = data.layers.find(({ id }) => id === field.dataset.drawnAs);
    if (layer?.kind === 'vector' && layer.cells) connectChoice(map, layer, field, ids, drawn);
  }
  const place = document.querySelector<HTMLElement>('[data-sample]');
  map.on('idle', () => {
    for (const layer of data.layers)
      if (layer.kind === 'vector' && layer.cells) {
        colorCells(map, layer);
        toggleCellColors(map, layer);
      }
    if (!place) return;
    const text = data.layers.flatMap((layer) => describeSample(map, data, layer)).join(' ');
    if (place.textContent !== text) place.textContent = text;
    place.hidden = text === '';
  });
}

function connectChoice(
  map: MapLibreMap,
  layer: VectorLayerData,
  field: HTMLElement,
  ids: LayerIds,
  drawn: Map<string, PointDrawing>,
): void {
  const boxes = [...field.querySelectorAll<HTMLInputElement>('input[type="radio"]')];
  const apply = (drawing: PointDrawing) => {
    for (const box of boxes) box.checked = box.value === drawing;
    toggleCellColors(map, layer);
    for (const id of ids.get(layer.id) ?? []) drawAs(map, layer, id, drawing);
  };
  for (const box of boxes)
    box.addEventListener('change', () => {
      const drawing = box.value as PointDrawing;
      if (drawing === layer.cells!.preferred) drawn.delete(layer.id);
      else drawn.set(layer.id, drawing);
      history.replaceState(null, '', writeDrawing(location.href, drawn));
      apply(drawing);
    });
  field.hidden = false;
  apply(drawn.get(layer.id) ?? layer.cells!.preferred);
}

/** Zoom that no map reaches. */
const NEVER = 24;

function drawAs(map: MapLibreMap, layer: VectorLayerData, id: string, drawing: PointDrawing): void {
  const { below } = layer.cells!;
  const isCells = drawing === 'cells';
  if (id === cellsSourceId(layer.id)) map.setLayerZoomRange(id, isCells ? 0 : NEVER, isCells ? below : NEVER);
  else map.setLayerZoomRange(id, isCells ? below : 0, NEVER);
}

const tops = new Map<string, number>();

/** Fits the colours to the cells in view. */
function colorCells(map: MapLibreMap, layer: VectorLayerData): void {
  const id = cellsSourceId(layer.id);
  if (!map.getLayer(id) || map.getZoom() >= layer.cells!.below) return;
  let top = 1;
  for (const { properties } of map.querySourceFeatures(id, { sourceLayer: layer.id }))
    top = Math.max(top, Number(properties.count));
  const rounded = 2 ** Math.ceil(Math.log2(top));
  if (tops.get(id) === rounded) return;
  tops.set(id, rounded);
  showCellColors(layer, rounded);
  map.setPaintProperty(id, 'fill-color', computeRamp(rounded) as never);
}

/** Shows the legend of the cells while the map draws cells. */
function toggleCellColors(map: MapLibreMap, { id, cells }: VectorLayerData): void {
  const field = document.querySelector(`[data-drawn-as="${CSS.escape(id)}"]`);
  const legend = field?.querySelector<HTMLElement>('[data-cell-colors]');
  if (!legend) return;
  const isCells = field!.querySelector<HTMLInputElement>('input[value="cells"]')!.checked;
  legend.hidden = !isCells || map.getZoom() >= cells!.below;
}

/** Writes the legend of the cells. */
function showCellColors({ id }: VectorLayerData, top: number): void {
  const place = document.querySelector(`[data-drawn-as="${CSS.escape(id)}"] [data-cell-colors]`);
  place?.replaceChildren(
    ...listCellColors(top).map(({ color, label }) => {
      const entry = document.createElement('li');
      const swatch = document.createElement('span');
      swatch.className = 'cell-color';
      swatch.style.background = color;
      entry.append(swatch, label);
      return entry;
    }),
  );
}

function describeSample(map: MapLibreMap, data: MapData, layer: MapData['layers'][number]): string[] {
  if (layer.kind !== 'vector' || !layer.items) return [];
  const shown = map.getStyle().layers.some((one) => {
    if (!('source' in one) || one.source !== sourceId(layer.id)) return false;
    const { minzoom = 0, layout } = one;
    return layout?.visibility !== 'none' && map.getZoom() >= minzoom;
  });
  if (!shown) return [];
  const template = onThisOrigin(layer.tiles, data.baseUrl);
  const [west, south, east, north] = map.getBounds().toArray().flat() as [number, number, number, number];
  const tiles = tilesInView([west, south, east, north], map.getZoom(), layer).map(({ x, y, z }) =>
    template.replace('{z}', `${z}`).replace('{x}', `${x}`).replace('{y}', `${y}`),
  );
  const counts = tiles.flatMap((url) => samples.get(url) ?? []);
  return formatSample(layer, counts, data.layers.length > 1);
}
