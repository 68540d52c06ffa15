/** What processes do to features, in the threads for processes. */

import type { Statistic } from './analytics.js';
import type { FeatureQuery } from './features.js';
import type { CollectionOperation, GeometryOperation } from './geometry-operations.js';

/** Features of a source that a process reads, with these fields. */
export interface ProcessFeatures extends FeatureQuery {
  fields: string[];
}

export type FeatureProcess =
  /** Each feature for itself; those that nothing is left of are left out. `parts`: a feature for each part. */
  | { kind: 'map'; operation: GeometryOperation; parts?: boolean; crs?: string }
  /** One feature for each group of equal values, with the statistics and `featureCount`. */
  | { kind: 'dissolve'; by: string[]; statistics: Statistic[]; parts?: boolean }
  /** All geometries together; the features have no attributes. */
  | { kind: 'together'; operation: CollectionOperation }
  /** The parts of features inside of, or outside of, all features of the overlay. */
  | { kind: 'clip' | 'subtract' }
  /** A feature for each pair that shares something, with the attributes of both. */
  | { kind: 'intersect' }
  /** What only one of both has, with the attributes that it has. */
  | { kind: 'symmetric-difference' }
  /**
   * Features with the attributes of those that they meet: of the first, or a feature for each; or with their number alone.
   * `innerOnly`: features that meet none are left out.
   */
  | {
      kind: 'join';
      predicate: 'intersects' | 'contains' | 'within';
      mode: 'first' | 'each' | 'count';
      innerOnly: boolean;
    }
  /** What both share and what only one has. */
  | { kind: 'union' };

export interface FeatureProcessTask {
  process: FeatureProcess;
  input: ProcessFeatures;
  overlay?: ProcessFeatures;
  /** GeoPackage to create, with one table. One that is there is of a run that was cut off, and replaced. */
  output: string;
  /** Features that were read so far. */
  count: SharedArrayBuffer;
}

/** A feature that could not be processed, and why. */
export interface FeatureFault {
  /** Absent in overlays, which read copies. */
  id?: string;
  reason: string;
}

export interface FeatureProcessResult {
  /** Features that were written. */
  features: number;
  read: number;
  /** How many could not be processed, and the first of them: they are left out. */
  faults: number;
  faultList: FeatureFault[];
}

/** A GeoJSON FeatureCollection, as text, becomes a GeoPackage. */
export interface StageFeaturesTask {
  /** A file that holds the text. */
  path: string;
  output: string;
}

export interface FeatureProcessTasks {
  'process.stage': { input: StageFeaturesTask; output: { features: number } };
  'process.features': { input: FeatureProcessTask; output: FeatureProcessResult };
}

/** The table of results. */
export const RESULT_TABLE = 'features';
