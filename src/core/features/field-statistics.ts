import type { FeatureQuery } from './features.js';

/** Statistics of the attributes of features: the task of the workers and its result. */

export interface StatisticsTask extends FeatureQuery {
  /** Attributes to read. */
  fields: string[];
}

export interface StatisticsResult {
  /** Features that were read. */
  read: number;
  /** False if a limit of rows or time ended the reading. The statistics then describe the first features. */
  complete: boolean;
  fields: FieldStatistics[];
}

export type FieldStatistics = (NumberStatistics | TextStatistics | TimeStatistics | BooleanStatistics) & {
  name: string;
  /** Values that are not NULL. */
  count: number;
  nulls: number;
};

/** Values from `from` up to, and without, `to`. */
export interface HistogramBin<T> {
  from: T;
  to: T;
  count: number;
}

export interface NumberStatistics {
  kind: 'number';
  /** Null without a value. Text where a number would lose digits. */
  min: number | string | null;
  max: number | string | null;
  mean: number | null;
  /** Sample standard deviation, with the divisor n - 1. Null for less than two values. */
  stddev: number | null;
  quantiles: { p: number; value: number }[];
  /** Values that the quantiles are of: all, or as many drawn at random. */
  quantileValues: number;
  /** Values that are not finite: NaN and infinity. Other statistics ignore them. */
  notFinite: number;
  bins: HistogramBin<number>[];
}

export interface TextStatistics {
  kind: 'text';
  distinct: number;
  /** False: an estimate, with a standard error of 1.6 %. */
  distinctExact: boolean;
  /** Most frequent values first. */
  top: { value: string; count: number }[];
  /** A count may be too low by this many, because rare values are forgotten on the way. */
  topError: number;
}

export interface TimeStatistics {
  kind: 'time';
  min: string | null;
  max: string | null;
  bins: HistogramBin<string>[];
}

export interface BooleanStatistics {
  kind: 'boolean';
  true: number;
  false: number;
}
