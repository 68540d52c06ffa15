import type { TimeRange } from '../../core/http/params.js';
import { interval } from '../../services/rasters/shown-time.js';
import { MAX_NAMED, type SourceItem } from '../../services/rasters/source-items.js';

/**
 * Header fields with the source items of a batch and its instant. `count` is the total number; `items` may contain
 * only the first ones.
 */
export function sourceItemHeaders(
  items: readonly SourceItem[],
  batch: TimeRange,
  count = items.length,
): Record<string, string> {
  const named = items.slice(0, MAX_NAMED);
  return {
    'graticule-acquired': interval(batch.start ?? -Infinity, batch.end ?? Infinity),
    'graticule-source-items': named.map(itemPath).join(', '),
    ...(count > named.length ? { 'graticule-source-items-count': String(count) } : {}),
  };
}

/** Headers that report rasters which could not be read and are missing from the response. */
export function lossHeaders({
  lost = [],
}: {
  readonly lost?: readonly string[] | undefined;
}): Record<string, string> {
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
