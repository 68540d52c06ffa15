import type { Principal } from '../../core/http/operation.js';
import type { CopySourceLayer } from '../access/rules/rules.js';
import type { MergeInput, MergeReport } from '../edits/merges.js';
import type { JobContext } from '../jobs/kinds.js';

/** What imports are given, and what they come to. */

export interface ImportInput {
  /** Absolute path of any file that OGR opens. */
  file: string;
  /** Layer of the file; the first when absent. */
  layer?: string;
  /** Table in the store, and id of the collection. See `tableName`. */
  table: string;
  title?: string;
  /** CRS of the coordinates, whatever the file says: `EPSG:n`. */
  sourceCrs?: string;
  /** CRS to store the data in; that of the file when absent. */
  targetCrs?: string;
  /** Takes the place of the collection of that name. */
  replace?: boolean;
  /** Whose rights bound what is replaced; nobody's, when absent. */
  principal?: Principal;
  /** The span of the request that began it. */
  trace?: string;
  /** Takes the rows over into the collection of the id `table`, which is there. */
  merge?: MergeInput;
  /** The file belongs to the job: it is removed when the job ends, or later when another attempt may succeed. */
  owned?: boolean;
}

/** What an import makes known to the catalog. */
export interface ImportedCollection {
  /** Table, and id of the collection. */
  id: string;
  title: string;
  /** GeoPackage that holds the table. */
  store: string;
  features: number;
}

/** An import of what a job fetches itself, from another server. */
export interface RemoteInput<S = unknown> extends Omit<ImportInput, 'file' | 'layer' | 'owned'> {
  remote: S;
  /** The layers that show the same data: the collection becomes a copy of them. */
  sources?: readonly CopySourceLayer[];
  /** Why the job cannot be tried again once it has failed: whoever began it counts it as gone. */
  retryRefusal?: string;
}

/** What was fetched of another server, as a file in the folder of its job. */
export interface FetchedFile {
  path: string;
  title?: string;
  /** CRS of the coordinates, where it is not that of the format. */
  sourceCrs?: string;
  /** Kept with the job, for its result and for what follows. */
  report: unknown;
}

/** A sort of source on another server. */
export interface RemoteKind<S> {
  kind: string;
  title: string;
  /** A fetch goes on with what the run before it, which was cut off, has left in the folder. */
  goesOn?: boolean;
  /** Writes a file into a folder that is the job's, and is removed when it ends. May be called again after a crash. */
  fetch(context: JobContext<RemoteInput<S>>, folder: string): Promise<FetchedFile>;
  /** What has to be there before the collection is. May be called again. */
  precede?(context: JobContext<RemoteInput<S>>): Promise<void>;
  /** Takes back what preceded a collection that did not come to be. */
  withdraw?(input: RemoteInput<S>): Promise<void>;
  /** What follows once the collection is published; the folder is still there. May be called again. */
  follow?(context: JobContext<RemoteInput<S>>, report: unknown, folder: string): Promise<void>;
  /** Brings the files of its features, and notes in the report what became of them. May be called again. */
  attach?(context: JobContext<RemoteInput<S>>, report: unknown, folder: string): Promise<void>;
}

export interface ImportResult {
  table: string;
  features: number;
  /** Layer of the file that was read. */
  layer: string;
  /** Of what was in an archive. */
  format?: string;
  /** Of what was fetched. */
  report?: unknown;
  /** Of rows that went into a collection that was there. */
  merge?: MergeReport;
}

/** A table of a GeoPackage that a job has made. The file stays. */
export interface NewTable {
  staging: string;
  stagingTable: string;
  /** Table in the store, and id of the collection. */
  collection: string;
  title: string;
  features: number;
  /** Loads with the same token are done once; the id of the job when absent. */
  token?: string;
}
