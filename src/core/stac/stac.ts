/** STAC items: stored form and queries. */

import type { Expression } from '../cql2/ast.js';
import type { PageKey, SortKey } from '../features/features.js';
import type { Field, VectorSource } from '../sources/vector-source.js';

/**
 * Placeholder of the public origin in stored items, because each request can have another origin. An href that starts
 * with it and `/` is below that origin.
 */
export const STAC_BASE = 'graticule:base';

/** Stands in items of a catalog that was read for where the files of their assets are had. */
export const STAC_ASSET = 'graticule:asset';

/** Table of a GeoPackage with the collection documents of its STAC item tables. */
export const STAC_TABLE = 'graticule_stac';
/** Columns of STAC item tables: the item as JSON, and its local files. They are not attributes. */
export const STAC_COLUMNS = ['stac_item', 'stac_files'] as const;

/** STAC item (1.0.0) with the members that the server uses. */
export interface StacItem {
  id: string;
  geometry: object | null;
  properties: Record<string, unknown>;
  [member: string]: unknown;
}

/** Fields that every item has; columns of further properties are made as they come. */
export const ITEM_FIELDS: readonly Field[] = [
  { name: 'id', type: 'string', nullable: false, title: 'Identifier' },
  { name: 'collection', type: 'string', nullable: false, title: 'Collection' },
  { name: 'datetime', type: 'date-time', nullable: true, title: 'Acquisition' },
];

/** Columns of the index that are not for clients. */
export const HIDDEN = {
  row: 'graticule:row',
  /** Milliseconds since 1970 that an item is of: its instant, or the range of its start and end. */
  start: 'graticule:start',
  end: 'graticule:end',
} as const;

export const GEOMETRY_COLUMN = 'geometry';

/** Part of the index: the items of one collection. */
export interface StacPart {
  collection: string;
  /** Names the content: a part of the same stamp is not made again. */
  stamp: string;
  content: StacContent;
}

export type StacContent =
  | { kind: 'items'; items: StacItem[] }
  /** Features that are footprints: each becomes an item. `temporal` is the name of their instant. */
  | { kind: 'footprints'; source: VectorSource; temporal: string }
  /** A table of items that were read from a STAC catalog. */
  | { kind: 'ingested'; source: VectorSource };

/** State of the index: collections to index again, and queryable fields by collection. */
export interface StacIndexState {
  stale: string[];
  fields: Record<string, Field[]>;
}

export interface StacSearchTask {
  /** Path of the index. */
  path: string;
  /** Every field that the filter or the order names, those of the index included. */
  fields: Field[];
  filter?: Expression;
  sort?: SortKey[];
  limit: number;
  offset?: number;
  after?: PageKey;
  before?: PageKey;
  /** Public origin for hrefs. */
  base: string;
  /** Members of items to write, as paths: `id`, `properties.eo:cloud_cover`, `assets.data`. */
  include?: string[];
  exclude?: string[];
  /** Maximum of the count. Default: not counted. */
  count?: number;
}

export interface StacSearchResult {
  /** Items joined by commas. */
  items: Uint8Array;
  returned: number;
  /** Whether items follow, and precede. */
  more: boolean;
  precedes: boolean;
  first?: PageKey;
  last?: PageKey;
  /** Absent when there are more than were counted. */
  matched?: number;
}

export interface StacFileTask {
  path: string;
  collection: string;
  item: string;
  asset: string;
}

/** A local file of an asset. */
export interface StacFile {
  path: string;
  /** Folder that must contain the file. */
  root: string;
}

export interface StacIngestTask {
  /** A catalog, collection or ItemCollection (JSON), or a file of an item a line. */
  path: string;
  /** Folder of the new store. */
  folder: string;
  /** Name of the store, which must not exist. Default: the state of the files. */
  name?: string;
  /** Whether assets may be files below the folder of the document. */
  local: boolean;
}

export interface StacIngest {
  /** A GeoPackage. */
  store: string;
  /** Changes with the files. */
  stamp: string;
  items: number;
  /** Skipped documents: the first with their reasons, and their number. */
  refused: { path: string; reason: string }[];
  refusedCount: number;
}

export interface StacTasks {
  'vector.stacIngest': { input: StacIngestTask; output: StacIngest };
  /**
   * Deletes collections that are not listed, and returns the listed ones that are not in the index with this stamp.
   */
  'vector.stacState': { input: { path: string; stamps: Record<string, string> }; output: StacIndexState };
  /** Writes parts to the index, each replacing its collection. */
  'vector.stacIndex': { input: { path: string; parts: StacPart[] }; output: StacIndexState };
  'vector.stacSearch': { input: StacSearchTask; output: StacSearchResult };
  /** The local file of an asset; null when there is none. */
  'vector.stacFile': { input: StacFileTask; output: StacFile | null };
}
