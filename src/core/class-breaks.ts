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
  /** The least value; null without values, which makes no class. */
  readonly least: number | null;
  /** The greatest value of each class, ascending: the first has the least value, the others begin above the one before. */
  readonly maxima: readonly number[];
}
