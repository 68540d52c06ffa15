import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { changedAreas } from '../../../core/edits/edit-areas.js';
import type { FeatureEvent } from '../../../core/edits/edits.js';
import type { FeedEntry } from '../../../core/streams/events.js';
import type { NewDelivery } from '../../../stores/streams/deliveries.js';
import { ALL_TILES, collectionTag, editTags } from '../../tiles/cache/tags.js';
import type { WebhookMatcher } from '../collector.js';

/** Tags that a CDN must purge, and the time of the last edit before it, in milliseconds since 1970. */
export interface Purge {
  readonly tags: readonly string[];
  readonly time: number;
}

/** Purges for entries of the feed: one purge of the touched tiles for entries that were read together. */
export class Purges implements WebhookMatcher {
  async deliveries(entries: readonly FeedEntry[], catalog: CatalogSnapshot): Promise<NewDelivery[]> {
    const last = entries.at(-1);
    if (!last) return [];
    const tags = new Set<string>();
    for (const [layerId, events] of eventsByLayer(entries))
      for (const tag of editTags(layerId, changedAreas(events))) tags.add(tag);
    for (const tag of gapTags(entries, catalog)) tags.add(tag);
    return [purge(last.cursor, [...tags])];
  }

  gap(_reason: string, cursor: number): NewDelivery {
    return purge(cursor, [ALL_TILES]);
  }
}

function eventsByLayer(entries: readonly FeedEntry[]): Map<number, FeatureEvent[]> {
  const layers = new Map<number, FeatureEvent[]>();
  for (const entry of entries) {
    if (entry.kind !== 'event') continue;
    const { layerId } = entry.event;
    const events = layers.get(layerId);
    if (events) events.push(entry.event);
    else layers.set(layerId, [entry.event]);
  }
  return layers;
}

/** Collections that are not published now may be again, with the number that they had. */
function gapTags(entries: readonly FeedEntry[], catalog: CatalogSnapshot): string[] {
  const ids = entries.flatMap((entry) => (entry.kind === 'gap' ? entry.collections : []));
  return ids.map((id) => {
    const collection = catalog.byId(id);
    return collection ? collectionTag(collection.layerId) : ALL_TILES;
  });
}

function purge(cursor: number, tags: readonly string[]): NewDelivery {
  return { eventId: `purge-${cursor}`, body: JSON.stringify({ tags, time: Date.now() } satisfies Purge) };
}
