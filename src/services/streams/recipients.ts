import type { FeatureEvent } from '../../core/edits/edits.js';
import type { Box } from '../../core/geometry/box.js';
import { boxesTouch } from '../../core/geometry/box.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import type { EventImage, FeedEvent, MatchSchema } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { Listener, Scope } from './scope.js';
import { shownChanges } from './shown.js';

/**
 * Kind of an event for a listener that sees only a part of the data. `insert`: the feature enters the visible part.
 * `leave`: the feature still exists, but outside of the visible part.
 */
export type ListenerEventKind = 'insert' | 'update' | 'delete' | 'leave';

/** A recipient of an event, and the kind of the event for this recipient. */
export interface EventRecipient<L extends Listener = Listener> {
  readonly listener: L;
  readonly scope: Scope;
  readonly appearance: ListenerEventKind;
}

/** An event with possibly interested listeners, before filters are evaluated. */
export interface Candidates<L extends Listener = Listener> {
  readonly entry: FeedEvent;
  readonly listeners: readonly L[];
  /** Visible part of the event's collection for each listener. */
  readonly scopes: readonly Scope[];
}

/** Filters of one collection, which one task applies to the images of its events. */
interface FilterBatch {
  readonly schema: MatchSchema;
  /** Index of each filter. */
  readonly filters: Map<string, number>;
  readonly images: EventImage[];
}

/** Whether the image before (0) or after (1) the event passes the filter. */
type PassCheck = (entry: FeedEvent, side: 0 | 1, filter: string) => boolean;

/**
 * Selects the recipients of events and the kinds of the events for them, in the order of the events. A worker evaluates all filters of a
 * batch together. The worker uses SQLite in memory with the SQL of the GeoPackage store, so that streams and pages
 * agree.
 */
export async function selectRecipients<L extends Listener>(
  batch: readonly Candidates<L>[],
  pools: Pools,
): Promise<Map<FeedEvent, EventRecipient<L>[]>> {
  const passed = batch.some(({ scopes }) => scopes.some(({ filter }) => filter !== undefined))
    ? await runFilters(batch, pools)
    : () => true;
  const byEvent = new Map<FeedEvent, EventRecipient<L>[]>();
  // This is the hottest loop of the streams: it runs for each possibly interested listener of an event.
  for (const { entry, listeners, scopes } of batch) {
    const list: EventRecipient<L>[] = [];
    for (let i = 0; i < scopes.length; i++) {
      const listener = listeners[i]!;
      const scope = scopes[i]!;
      const appearance = appearanceTo(entry, listener, scope, passed);
      if (appearance) list.push({ listener, scope, appearance });
    }
    byEvent.set(entry, list);
  }
  return byEvent;
}

function appearanceTo(
  entry: FeedEvent,
  listener: Listener,
  scope: Scope,
  passed: PassCheck,
): ListenerEventKind | undefined {
  const { event } = entry;
  const { bbox } = listener.interest;
  const before = event.operation !== 'insert' && sees(entry, 0, bbox, scope, passed);
  const after = event.operation !== 'delete' && sees(entry, 1, bbox, scope, passed);
  const appearance = findAppearance(event, before, after);
  return appearance === 'update' && !showsIn(event, scope) ? undefined : appearance;
}

function sees(
  entry: FeedEvent,
  side: 0 | 1,
  bbox: Box | undefined,
  scope: Scope,
  passed: PassCheck,
): boolean {
  if (bbox) {
    const envelope = side === 0 ? entry.event.envelopeBefore : entry.event.envelopeAfter;
    if (!envelope || !boxesTouch(bbox, envelope)) return false;
  }
  return scope.filter === undefined || passed(entry, side, scope.filter);
}

function findAppearance(
  { operation }: FeatureEvent,
  before: boolean,
  after: boolean,
): ListenerEventKind | undefined {
  if (after) return before ? 'update' : 'insert';
  if (!before) return undefined;
  return operation === 'delete' ? 'delete' : 'leave';
}

/** Whether an event changes a visible attribute or the geometry. Otherwise the listener gets no frame. */
function showsIn(event: FeatureEvent, { fields }: Scope): boolean {
  return (
    event.geometryChanged ||
    !fields ||
    event.changedAttributes.length === 0 ||
    shownChanges(event, fields).length > 0
  );
}

async function runFilters(batch: readonly Candidates[], pools: Pools): Promise<PassCheck> {
  const batches = new Map<number, FilterBatch>();
  const imageIndexes = new Map<FeedEvent, number>();
  for (const { entry, scopes } of batch) {
    const filters = new Set(scopes.flatMap(({ filter }) => filter ?? []));
    if (filters.size === 0) continue;
    // All scopes of an event have its collection.
    const { collection } = scopes[0]!;
    const filterBatch = batches.get(collection.layerId) ?? {
      schema: buildSchema(collection.rule?.stored ?? collection.source),
      filters: new Map<string, number>(),
      images: [],
    };
    batches.set(collection.layerId, filterBatch);
    for (const filter of filters)
      if (!filterBatch.filters.has(filter)) filterBatch.filters.set(filter, filterBatch.filters.size);
    imageIndexes.set(entry, filterBatch.images.length);
    filterBatch.images.push(imageBefore(entry.event), imageAfter(entry.event));
  }
  const results = new Map(
    await Promise.all(
      [...batches].map(async ([layerId, { schema, filters, images }]) => {
        const result = await pools.run('vector.match', { schema, filters: [...filters.keys()], images });
        return [layerId, result.passed] as const;
      }),
    ),
  );
  return (entry, side, filter) => {
    const { layerId } = entry.event;
    const { filters, images } = batches.get(layerId)!;
    // Results are in the order of the filters, then of the images. Each event has two images, before and after.
    const index = filters.get(filter)! * images.length + imageIndexes.get(entry)! + side;
    return results.get(layerId)![index] === 1;
  };
}

/** The feature before the event. An insert or a delete has only one image, so this image is both the earlier and the later one. */
export function imageBefore(event: FeatureEvent): EventImage {
  const { featureId: id, attributes = '{}', attributesBefore, geometry, geometryBefore } = event;
  if (event.operation !== 'update') return { id, geometry: geometry ?? null, attributes };
  const before = geometryBefore === 'null' ? null : (geometryBefore ?? geometry ?? null);
  // JSON objects are merged as text, so that no digit is lost. If two members have one name, the last counts.
  return { id, geometry: before, attributes: merged(attributes, attributesBefore) };
}

/** The feature after the event. */
export function imageAfter({ featureId: id, geometry, attributes = '{}' }: FeatureEvent): EventImage {
  return { id, geometry: geometry ?? null, attributes };
}

function buildSchema({ idColumn, geometryColumn, fields }: VectorSource): MatchSchema {
  return { idColumn, geometryColumn, fields };
}

function merged(object: string, over: string | undefined): string {
  if (over === undefined || over === '{}') return object;
  return object === '{}' ? over : `${object.slice(0, -1)},${over.slice(1)}`;
}
