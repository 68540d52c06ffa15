import type { TSchema } from 'typebox';
import type { FeatureProcess } from '../../core/feature-processes.js';
import type { VectorSource } from '../../core/vector-source.js';
import type { CrsDescription } from '../../native/index.js';

/** A process as it is declared: what is told of it, what it takes, and how it is done. */
export interface ProcessDefinition {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly inputs: Readonly<Record<string, InputDefinition>>;
  readonly outputs: Readonly<Record<string, OutputDefinition>>;
  readonly work: ProcessWork;
}

export interface InputDefinition {
  readonly title: string;
  readonly description: string;
  /** JSON Schema of its value. */
  readonly schema: TSchema;
  readonly isOptional?: boolean;
  /** It is features, however they come. */
  readonly isFeatures?: boolean;
}

export interface OutputDefinition {
  readonly title: string;
  readonly description: string;
  readonly schema: TSchema;
  /** It is features: a file of the job, which is shown in formats. */
  readonly isFeatures?: boolean;
}

/** Values of inputs that passed their schemas, without features. */
export type InputValues = Readonly<Record<string, unknown>>;

/** What a features input is, where it is read from. */
export interface FeaturesFacts {
  readonly source: VectorSource;
  readonly crs: Pick<CrsDescription, 'isGeographic' | 'metresPerUnit'>;
  /** Names of the fields that may be read. */
  readonly fields: readonly string[];
}

export interface FeaturesPlan {
  readonly process: FeatureProcess;
  /** Fields that are read of the input; all when absent. */
  readonly fields?: readonly string[];
}

export type ProcessWork =
  /** The outputs are worked out of the inputs at once. */
  | { readonly kind: 'values'; compute(values: InputValues): Record<string, unknown> }
  /** Features become features. Throws 400 naming an input that does not fit the features. */
  | {
      readonly kind: 'features';
      /** Names of the inputs. */
      readonly input: string;
      readonly overlay?: string;
      readonly output: string;
      plan(values: InputValues, facts: FeaturesFacts): FeaturesPlan;
    };

export const PROCESS_VERSION = '1.0.0';
