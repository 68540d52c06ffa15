/** Scenes that a STAC API knows: what is asked of it, and what of its items a mosaic is made of. */

import type { Box } from '../geometry/box.js';

/** What of a STAC API is searched for. */
export interface SceneQuery {
  readonly collections: readonly string[];
  /** Keys of the assets whose bands are read, in their order. */
  readonly assets: readonly string[];
  readonly bbox?: Box | undefined;
  /** As the API takes it: an instant, or an interval. */
  readonly datetime?: string | undefined;
  /** CQL2 text. */
  readonly filter?: string | undefined;
  /** The order in which scenes are preferred when there are more than may be read; that of the API when absent. */
  readonly prefers?: 'newest' | 'lowest-cloud' | undefined;
}

export interface SceneSearchTask {
  /** Of the API's landing page. */
  readonly url: string;
  readonly timeoutMs: number;
  readonly query: SceneQuery;
  /** Scenes that are taken at most. */
  readonly maxScenes: number;
  /** Whether the extent of the collections is asked for. */
  readonly isDescribed?: boolean;
}

/** An item of a STAC API, as far as a mosaic needs it. */
export interface Scene {
  readonly id: string;
  readonly collection: string;
  /** West, south, east, north; across the antimeridian where west is greater than east. */
  readonly bbox: Box;
  /** RFC 3339; the start of an interval. Absent for what is of no time. */
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
  /** Around the collections, where that is asked for and the API says it. */
  readonly extent?: Box;
  /** Whether there are more than were taken. */
  readonly isCut: boolean;
  /** Items that were left out. */
  readonly refused: number;
  /** What is wrong with them, and with the answers of the API. */
  readonly problems: readonly string[];
}
