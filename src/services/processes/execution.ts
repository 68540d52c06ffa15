import { GEOTIFF_FORMAT } from '../../core/http/media.js';
import type { Principal } from '../../core/http/operation.js';
import type { JobPriority } from '../../core/jobs/job-priority.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { CopySourceLayer } from '../access/rules/rules.js';
import { EXPORT_FORMATS } from '../exchange/exports/formats.js';
import type { ImportService } from '../exchange/import.js';
import type { JobContext } from '../jobs/kinds.js';
import type { Subscriber } from './callbacks.js';
import type { InputValues } from './definition.js';
import type { Plan } from './plan.js';
import type { Publication } from './publish.js';
import type { PushDownSetting } from './push-down.js';
import type { SourceReference, SourceValue } from './source-input.js';
import type { ProcessSources } from './sources.js';

/** An execution whose inputs passed their schemas. */
export interface Execution {
  values: InputValues;
  /** Features and rasters, by the names of their inputs. */
  sources: Readonly<Record<string, SourceValue>>;
  outputs: Readonly<Record<string, OutputRequest>>;
  response: 'document' | 'raw';
  /** Plan of the process that runs several processes. */
  plan?: Plan<SourceValue>;
  subscriber?: Subscriber;
}

/** Parameters of an execution that requires approval. */
export interface ExecutionDraft {
  readonly process: string;
  readonly execution: Execution;
  readonly baseUrl: string;
  readonly priority: JobPriority;
}

/** Input of a process job. */
export interface ExecutionInput {
  process: string;
  values: InputValues;
  /** Features and rasters, by the names of their inputs. */
  sources: Readonly<Record<string, SourceReference>>;
  /** Plan of the process that runs several processes. */
  plan?: Plan<SourceReference>;
  outputs: Readonly<Record<string, OutputRequest>>;
  response: 'document' | 'raw';
  /** The layers that a published output is a copy of. */
  derivedFrom?: readonly CopySourceLayer[];
  /** Principal of the job, which reads the data that this principal can read at that time. */
  principal: Principal;
  /** The span of the request that submitted it (W3C Trace Context). */
  trace?: string;
}

export interface OutputRequest {
  /** Default: features by value, rasters by reference. */
  transmissionMode?: 'value' | 'reference';
  /** The output becomes a collection. A raster has no title but its name. */
  publish?: { collection: string; title?: string };
}

/** A file that a job has made. */
export interface ResultFile {
  path: string;
  mediaType: string;
  bytes: number;
  /** Number of features in a GeoPackage. */
  features?: number;
}

export const { mediaType: GEOPACKAGE } = EXPORT_FORMATS.gpkg;
export const { mediaType: GEOTIFF } = GEOTIFF_FORMAT;

/** Stored result of a job that succeeded. */
export interface ProcessResult {
  values: Record<string, unknown>;
  files: Record<string, ResultFile>;
  /** Ids of collections, by output. */
  collections: Record<string, string>;
}

/** Results of a process before publication. */
export interface WorkResult {
  values: Record<string, unknown>;
  /** Result files by the name of the output. `title` is the title of the process. */
  files: Record<string, { file: ResultFile; title: string }>;
}

export interface RunDeps {
  /** Bytes that the steps of a plan may leave for each other. */
  spoolBytes: number;
  /** Processes that databases compute. */
  pushDown: PushDownSetting;
  /** Memory that the process of a job may need. */
  memoryBytes: number;
  pools: Pools;
  sources: ProcessSources;
  imports: Pick<ImportService, 'runWithin'>;
  /** Publishes a result as a collection, once for each job and collection. */
  publish(context: JobContext, publication: Publication): Promise<void>;
}
