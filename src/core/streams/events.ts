/** Feature events on their way from the outboxes of the stores to who listens. */

import type { FeatureEvent } from '../edits/edits.js';
import { FEED_AGE_MS, OUTBOX_EVENTS } from '../kit/limits.js';
import type { Field, VectorSource } from '../sources/vector-source.js';

/** How many events the feed, and each outbox, keeps, and for how many milliseconds. */
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
  /** Cursors of those that stand for changes which are not told one by one. */
  gaps?: readonly number[];
  /** Cursor of the newest event that there ever was; 0 without one. */
  newest: number;
}

/** A feature as it was before an event, or as it is after. */
export interface EventImage {
  id: string;
  /** GeoJSON geometry in CRS84; null without one. */
  geometry: string | null;
  /** JSON object of all attributes. */
  attributes: string;
}

/** What filters of a collection may name. */
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
  /** Why a filter could not be evaluated; null for those that could. */
  problems: (string | null)[];
}

/**
 * One entry of the feed: an event of any store under the one cursor that clients know, or a gap, where events of a
 * store were lost before they could be taken over.
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
  /** Cursor in the outbox of the changes that are not told one by one; absent when that is not known. */
  readonly outboxCursor?: number;
  /** Collections whose events may be missing. */
  readonly collections: readonly string[];
  /** RFC 3339. */
  readonly time: string;
}

/**
 * A feed that begins anew (another state database) has another epoch, and cursors of the old one are told from its own:
 * below 2^53 there is room for 2^20 epochs of 2^32 entries.
 */
export const EPOCH_SIZE = 2 ** 32;

export function computeEpoch(cursor: number): number {
  return Math.floor(cursor / EPOCH_SIZE);
}

/** Tells all who listen that there are events; it is heard when the transaction commits. */
export const CHANNEL = 'graticule_events';
