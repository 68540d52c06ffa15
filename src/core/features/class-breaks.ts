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
  /** Of methods that do not find it. */
  readonly count: number;
  /** Of `standard-deviation` in these, of `defined-interval` in the unit of the values. */
  readonly interval: number;
}

export interface ClassBreaksResult {
  /** The least value with all its digits; null without values, which makes no class. */
  readonly least: AnyNumber | null;
  /**
   * The greatest value of each class, ascending: the first has the least value, the others begin above the one before. The
   * last has all its digits.
   */
  readonly maxima: readonly AnyNumber[];
}
