/** Scenes of a STAC API: search requests, and the item properties that a mosaic uses. */

import type { Box } from '../geometry/box.js';

/** Search of a STAC API. */
export interface SceneQuery {
  readonly collections: readonly string[];
  /** Keys of the assets whose bands are read, in their order. */
  readonly assets: readonly string[];
  readonly bbox?: Box | undefined;
  /** Instant or interval in the form of the API. */
  readonly datetime?: string | undefined;
  /** CQL2 text. */
  readonly filter?: string | undefined;
  /** Preferred order of scenes if there are more than the maximum. Default: the order of the API. */
  readonly prefers?: 'newest' | 'lowest-cloud' | undefined;
}

export interface SceneSearchTask {
  /** URL of the landing page of the API. */
  readonly url: string;
  readonly timeoutMs: number;
  readonly query: SceneQuery;
  /** Maximum scenes. */
  readonly maxScenes: number;
  /** Whether the extent of the collections is requested. */
  readonly isDescribed?: boolean;
}

/** An item of a STAC API, as far as a mosaic needs it. */
export interface Scene {
  readonly id: string;
  readonly collection: string;
  /** West, south, east, north; across the antimeridian where west is greater than east. */
  readonly bbox: Box;
  /** RFC 3339 instant, or the start of an interval. Absent for items without a time. */
  readonly acquired?: string;
  /** Part of it that clouds cover, in per cent. */
  readonly cloudCover?: number;
  /** Absolute addresses of its assets, in the order of the query. */
  readonly hrefs: readonly string[];
  /** The item itself. */
  readonly self?: string;
  /** EPSG code of its pixels, as the item says. */
  readonly epsg?: number;
}

export interface SceneSearch {
  /** In the order in which the API gave them. */
  readonly scenes: readonly Scene[];
  /** Items that match, as the API says. */
  readonly matched?: number;
  /** Extent of the collections, if it was requested and the API returns it. */
  readonly extent?: Box;
  /** Whether there are more than were taken. */
  readonly isCut: boolean;
  /** Number of skipped items. */
  readonly refused: number;
  /** Problems of skipped items and of responses of the API. */
  readonly problems: readonly string[];
}
