/** STAC items: how the server keeps them, and what is asked of them. */

import type { Expression } from '../cql2/ast.js';
import type { PageKey, SortKey } from '../features/features.js';
import type { Field, VectorSource } from '../sources/vector-source.js';

/**
 * Stands in stored items for the public origin of the server, which each request may name otherwise: an href that begins
 * with it and `/` is below that origin.
 */
export const STAC_BASE = 'graticule:base';

/** Stands in items of a catalog that was read for where the files of their assets are had. */
export const STAC_ASSET = 'graticule:asset';

/** Table of a GeoPackage that holds the collection documents of its tables of STAC items. */
export const STAC_TABLE = 'graticule_stac';
/** Columns of such tables: the item as JSON, and its local files. They are no attributes. */
export const STAC_COLUMNS = ['stac_item', 'stac_files'] as const;

/** An item (STAC 1.0.0), as far as the server looks into it. */
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

/** What the index holds of one collection. */
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

/** State of the index: what is to be made anew, and the queryable fields by collection. */
export interface StacIndexState {
  stale: string[];
  fields: Record<string, Field[]>;
}

export interface StacSearchTask {
  /** Of the index. */
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
  /** Most matches that are counted; none when absent. */
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
  /** The folder that it must lie in. */
  root: string;
}

export interface StacIngestTask {
  /** A catalog, collection or ItemCollection (JSON), or a file of an item a line. */
  path: string;
  /** Where the store is made. */
  folder: string;
  /** Of the store, which must not exist then; that of the state of the files when absent. */
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
  /** Documents that were left out: the first of them with their reasons, and how many. */
  refused: { path: string; reason: string }[];
  refusedCount: number;
}

export interface StacTasks {
  'vector.stacIngest': { input: StacIngestTask; output: StacIngest };
  /** Forgets collections that are not named, and tells which of these are not in the index with this stamp. */
  'vector.stacState': { input: { path: string; stamps: Record<string, string> }; output: StacIndexState };
  /** Takes parts into the index, each in place of what it held of the collection. */
  'vector.stacIndex': { input: { path: string; parts: StacPart[] }; output: StacIndexState };
  'vector.stacSearch': { input: StacSearchTask; output: StacSearchResult };
  /** The local file of an asset; null when there is none. */
  'vector.stacFile': { input: StacFileTask; output: StacFile | null };
}
