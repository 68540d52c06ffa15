/** Feature events on their way from the outboxes of the stores to who listens. */

import type { FeatureEvent } from '../edits/edits.js';
import { FEED_AGE_MS, OUTBOX_EVENTS } from '../kit/limits.js';
import type { Field, VectorSource } from '../sources/vector-source.js';

/** Maximum events in the change feed and in each outbox, and their maximum age in milliseconds. */
export interface Retention {
  readonly count: number;
  readonly ageMs: number;
}

export const USUAL_RETENTION: Retention = { count: OUTBOX_EVENTS, ageMs: FEED_AGE_MS };

/** The file or database that has an outbox. */
export type EventSource = Readonly<Pick<VectorSource, 'kind' | 'path' | 'database'>>;

export interface EventsTask {
  source: EventSource;
  /** Events of this cursor and later ones are read. */
  from: number;
  limit: number;
}

export interface EventsResult {
  /** In the order of their cursors. */
  events: FeatureEvent[];
  /** Cursors of events that represent several changes without details. */
  gaps?: readonly number[];
  /** Cursor of the newest event that there ever was; 0 without one. */
  newest: number;
}

/** Feature before or after an event. */
export interface EventImage {
  id: string;
  /** GeoJSON geometry in CRS84; null without one. */
  geometry: string | null;
  /** JSON object of all attributes. */
  attributes: string;
}

/** Properties of a collection that filters use. */
export interface MatchSchema {
  idColumn: string;
  geometryColumn: string;
  fields: readonly Field[];
}

export interface MatchTask {
  schema: MatchSchema;
  /** Checked filters as JSON of their trees. */
  filters: string[];
  images: EventImage[];
}

export interface MatchResult {
  /** 1 where image i passes filter f, at f * images + i. */
  passed: Uint8Array;
  /** Reasons why filters could not be evaluated; null for evaluated filters. */
  problems: (string | null)[];
}

/**
 * Entry of the change feed: an event of a store with the cursor that clients use, or a gap, because events of a store
 * were lost before they were copied.
 */
export type FeedEntry = FeedEvent | FeedGap;

export interface FeedEvent {
  readonly kind: 'event';
  /** Grows by one from entry to entry; the number of the epoch is in its upper digits. */
  readonly cursor: number;
  readonly event: FeatureEvent;
  /** Nothing more of its edit follows: the outbox was read to its end. */
  readonly ends?: true;
}

export interface FeedGap {
  readonly kind: 'gap';
  readonly cursor: number;
  /** Cursor of the omitted changes in the outbox; absent if unknown. */
  readonly outboxCursor?: number;
  /** Collections whose events may be missing. */
  readonly collections: readonly string[];
  /** RFC 3339. */
  readonly time: string;
}

/**
 * Size of an epoch. A new feed (another state database) has another epoch, so its cursors differ from previous ones.
 * Below 2^53 there are 2^20 epochs of 2^32 entries.
 */
export const EPOCH_SIZE = 2 ** 32;

export function computeEpoch(cursor: number): number {
  return Math.floor(cursor / EPOCH_SIZE);
}

/** Channel that notifies listeners of new events when the transaction commits. */
export const CHANNEL = 'graticule_events';
