import type { CoverageData, ViewerLayerData } from '../../../core/catalog/page-data.js';
import { onThisOrigin } from '../page.js';
import { firstPixel } from './tiff-values.js';

/** Half the width of the requested window, in pixels of the raster. The value at its centre is shown. */
const WINDOW = 0.1;

/** Names of bands and their values at a position, with units; undefined where there is no data. */
export async function valuesAt(
  { href, pixel, bands }: CoverageData,
  baseUrl: string,
  [lng, lat]: readonly [number, number],
  datetime: string | undefined,
  signal: AbortSignal,
): Promise<Record<string, string> | undefined> {
  const half = WINDOW * pixel;
  const query = new URLSearchParams({
    bbox: [lng - half, lat - half, lng + half, lat + half].join(','),
    'scale-size': '1,1',
    resampling: 'nearest',
    ...(datetime === undefined ? {} : { datetime }),
  });
  const response = await fetch(`${onThisOrigin(href, baseUrl)}?${query}`, { signal });
  if (!response.ok) return undefined;
  const values = await firstPixel(await response.arrayBuffer());
  if (values.slice(0, bands.length).every((value) => value === null)) return undefined;
  return Object.fromEntries(
    bands.map(({ name, unit, classes }, i) => {
      const value = values[i] ?? null;
      if (value === null) return [name, 'no data'];
      const text = `${formatValue(value)}${unit ? ` ${unit}` : ''}`;
      const className = classes?.[text];
      return [name, className === undefined ? text : `${className} (${text})`];
    }),
  );
}

/** Integers have all their digits. */
const formatValue = (value: number | bigint) =>
  String(typeof value === 'bigint' || Number.isInteger(value) ? value : Number(value.toPrecision(7)));

/** Whether a place lies within a layer; one that crosses the antimeridian has its west east of its east. */
export function containsPosition(
  { extent }: ViewerLayerData,
  [lng, lat]: readonly [number, number],
): boolean {
  if (!extent) return false;
  const [west, south, east, north] = extent;
  const inside = west <= east ? lng >= west && lng <= east : lng >= west || lng <= east;
  return inside && lat >= south && lat <= north;
}
