import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { ConfigError } from '../../core/config/config.js';
import type { Webhook } from '../../core/config/config-schema.js';
import { Cql2Error, check, type Expression, parseText } from '../../core/cql2/index.js';
import type { FeatureEvent } from '../../core/edits/edits.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { FeedEntry, FeedEvent, FeedGap } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { NewDelivery } from '../../stores/streams/deliveries.js';
import { ChangeBodies, jsonFrame } from '../streams/frames.js';
import { type Candidates, selectRecipients } from '../streams/recipients.js';
import { buildScope, type Scope } from '../streams/scope.js';
import { StreamSubscription } from '../streams/subscription.js';
import type { WebhookMatcher } from './collector.js';

/** Interest of a webhook. */
export class EventMatcher implements WebhookMatcher {
  readonly #collections: ReadonlySet<string> | undefined;
  readonly #filter: Expression | undefined;
  readonly #pools: Pools;
  #catalog: CatalogSnapshot | undefined;
  #scopes = new Map<number, Scope | undefined>();

  /** Throws `ConfigError` for a filter that is not CQL2. */
  constructor({ name, collections, filter }: Webhook, pools: Pools) {
    this.#collections = collections && new Set(collections);
    this.#pools = pools;
    try {
      this.#filter = filter === undefined ? undefined : parseText(filter);
    } catch (error) {
      if (!(error instanceof Cql2Error)) throw error;
      throw new ConfigError([`events.webhooks: the filter of '${name}' is wrong: ${error.message}.`]);
    }
  }

  /** Deliveries for feed entries. Rejects if a filter could not be evaluated. */
  async deliveries(entries: readonly FeedEntry[], catalog: CatalogSnapshot): Promise<NewDelivery[]> {
    const candidates = entries.flatMap((entry): Candidates[] => {
      const scope = entry.kind === 'event' ? this.#scope(entry.event.layerId, catalog) : undefined;
      return entry.kind === 'event' && scope ? [{ entry, listeners: [EVERYTHING], scopes: [scope] }] : [];
    });
    const heard = await selectRecipients(candidates, this.#pools);
    return entries.flatMap((entry) => {
      if (entry.kind === 'gap') return this.#lost(entry);
      if (this.#isElsewhere(entry.event, catalog))
        return [buildDelivery(entry, entry.event.operation, UNMASKED)];
      return (heard.get(entry) ?? []).map(({ appearance, scope }) => buildDelivery(entry, appearance, scope));
    });
  }

  gap(reason: string, cursor: number): NewDelivery {
    const members = { reason: `cursor-${reason}`, cursor, timestamp: new Date().toISOString() };
    return { eventId: `gap-${cursor}`, body: jsonFrame('gap', members) };
  }

  /** Whether it is of a collection that is wanted but not published now: nothing but a filter would need to know it. */
  #isElsewhere({ layerId, collection }: FeatureEvent, catalog: CatalogSnapshot): boolean {
    const isWanted = this.#filter === undefined && (this.#collections?.has(collection) ?? true);
    return isWanted && catalog.byLayerId(layerId) === undefined;
  }

  #lost({ collections, cursor, time }: FeedGap): NewDelivery[] {
    const absent = collections.filter((id) => this.#collections?.has(id) ?? true);
    if (absent.length === 0) return [];
    const members = { reason: 'events-lost', collections: absent, cursor, timestamp: time };
    return [{ eventId: `gap-${cursor}`, body: jsonFrame('gap', members) }];
  }

  /**
   * Visible part of a layer. Undefined if the webhook does not include the layer, or the layer lacks fields of the
   * filter.
   */
  #scope(layerId: number, catalog: CatalogSnapshot): Scope | undefined {
    if (this.#catalog !== catalog) {
      this.#catalog = catalog;
      this.#scopes = new Map();
    }
    if (!this.#scopes.has(layerId)) this.#scopes.set(layerId, this.#scopeOf(layerId, catalog));
    return this.#scopes.get(layerId);
  }

  #scopeOf(layerId: number, catalog: CatalogSnapshot): Scope | undefined {
    const collection = catalog.byLayerId(layerId);
    if (!hasFeatures(collection)) return undefined;
    if (this.#collections && !this.#collections.has(collection.id)) return undefined;
    try {
      const filter = this.#filter && check(this.#filter, { ...collection.source, filterCrs: CRS84 });
      return buildScope({ ...EVERYTHING.interest, filter }, collection);
    } catch (error) {
      if (error instanceof Cql2Error) return undefined;
      throw error;
    }
  }
}

const UNMASKED = { fields: undefined, mask: '' };

function buildDelivery(
  entry: FeedEvent,
  ...[appearance, scope]: Parameters<ChangeBodies['text']>
): NewDelivery {
  const body = new ChangeBodies(entry).text(appearance, scope);
  return { eventId: entry.event.eventId, body: `{"type":"feature-change",${body}` };
}

const EVERYTHING = new StreamSubscription(
  '',
  { layers: undefined, bbox: undefined, filter: undefined, datetime: undefined },
  'delta',
  0,
);
