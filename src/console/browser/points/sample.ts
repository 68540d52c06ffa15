import type { PointDrawing, VectorLayerData } from '../../../core/catalog/page-data.js';
import { computeMercatorNorthing } from '../../../core/geometry/web-mercator.js';

/** Protocol of the tile URLs whose features are counted. */
export const COUNTED = 'counted';

/** Channel on which workers send a `TileSample` for each tile. */
export const SAMPLES = 'graticule-tile-samples';

/** Numbers of features of a tile. */
export interface TileSample {
  readonly url: string;
  readonly shown: number;
  readonly dropped: number;
}

interface TileAddress {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** Tiles that a view shows; `box` is in degrees. */
export function tilesInView(
  [west, south, east, north]: readonly [number, number, number, number],
  zoom: number,
  { minZoom, maxZoom }: Pick<VectorLayerData, 'minZoom' | 'maxZoom'>,
): TileAddress[] {
  const z = Math.max(minZoom, Math.min(maxZoom, Math.floor(zoom)));
  const count = 2 ** z;
  const row = (latitude: number) => {
    const share = 0.5 - computeMercatorNorthing(Math.max(-85.05, Math.min(85.05, latitude)));
    return Math.min(count - 1, Math.max(0, Math.floor(share * count)));
  };
  const column = (longitude: number) => Math.floor(((longitude + 180) / 360) * count);
  const tiles = new Map<string, TileAddress>();
  for (let y = row(north); y <= row(south); y++)
    for (let x = column(west); x <= column(east); x++) {
      const wrapped = ((x % count) + count) % count;
      tiles.set(`${wrapped} ${y}`, { x: wrapped, y, z });
    }
  return [...tiles.values()];
}

/** Returns a sentence with the number of drawn features. Empty if the tiles are complete. */
export function formatSample(
  { title, count, geometry }: Pick<VectorLayerData, 'title' | 'count' | 'geometry'>,
  samples: readonly { shown: number; total: number }[],
  isNamed: boolean,
): string[] {
  if (samples.length === 0) return [];
  const shown = samples.reduce((sum, one) => sum + one.shown, 0);
  const sum = samples.reduce((all, one) => all + one.total, 0);
  // Tiles overlap a little, so the sum can exceed the number of features.
  const total = count !== null && sum > count * 0.97 ? count : round(sum);
  const what = geometry === 'point' ? 'points' : 'features';
  const drawn = `${round(Math.min(shown, total)).toLocaleString('en')} of ${total.toLocaleString('en')} ${what}`;
  const name = isNamed ? `${title}: a` : 'A';
  return [`${name} sample of ${drawn} is drawn. Zoom in to see all.`];
}

/** Rounds to three digits. */
function round(value: number): number {
  return Number(value.toPrecision(3));
}

/** Reads the drawing of layers from a URL: `#drawn=trees:points`. */
export function readDrawing(hash: string): Map<string, PointDrawing> {
  const drawn = new Map<string, PointDrawing>();
  const text = /(?:^#?|&)drawn=([^&]*)/.exec(hash)?.[1] ?? '';
  for (const part of text.split(',')) {
    const [, id, drawing] = /^([^:]+):(cells|points)$/.exec(part) ?? [];
    if (id === undefined) continue;
    try {
      drawn.set(decodeURIComponent(id), drawing as PointDrawing);
    } catch {
      // Not an id.
    }
  }
  return drawn;
}

/** Returns the URL with the drawing of layers in its fragment. */
export function writeDrawing(url: string, drawn: ReadonlyMap<string, PointDrawing>): string {
  const [page = '', hash = ''] = url.split('#', 2);
  const others = hash.split('&').filter((part) => part !== '' && !part.startsWith('drawn='));
  const list = [...drawn].map(([id, drawing]) => `${encodeURIComponent(id)}:${drawing}`);
  const parts = list.length > 0 ? [...others, `drawn=${list.join(',')}`] : others;
  return parts.length > 0 ? `${page}#${parts.join('&')}` : page;
}

/** Colours from one point to many, which differ in lightness. */
const COLORS = ['#fed976', '#fd8d3c', '#e31a1c', '#800026'];

interface RampStop {
  /** Logarithm of the count. */
  readonly power: number;
  readonly color: string;
}

function listStops(top: number): RampStop[] {
  const last = Math.log10(Math.max(10, top));
  return COLORS.map((color, i) => ({ power: (last * i) / (COLORS.length - 1), color }));
}

/** Expression for the colour of a cell, logarithmic up to a count. */
export function computeRamp(top: number): unknown[] {
  const stops = listStops(top).flatMap(({ power, color }) => [power, color]);
  return ['interpolate', ['linear'], ['log10', ['max', 1, ['get', 'count']]], ...stops];
}

/** Colours of the legend of cells, and their counts; the last entry includes all greater counts. */
export function listCellColors(top: number): { color: string; label: string }[] {
  return listStops(top).map(({ power, color }, i) => {
    const count = Number((10 ** power).toPrecision(2)).toLocaleString('en');
    return { color, label: i === COLORS.length - 1 ? `≥ ${count}` : count };
  });
}
