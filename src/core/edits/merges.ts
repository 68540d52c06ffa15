/** Rows of a file that go into a collection that is there. */

import type { FieldError } from '../errors/field-errors.js';
import type { VectorSource } from '../sources/vector-source.js';
import type { CollectionChange, EditOrigin, EditTask } from './edits.js';

/**
 * `append`: every row is a new feature. `replace`: the rows take the place of all features. `upsert`: a row changes the
 * feature of its key, and is a new one where there is none.
 */
export const MERGE_MODES = ['append', 'replace', 'upsert'] as const;
type MergeMode = (typeof MERGE_MODES)[number];

/** Column of a staging file with the text of each GeoJSON feature, in place of its geometry and its properties. */
export const FEATURE_COLUMN = 'graticule_feature';
/** Table of such a file with the names of all properties, in the order in which they come. */
export const PROPERTY_TABLE = 'graticule_properties';
/**
 * Column of a staging file with the text of each geometry, or a placeholder for it. A row with this text and without a
 * geometry has one that cannot be read.
 */
export const PLACE_COLUMN = 'graticule_place';
/** In front of the JSON text of a value in a staging file. */
export const JSON_MARK = 'graticule-json ';

export interface MergeRequest {
  mode: MergeMode;
  /** `upsert` only: field that identifies a feature. */
  keyField?: string;
  /** Whether invalid rows are skipped. Otherwise the first one ends the merge. */
  rejectRows: boolean;
}

/** Rejected row. */
export interface RejectedRow {
  /** Its place in the file, counted from 1. */
  row: number;
  /** Id in the file, or a generated number. */
  id: string;
  /** May be shown to the client. */
  reasons: FieldError[];
}

/** Prepares rows of a staging GeoPackage for writing, before a transaction starts. */
export interface MergeRowsTask extends Pick<EditTask, 'visible' | 'writable'> {
  /** Source that receives the rows. It is not called `source`, because the file is read. */
  target: VectorSource;
  staging: string;
  stagingTable: string;
  /** All columns of the file are texts. */
  isText: boolean;
  /** File for the prepared rows, which is replaced. */
  spool: string;
  /** File for the list of rejected rows; written when nothing follows that could reject more. */
  report: string;
  request: MergeRequest;
  /** Raised by one for each row. */
  count: SharedArrayBuffer;
}

export interface MergeRowsResult {
  /** Rows that are ready. */
  rows: number;
  rejected: number;
  /** The first rejected rows, at most `LIMITS.mergeNamed`. */
  rejections: RejectedRow[];
  /** Messages about skipped and converted content of the file. */
  warnings: string[];
}

/** Writes what `MergeRowsTask` made ready in one transaction. */
export interface MergeTask extends Pick<EditTask, 'filter' | 'visible' | 'writable'> {
  source: VectorSource;
  spool: string;
  report: string;
  request: MergeRequest;
  origin: EditOrigin;
  /** Identity of the merge. A second merge with the same token has no effect and returns the result of the first. */
  token: string;
  count: SharedArrayBuffer;
}

export interface MergeCounts {
  inserted: number;
  updated: number;
  /** Features that were as their rows are. */
  unchanged: number;
  deleted: number;
  rejected: number;
}

export interface MergeResult extends MergeCounts {
  /** The first rejected rows, at most `LIMITS.mergeNamed`. */
  rejections: RejectedRow[];
  /** Reason why the merge had no effect. */
  refusal?: string;
  /** Absent when nothing changed. */
  change?: CollectionChange;
}

export interface MergeTasks {
  'vector.mergeRows': { input: MergeRowsTask; output: MergeRowsResult };
  /** All or nothing; it ends early only before it commits. */
  'vector.merge': { input: MergeTask; output: MergeResult };
}
/** Value types of a file: `json` has the types of JSON, `typed` has typed columns, `text` has only text. */
export type FileForm = 'json' | 'typed' | 'text';
