import type { VectorTileSource } from 'maplibre-gl';
import { sourceId } from '../layers.js';
import { pageMap } from '../page-map.js';

/** URLs of the page's tiles without a filter. */
let unfiltered: string[] | undefined;
let answer = '';

/** Draws only the features that a filter lets through; all for an empty one. */
export async function showMatches(collection: string, filter: string): Promise<void> {
  const map = await pageMap;
  const source = map?.getSource<VectorTileSource>(sourceId(collection));
  if (!source || filter === answer) return;
  unfiltered ??= [...source.tiles];
  answer = filter;
  const query = filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`;
  source.setTiles(unfiltered.map((url) => `${url}${query}`));
}
