import type { FeatureEvent } from '../../core/edits/edits.js';
import type { Box } from '../../core/geometry/box.js';
import { boxesTouch } from '../../core/geometry/box.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import type { EventImage, FeedEntry, FeedEvent, MatchSchema } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { Listener, Scope } from './scope.js';
import { shownChanges } from './shown.js';

/** Form of an event for a listener that sees only a part of the data. A feature that enters the part is inserted. */
export type Appearance = 'insert' | 'update' | 'delete' | 'leave';

/** A recipient of an entry, and the form of the event for it. */
export interface EventRecipient<L extends Listener = Listener> {
  readonly listener: L;
  readonly scope: Scope;
  readonly appearance: Appearance;
}

/** An event with possibly interested listeners, before filters are evaluated. */
export interface Candidates<L extends Listener = Listener> {
  readonly entry: FeedEvent;
  readonly listeners: readonly L[];
  /** Visible part of the event's collection for each listener. */
  readonly scopes: readonly Scope[];
}

/** Filters of one collection, which one task applies to the images of its events. */
interface Question {
  readonly schema: MatchSchema;
  readonly filters: Map<string, number>;
  readonly images: EventImage[];
}

/** Whether the image before (0) or after (1) the event passes the filter. */
type PassCheck = (entry: FeedEntry, side: 0 | 1, filter: string) => boolean;

/**
 * Recipients of events and the forms of the events, in the order of the events. A worker evaluates all filters of a
 * batch together. The worker uses SQLite in memory with the SQL of the GeoPackage store, so that streams and pages
 * agree.
 */
export async function hearings<L extends Listener>(
  batch: readonly Candidates<L>[],
  pools: Pools,
): Promise<Map<FeedEvent, EventRecipient<L>[]>> {
  const passed = batch.some(({ scopes }) => scopes.some(({ filter }) => filter !== undefined))
    ? await askFilters(batch, pools)
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
): Appearance | undefined {
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
): Appearance | undefined {
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

async function askFilters(batch: readonly Candidates[], pools: Pools): Promise<PassCheck> {
  const questions = new Map<number, Question>();
  const places = new Map<FeedEntry, number>();
  for (const { entry, scopes } of batch) {
    const filters = new Set(scopes.flatMap(({ filter }) => filter ?? []));
    if (filters.size === 0) continue;
    const { collection } = scopes[0]!;
    const question = questions.get(collection.layerId) ?? {
      schema: buildSchema(collection.rule?.stored ?? collection.source),
      filters: new Map<string, number>(),
      images: [],
    };
    questions.set(collection.layerId, question);
    for (const filter of filters)
      if (!question.filters.has(filter)) question.filters.set(filter, question.filters.size);
    places.set(entry, question.images.length);
    question.images.push(imageBefore(entry.event), imageAfter(entry.event));
  }
  const answers = new Map(
    await Promise.all(
      [...questions].map(async ([layerId, { schema, filters, images }]) => {
        const answer = await pools.run('vector.match', { schema, filters: [...filters.keys()], images });
        return [layerId, answer.passed] as const;
      }),
    ),
  );
  return (entry, side, filter) => {
    const { layerId } = (entry as FeedEvent).event;
    const { filters, images } = questions.get(layerId)!;
    return answers.get(layerId)![filters.get(filter)! * images.length + places.get(entry)! + side] === 1;
  };
}

/** The feature before the event. An insert has no earlier image to check, so the later image represents it. */
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
