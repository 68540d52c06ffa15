import type { FeatureEvent } from '../../core/edits/edits.js';
import { ApiError } from '../../core/errors/errors.js';
import type { EventImage, FeedEntry } from '../../core/streams/events.js';
import { REPLICA_LIMITS } from '../../stores/replicas/limits.js';
import type { Feed } from '../streams/feed.js';
import { imageBefore } from '../streams/recipients.js';

/** Combined change of a feature by other clients between two generations. */
export interface NetChange {
  readonly id: string;
  /** Image at the earlier generation. Null if the feature did not exist for the replica. */
  readonly before: EventImage | null;
  /** Null where there is none any more. */
  readonly after: EventImage | null;
  /** Names of the attributes that were changed. */
  readonly attributes: ReadonlySet<string>;
  readonly geometryChanged: boolean;
}

export interface Period {
  /** By layer: the cursor after which changes count. */
  readonly from: ReadonlyMap<number, number>;
  readonly to: number;
  /** Collections of the layers. */
  readonly collections: readonly string[];
  /** Ids of the replica's own uploads: what they did is known to it. */
  readonly own: ReadonlySet<string>;
}

type Changes = Map<number, Map<string, FeatureChange>>;

const BATCH = 500;

/** Changes by layer and feature. Throws 410 where the feed does not go back that far, 413 where they are too many. */
export async function netChanges(
  feed: Feed,
  period: Period,
): Promise<ReadonlyMap<number, ReadonlyMap<string, NetChange>>> {
  const changes: Changes = new Map([...period.from.keys()].map((layerId) => [layerId, new Map()]));
  const room = { features: REPLICA_LIMITS.replicaChanges, bytes: REPLICA_LIMITS.replicaChangeBytes };
  let cursor = Math.min(...period.from.values());
  while (cursor < period.to) {
    requireKnown(feed, cursor);
    const entries = await feed.after(cursor, BATCH);
    requireKnown(feed, cursor);
    if (entries.length === 0) break;
    for (const entry of entries) if (entry.cursor <= period.to) take(entry, period, changes, room);
    cursor = entries[entries.length - 1]!.cursor;
  }
  for (const ofLayer of changes.values())
    for (const [id, change] of ofLayer) if (!change.isForeign || change.isNothing) ofLayer.delete(id);
  return changes;
}

function requireKnown(feed: Feed, cursor: number): void {
  const problem = feed.problemOf(cursor);
  if (problem === 'invalid') throw gone('The generation is from another server.');
  if (problem === 'expired') throw gone('Changes since this generation are not kept any more.');
}

const gone = (why: string) => new ApiError('gone', `${why} Create the replica again.`);

function take(
  entry: FeedEntry,
  { from, own, collections }: Period,
  changes: Changes,
  room: { features: number; bytes: number },
): void {
  if (entry.kind === 'gap') {
    if (entry.collections.some((id) => collections.includes(id)))
      throw gone('Some changes since this generation were not told one by one.');
    return;
  }
  const { event, cursor } = entry;
  const ofLayer = changes.get(event.layerId);
  if (!ofLayer || cursor <= from.get(event.layerId)!) return;
  let change = ofLayer.get(event.featureId);
  if (!change) {
    if (--room.features < 0) throw tooMuch();
    ofLayer.set(event.featureId, (change = new FeatureChange(event)));
  }
  room.bytes -= change.add(event, own.has(event.requestId));
  if (room.bytes < 0) throw tooMuch();
}

function tooMuch(): ApiError {
  return new ApiError(
    'payload-too-large',
    'Too many changes followed this generation. Create the replica again.',
  );
}

/** Combines the events of one feature in their order. */
class FeatureChange implements NetChange {
  readonly id: string;
  before: EventImage | null;
  after: EventImage | null;
  readonly attributes = new Set<string>();
  geometryChanged = false;
  isForeign = false;

  constructor(first: FeatureEvent) {
    this.id = first.featureId;
    this.before = first.operation === 'insert' ? null : imageBefore(first);
    this.after = this.before;
  }

  /** There was none before, and there is none now. */
  get isNothing(): boolean {
    return this.before === null && this.after === null;
  }

  /** Returns the bytes that the event adds. */
  add(event: FeatureEvent, isOwn: boolean): number {
    this.after = imageAfter(event);
    if (isOwn && !this.isForeign) {
      this.before = this.after;
    } else if (!isOwn) {
      this.isForeign = true;
      for (const name of event.changedAttributes) this.attributes.add(name);
      this.geometryChanged ||= event.geometryChanged;
    }
    return 2 * ((event.geometry?.length ?? 0) + (event.attributes?.length ?? 0));
  }
}

function imageAfter({
  operation,
  featureId: id,
  geometry,
  attributes = '{}',
}: FeatureEvent): EventImage | null {
  return operation === 'delete' ? null : { id, geometry: geometry ?? null, attributes };
}
