import { hasCoverage } from '../../core/catalog/abilities.js';
import type { RasterCollection, VectorCollection } from '../../core/catalog/collection.js';
import {
  type LegendEntry,
  type LegendLine,
  type LegendOptions,
  legendLines,
  type SymbolEntry,
} from '../../core/maps/legend/entries.js';
import { labelX, legendWidth, ROW } from '../../core/maps/legend/svg.js';
import type { MapLayer } from '../../core/maps/maps.js';
import type { StyleLayer } from '../../core/styles/model.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { TileLayerWriter } from '../../core/tiles/tile-layers.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { listInstants } from '../rasters/granules.js';

export type LegendCollection = VectorCollection | RasterCollection;

/** All lines of the legend of a collection, with the first and last date of a raster. */
export function listLegendLines(collection: LegendCollection, options: LegendOptions = {}): LegendLine[] {
  return legendLines(collection, { ...options, dates: findDates(collection) });
}

/** First and last date of a raster, with the time of day if it is one day. Undefined without known dates. */
export function findDates(collection: LegendCollection): [string, string] | undefined {
  const instants = hasCoverage(collection) ? listInstants(collection) : [];
  const [first, last] = [instants[0], instants.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const isDay = first.slice(0, 10) !== last.slice(0, 10) || first === last;
  const format = (instant: string) =>
    isDay ? instant.slice(0, 10) : `${instant.slice(0, 10)} ${instant.slice(11, 16)}`;
  return [format(first), format(last)];
}

/** Grid units per pixel. */
const UNITS = 16;
const FEATURE_TYPES = { point: 1, line: 2, polygon: 3 } as const;

/** Swatches drawn by the renderer of the maps, with the very layers that draw the features: PNG. */
export async function legendPng(
  x: TaskContext,
  pools: Pools,
  entries: readonly LegendLine[],
  { zoom, scale }: { zoom: number; scale: number },
): Promise<Uint8Array> {
  const [width, height] = [legendWidth(entries), Math.max(1, entries.length) * ROW.height];
  const side = Math.max(width, height) * UNITS;
  const grid: Grid = { side, x: side / width, y: side / height };
  const { data } = await runTask(x, pools, 'map.render', {
    width: width * scale,
    height: height * scale,
    background: '#ffffff',
    layers: entries.flatMap((entry, row) => [
      ...(entry.kind === 'text' ? [] : [swatch(entry, { row, height: ROW.height, area: ROW.swatch }, grid)]),
      label(entry, row, grid),
    ]),
    tileExtent: side,
    zoom,
    scale,
    format: 'png',
    bbox: [0, 0, width, height],
    crs: 'EPSG:3857',
  });
  return data;
}

/** Pixels of each side of a separate symbol. */
export const SYMBOL = 20;

/** Swatches as separate images: PNG, in the order of the entries. */
export async function symbolPngs(
  x: TaskContext,
  pools: Pools,
  entries: readonly LegendEntry[],
  zoom: number,
): Promise<Uint8Array[]> {
  if (entries.length === 0) return [];
  const height = entries.length * SYMBOL;
  const side = height * UNITS;
  const grid: Grid = { side, x: side / SYMBOL, y: UNITS };
  const { tiles = [] } = await runTask(x, pools, 'map.render', {
    width: SYMBOL,
    height,
    background: 'transparent',
    zoom,
    format: 'png',
    scale: 1,
    layers: entries.map((entry, row) =>
      swatch(entry, { row, height: SYMBOL, area: { x: 2, width: SYMBOL - 4, height: SYMBOL - 6 } }, grid),
    ),
    tileExtent: side,
    cut: { width: SYMBOL, height: SYMBOL },
    bbox: [0, 0, SYMBOL, height],
    crs: 'EPSG:3857',
  });
  return tiles.map(({ data }) => data);
}

/** Grid units along either side, and per pixel. */
interface Grid {
  side: number;
  x: number;
  y: number;
}

/** Position of a swatch in pixels. */
interface Line {
  row: number;
  height: number;
  area: { x: number; width: number; height: number };
}

function swatch(entry: LegendEntry, { row, height: rowHeight, area }: Line, grid: Grid): MapLayer {
  const { x, width, height } = area;
  const middle = (row + 0.5) * rowHeight;
  const [top, bottom] = [middle - height / 2, middle + height / 2];
  if (entry.kind === 'color') {
    const [r, g, b, a] = entry.color;
    const paint = { 'fill-color': `rgba(${r},${g},${b},${a / 255})` };
    const ring = box(x, top, x + width, bottom);
    return layer(`color ${row}`, 'polygon', ring, [{ id: 'color', type: 'fill', paint }], {}, grid);
  }
  const { shape, layers, properties } = entry;
  const positions: Record<SymbolEntry['shape'], [number, number][]> = {
    point: [[x + width / 2, middle]],
    line: [0, 1, 2, 3].map((i) => [x + (width * i) / 3, middle + (i % 2 ? -4 : 4)]),
    polygon: box(x, top, x + width, bottom),
  };
  return layer(`swatch ${row}`, shape, positions[shape], layers, properties, grid);
}

function label(line: LegendLine, row: number, grid: Grid): MapLayer {
  const layers: StyleLayer[] = [
    {
      id: 'label',
      type: 'symbol',
      layout: {
        'text-field': ['get', 'label'],
        'text-font': ['Noto Sans Regular'],
        'text-size': ROW.text.size,
        'text-anchor': 'left',
        'text-max-width': 100,
        'text-allow-overlap': true,
      },
      paint: { 'text-color': '#222222' },
    },
  ];
  const at: [number, number][] = [[labelX(line), (row + 0.5) * ROW.height]];
  return layer(`label ${row}`, 'point', at, layers, { label: line.label }, grid);
}

const box = (left: number, top: number, right: number, bottom: number): [number, number][] => [
  [left, top],
  [right, top],
  [right, bottom],
  [left, bottom],
];

/** One feature at these pixels. */
function layer(
  name: string,
  shape: SymbolEntry['shape'],
  positions: [number, number][],
  layers: readonly StyleLayer[],
  properties: Readonly<Record<string, string | number>>,
  grid: Grid,
): MapLayer {
  const writer = new TileLayerWriter(name, grid.side, Object.keys(properties));
  const units = positions.map(([x, y]): [number, number] => [Math.round(x * grid.x), Math.round(y * grid.y)]);
  const tags = writer.tags(Object.values(properties));
  writer.addPositions(FEATURE_TYPES[shape], units, tags);
  return { kind: 'vector', tile: writer.finish(), style: JSON.stringify(layers) };
}
