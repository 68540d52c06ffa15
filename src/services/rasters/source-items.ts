import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import type { Box } from '../../core/geometry/box.js';
import type { Batch, TimeRange } from '../../core/http/params.js';
import type { Loss } from '../../core/rasters/rasters.js';
import { transformBox } from '../../native/index.js';
import { chooseRaster } from './choose.js';
import { interval } from './shown-time.js';

/** A STAC item whose raster is in an image. */
export interface SourceItem {
  readonly collection: string;
  readonly id: string;
}

/** Items named in one answer; an image of more says how many there are. */
const MAX_NAMED = 16;

/** The items that an image of a batch is made from: those that touch its window. */
export function sourceItems(
  collections: readonly Collection[],
  batch: Batch | undefined,
  window84: Box | undefined,
): SourceItem[] {
  return collections.flatMap((one) => {
    if (!hasCoverage(one)) return [];
    const raster = chooseRaster(one, { datetime: batch, window84 });
    return (raster?.used ?? []).map((id) => ({ collection: one.id, id }));
  });
}

/** Header fields that name the source items of a batch and its instant. */
export function sourceItemHeaders(items: readonly SourceItem[], batch: TimeRange): Record<string, string> {
  const named = items.slice(0, MAX_NAMED);
  return {
    'graticule-acquired': interval(batch.start ?? -Infinity, batch.end ?? Infinity),
    'graticule-source-items': named.map(itemPath).join(', '),
    ...(items.length > named.length ? { 'graticule-source-items-count': String(items.length) } : {}),
  };
}

/** Says that an answer lacks rasters which could not be read. */
export function lossHeaders({ lost = [] }: Loss): Record<string, string> {
  return lost.length === 0 ? {} : { 'graticule-source-items-lost': String(new Set(lost).size) };
}

/** `Link` fields to the items, as STAC relates data to what it was derived from. */
export function derivedFrom(items: readonly SourceItem[], stacUrl: string): string {
  return items
    .slice(0, MAX_NAMED)
    .map(({ collection, id }) => {
      const href = `${stacUrl}/collections/${encodeURIComponent(collection)}/items/${encodeURIComponent(id)}`;
      return `<${href}>; rel="derived_from"; type="application/geo+json"`;
    })
    .join(', ');
}

const itemPath = ({ collection, id }: SourceItem) =>
  `${encodeURIComponent(collection)}/${encodeURIComponent(id)}`;

/** A window in CRS84; undefined when it has no image there, such as one beyond the horizon of its CRS. */
export function windowIn84(box: Box, crs: string): Box | undefined {
  try {
    const window = transformBox(box, crs, 'OGC:CRS84');
    return window.every(Number.isFinite) ? window : undefined;
  } catch {
    return undefined;
  }
}
