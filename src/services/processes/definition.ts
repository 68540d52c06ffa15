import type { TSchema } from 'typebox';
import type { FeatureProcess } from '../../core/processes/feature-processes.js';
import type { RasterProcess } from '../../core/rasters/raster-processes.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import type { WrittenContainer } from '../../core/tiles/archives.js';
import type { CrsDescription } from '../../native/index.js';
import type { ImportInput } from '../exchange/import-input.js';
import type { TileJobRequest } from '../tiles/jobs/tally.js';

/** Declaration of a process: its description, inputs, outputs and work. */
export interface ProcessDefinition {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly inputs: Readonly<Record<string, InputDefinition>>;
  readonly outputs: Readonly<Record<string, OutputDefinition>>;
  /** Throws 400 for values that pass their schemas but cannot be processed. */
  refuse?(values: InputValues): void;
  readonly work: ProcessWork;
}

export interface InputDefinition {
  readonly title: string;
  readonly description: string;
  /** JSON Schema of its value. */
  readonly schema: TSchema;
  readonly isOptional?: boolean;
  /** Whether the input is features, in any form. */
  readonly isFeatures?: boolean;
  /** Whether the input is a raster: a collection, or the result of another job. */
  readonly isRaster?: boolean;
  /** Whether the input is a list of rasters. */
  readonly isRasterList?: boolean;
}

export interface OutputDefinition {
  readonly title: string;
  readonly description: string;
  readonly schema: TSchema;
  /** Whether the output is features: a file of the job, which is converted into the requested format. */
  readonly isFeatures?: boolean;
  /** Whether the output is a raster: a file of the job. */
  readonly isRaster?: boolean;
  /** Whether the output is a tile archive: a file of the job. */
  readonly isTiles?: boolean;
  /** Whether the output is a file of the job that is sent unchanged. */
  readonly isFile?: boolean;
}

/** Values of inputs that passed their schemas, without features. */
export type InputValues = Readonly<Record<string, unknown>>;

/** Facts about the source of a features input. */
export interface FeaturesFacts {
  readonly source: VectorSource;
  readonly crs: Pick<CrsDescription, 'isGeographic' | 'metresPerUnit'>;
  /** Names of the fields that may be read. */
  readonly fields: readonly string[];
}

export interface FeaturesPlan {
  readonly process: FeatureProcess;
  /** Fields of the input to read. Default: all. */
  readonly fields?: readonly string[];
}

export type ProcessWork =
  /** The outputs are computed from the inputs immediately. */
  | { readonly kind: 'values'; compute(values: InputValues): Record<string, unknown> }
  /** Features become features. Throws 400 naming an input that does not fit the features. */
  | {
      readonly kind: 'features';
      /** Names of the inputs. */
      readonly input: string;
      readonly overlay?: string;
      readonly output: string;
      /** `overlay` is undefined if it is not known yet. Then conditions on it are not checked. */
      plan(values: InputValues, facts: FeaturesFacts, overlay?: FeaturesFacts): FeaturesPlan;
    }
  /** Rasters become a raster or features. Throws 400 naming an input that does not fit the first raster. */
  | {
      readonly kind: 'raster';
      /** Names of the inputs that are a raster or a list of rasters. */
      readonly inputs: readonly string[];
      /** Features that go with it, in its CRS and valid. */
      readonly features?: RasterFeatures;
      readonly output: string;
      plan(values: InputValues, facts: RasterFacts): RasterProcess;
    }
  /** Features become a file of a format. */
  | { readonly kind: 'export'; readonly input: string; readonly output: string }
  /** Collections, with features on top, become an image or a page. */
  | { readonly kind: 'map'; readonly input: string; readonly output: string }
  /** Collections become an archive of tiles. */
  | { readonly kind: 'tiles'; readonly output: string; select(values: InputValues): ArchiveSelection }
  /** A file of another server becomes a collection. */
  | { readonly kind: 'import'; read(values: InputValues): FileImport }
  /** Several processes, one after the other. */
  | { readonly kind: 'plan' };

/** Tiles, and the kind of archive that they go into. */
export interface ArchiveSelection extends TileJobRequest {
  readonly container: WrittenContainer;
}

/** A file of another server, and how it becomes a collection. */
export interface FileImport extends Omit<ImportInput, 'file' | 'owned' | 'replace' | 'merge'> {
  readonly url: string;
  /** File name, if the URL does not end with it. */
  readonly fileName?: string;
}

export interface RasterFeatures {
  /** Name of the input. */
  readonly input: string;
  /** Plan for the features before the raster process. Throws 400 with the name of an unsuitable input. */
  plan(values: InputValues, facts: FeaturesFacts): FeaturesPlan | undefined;
}

/** Facts about a raster that a plan needs. */
export interface RasterFacts {
  readonly crs: Pick<CrsDescription, 'isGeographic' | 'metresPerUnit'>;
}

export const PROCESS_VERSION = '1.0.0';
