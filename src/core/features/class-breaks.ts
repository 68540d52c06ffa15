import type { AnyNumber } from '../values/exact-number.js';
import type { FeatureQuery } from './features.js';

/** Classes of the numbers of a field: the task of the workers and its result. */

export type ClassMethod =
  | 'equal-interval'
  | 'quantile'
  | 'natural-breaks'
  | 'standard-deviation'
  | 'geometrical-interval'
  | 'defined-interval';

export interface ClassBreaksTask extends FeatureQuery {
  /** A field of numbers, or the id column. */
  readonly field: string;
  readonly method: ClassMethod;
  /** Number of classes, for methods that do not determine it. */
  readonly count: number;
  /** Interval: in standard deviations for `standard-deviation`, in value units for `defined-interval`. */
  readonly interval: number;
}

export interface ClassBreaksResult {
  /** Minimum with all digits; null if there are no values and therefore no classes. */
  readonly least: AnyNumber | null;
  /**
   * Maximum of each class, ascending. The first class includes the minimum, other classes start above the previous
   * maximum. The last maximum has all digits.
   */
  readonly maxima: readonly AnyNumber[];
}
