import type { Principal } from '../../core/http/operation.js';
import type { CopySourceLayer } from '../access/rules/rules.js';
import type { MergeInput, MergeReport } from '../edits/merges.js';
import type { JobContext } from '../jobs/kinds.js';

/** Inputs and results of imports. */

export interface ImportInput {
  /** Absolute path of any file that OGR opens. */
  file: string;
  /** Layer of the file. Default: the first. */
  layer?: string;
  /** Table in the store, and id of the collection. See `tableName`. */
  table: string;
  title?: string;
  /** CRS of the coordinates, whatever the file says: `EPSG:n`. */
  sourceCrs?: string;
  /** CRS to store the data in. Default: the CRS of the file. */
  targetCrs?: string;
  /** Whether the import replaces the collection with that name. */
  replace?: boolean;
  /** Principal whose rights limit the collections that can be replaced. Default: no limit. */
  principal?: Principal;
  /** The span of the request that started the import. */
  trace?: string;
  /** Merge of the rows into the existing collection with the id `table`. */
  merge?: MergeInput;
  /** The file belongs to the job: it is removed when the job ends, or later when another attempt may succeed. */
  owned?: boolean;
}

/** Description of an imported collection for the catalog. */
export interface ImportedCollection {
  /** Table, and id of the collection. */
  id: string;
  title: string;
  /** GeoPackage that contains the table. */
  store: string;
  features: number;
}

/** Input of an import that fetches its data from another server. */
export interface RemoteInput<S = unknown> extends Omit<ImportInput, 'file' | 'layer' | 'owned'> {
  remote: S;
  /** The layers that show the same data: the collection becomes a copy of them. */
  sources?: readonly CopySourceLayer[];
  /** Reason why the failed job cannot be retried: its initiator treats it as deleted. */
  retryRefusal?: string;
}

/** Data fetched from another server, as a file in the folder of its job. */
export interface FetchedFile {
  path: string;
  title?: string;
  /** CRS of the coordinates, where it is not that of the format. */
  sourceCrs?: string;
  /** Stored with the job, for its result and for the following steps. */
  report: unknown;
}

/** A sort of source on another server. */
export interface RemoteKind<S> {
  kind: string;
  title: string;
  /** Whether a fetch resumes with the files that an interrupted run left in the folder. */
  goesOn?: boolean;
  /** Writes a file into a folder that is the job's, and is removed when it ends. May be called again after a crash. */
  fetch(context: JobContext<RemoteInput<S>>, folder: string): Promise<FetchedFile>;
  /** Prepares settings that must exist before the collection. Can be called again. */
  precede?(context: JobContext<RemoteInput<S>>): Promise<void>;
  /** Removes the preparations of a collection that was not created. */
  withdraw?(input: RemoteInput<S>): Promise<void>;
  /** Steps after the collection is published, while the folder still exists. Can be called again. */
  follow?(context: JobContext<RemoteInput<S>>, report: unknown, folder: string): Promise<void>;
  /** Imports the attachments of its features, and adds the results to the report. Can be called again. */
  attach?(context: JobContext<RemoteInput<S>>, report: unknown, folder: string): Promise<void>;
}

export interface ImportResult {
  table: string;
  features: number;
  /** Layer of the file that was read. */
  layer: string;
  /** Format of the data in an archive. */
  format?: string;
  /** Report of a fetch. */
  report?: unknown;
  /** Report of rows that were merged into an existing collection. */
  merge?: MergeReport;
}

/** A table of a GeoPackage that a job has created. The file is kept. */
export interface NewTable {
  staging: string;
  stagingTable: string;
  /** Table in the store, and id of the collection. */
  collection: string;
  title: string;
  features: number;
  /** Loads with the same token run only once. Default: the id of the job. */
  token?: string;
}
