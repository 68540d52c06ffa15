import type { AnyNumber } from '../values/exact-number.js';
import type { GroupStatistic } from './feature-groups.js';
import type { FeatureQuery, FeatureRow } from './features.js';

/** Statistics of features in bins, which follow one another along a field: the task of the workers and its result. */

export const CALENDAR_UNITS = [
  'second',
  'minute',
  'hour',
  'day',
  'week',
  'month',
  'quarter',
  'year',
] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

/** Start and end of all bins, in milliseconds since 1970 for times. Default: minimum and maximum of the values. */
interface Ends {
  readonly start?: AnyNumber;
  readonly end?: AnyNumber;
}

/** A number of bins of equal width. */
export interface CountCut extends Ends {
  readonly kind: 'count';
  readonly count: number;
}

/** Bins of one width from the start on. */
export interface IntervalCut extends Ends {
  readonly kind: 'interval';
  readonly interval: number;
  /** Bins start at multiples of the interval from here. Default: the start. */
  readonly origin?: number;
}

export interface LimitsCut {
  readonly kind: 'limits';
  /** At least two limits, ascending. */
  readonly limits: readonly AnyNumber[];
}

/** Bins of calendar units, from the start of the unit that contains `start`. */
export interface CalendarCut extends Ends {
  readonly kind: 'calendar';
  readonly unit: CalendarUnit;
  readonly number: number;
  /** An IANA time zone. */
  readonly zone: string;
  /** Offset of the bins from their unit, in milliseconds of local time. */
  readonly offset: number;
  /** 1 is Monday, 7 is Sunday. */
  readonly firstDayOfWeek: number;
  /** Whether the first and the last bin are whole where the ends cut them. */
  readonly isWhole: boolean;
}

export type BinCut = CountCut | IntervalCut | LimitsCut | CalendarCut;

export interface BinsTask extends FeatureQuery {
  /** A field of numbers or times, or the id column. */
  readonly field: string;
  readonly cut: BinCut;
  /** Field whose values have separate bins. */
  readonly splitBy?: string;
  readonly statistics: readonly GroupStatistic[];
}

export interface FeatureBin {
  /** The value that its features share; null also where nothing splits them. */
  readonly split: FeatureRow['values'][number];
  readonly lower: AnyNumber;
  readonly upper: AnyNumber;
  /** Values of the statistics. A bin without features has the values of an empty group. */
  readonly values: FeatureRow['values'];
}

/** Bins in order, for each split value, including empty ones. */
export interface BinsResult {
  readonly bins: readonly FeatureBin[];
}
